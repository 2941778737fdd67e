//! Nodes that are late, lack something, or say what is not so.

use lingua_core::Micros;
use lingua_server::Config;

use crate::http::ask;
use crate::peers::{Client, Node, server, server_with};

const READY: &str = r#"{"type":"asr","ready":true},{"type":"nmt","ready":true},
    {"type":"tts","ready":true}"#;
const NO_TTS: &str = r#"{"type":"asr","ready":true},{"type":"nmt","ready":true},
    {"type":"tts","ready":false,"reason":"loading"}"#;

fn changed(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

#[tokio::test]
async fn a_node_that_acknowledges_must_do_so_in_time() {
    let config = changed(|config| config.instance.ack_timeout = Micros::millis(200));
    let url = server_with(config).await;
    let mut first = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = first.job().await;
    first.ack(&job).await;
    first.answer(&job, "one").await;
    assert_eq!(client.translation().await.0, "one");

    client.speak(1, true).await;
    let job = first.job().await;
    let mut second = Node::register(&url, "n2", "zh", "en", 2).await;
    assert!(first.wait_for("job_cancel").await.contains(job.job_id.as_str()));
    let again = second.job().await;
    assert_eq!((again.job_id, again.attempt_id), (job.job_id, 2));
}

#[tokio::test]
async fn a_result_that_nobody_waits_for_is_answered() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut other = Node::register(&url, "n2", "ja", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    other.answer(&job, "forged").await;
    let refused = other.wait_for("error").await;
    assert!(refused.contains("INVALID_MESSAGE") && refused.contains("job_result"), "{refused}");
    node.answer(&job, "true").await;
    node.answer(&job, "twice").await;
    node.wait_for("error").await;
    assert_eq!(client.translation().await.0, "true");
    assert!(client.heard_so_far().await.is_empty());
}

#[tokio::test]
async fn a_job_goes_where_the_services_are_ready() {
    let url = server_with(changed(|config| config.require_services = true)).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    assert_eq!(client.error().await.0, "NO_AVAILABLE_NODE", "it has named one of three");
    node.beat(0, 1.0, READY).await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "ready").await;
    assert_eq!(client.translation().await.0, "ready");
    node.beat(0, 1.0, NO_TTS).await;
    // The first answer to come back shows that the heartbeat has been taken.
    node.answer(&job, "late").await;
    node.wait_for("error").await;
    client.speak(1, true).await;
    assert_eq!(client.error().await.0, "NO_AVAILABLE_NODE");
}

#[tokio::test]
async fn a_busy_machine_gets_no_more_jobs() {
    let url = server_with(changed(|config| config.state.usage_max = Some(900))).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    node.beat(0, 95.0, "").await;
    client.speak(1, true).await;
    assert_eq!(client.error().await.0, "NO_AVAILABLE_NODE");
    node.beat(0, 10.0, "").await;
    client.speak(1, true).await;
    node.job().await;
}

#[tokio::test]
async fn a_lacking_model_is_tried_once_elsewhere() {
    let url = server().await;
    let mut first = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = first.job().await;
    let mut second = Node::register(&url, "n2", "zh", "en", 2).await;
    first.fail(&job, "MODEL_NOT_AVAILABLE").await;
    let job = second.job().await;
    assert_eq!(job.attempt_id, 2);
    second.fail(&job, "MODEL_NOT_AVAILABLE").await;
    let (code, details) = client.error().await;
    assert_eq!(code, "MODEL_NOT_AVAILABLE");
    assert_eq!(details.as_deref(), Some(r#"{"utterance_index":0,"retryable":true}"#));
}

#[tokio::test]
async fn a_node_that_lacks_models_again_and_again_rests_until_it_reports() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    for _ in 0..10 {
        client.speak(1, true).await;
        let job = node.job().await;
        node.fail(&job, "MODEL_NOT_AVAILABLE").await;
        assert_eq!(client.error().await.0, "MODEL_NOT_AVAILABLE");
    }
    client.speak(1, true).await;
    assert_eq!(client.error().await.0, "NO_AVAILABLE_NODE");
    node.beat(0, 1.0, "").await;
    client.speak(1, true).await;
    node.job().await;
}

#[tokio::test]
async fn a_nodes_own_error_reaches_the_client() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.fail(&job, "PROCESSING_ERROR").await;
    let (code, details) = client.error().await;
    assert_eq!(code, "PROCESSING_ERROR");
    assert_eq!(details.as_deref(), Some(r#"{"utterance_index":0,"retryable":false}"#));
}

#[tokio::test]
async fn an_utterance_without_a_result_says_why() {
    let config = changed(|config| config.instance.deadline = Micros::millis(600));
    let url = server_with(config).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer_silence(&job).await;
    assert!(client.wait_for("missing_result").await.contains("silence_detected"));
    client.speak(1, true).await;
    node.job().await;
    assert!(client.wait_for("missing_result").await.contains("gap_timeout"));
}

#[tokio::test]
async fn audio_that_a_node_kept_is_told_as_merged() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.say(1_000, false).await;
    let kept = node.job().await;
    assert!(kept.is_max_duration_triggered);
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "both").await;
    assert!(client.wait_for("missing_result").await.contains("merged_into_next"));
    assert_eq!(client.translation().await, ("both".to_owned(), 1));
}

#[tokio::test]
async fn the_operator_drains_a_node() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    assert_eq!(ask(&url, "PUT", "/api/v1/nodes/nobody/drain").await.status, 404);
    assert_eq!(ask(&url, "PUT", "/api/v1/nodes/n1/drain").await.status, 204);
    node.answer(&job, "finished").await;
    assert_eq!(client.translation().await.0, "finished");
    node.beat(0, 1.0, "").await;
    client.speak(1, true).await;
    assert_eq!(client.error().await.0, "NO_AVAILABLE_NODE");
    assert_eq!(ask(&url, "DELETE", "/api/v1/nodes/n1/drain").await.status, 204);
    client.speak(1, true).await;
    node.job().await;
}
