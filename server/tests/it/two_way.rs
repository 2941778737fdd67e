//! What a client chose reaches the node as it came.

use lingua_protocol::{AudioFormat, Mode, ShortText};

use crate::peers::{Client, Node, server};

#[tokio::test]
async fn a_two_way_session_is_told_to_the_node() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh en", "zh en", 4).await;
    let fields = r#""src_lang":"auto","tgt_lang":"en","mode":"two_way_auto","lang_a":"zh",
        "lang_b":"en","auto_langs":["zh","en"],"dialect":"wu","features":{"emotion":true},
        "enable_streaming_asr":false,"partial_update_interval_ms":250,"trace_id":"t-9""#;
    let mut client = Client::choosing(&url, fields).await;
    client.speak(1, true).await;
    let job = node.job().await;
    assert_eq!((job.src_lang.as_str(), job.tgt_lang.as_str()), ("auto", "en"));
    assert_eq!(job.mode, Some(Mode::TwoWayAuto));
    let (a, b) = (job.lang_a.as_ref().unwrap(), job.lang_b.as_ref().unwrap());
    assert_eq!((a.as_str(), b.as_str()), ("zh", "en"));
    let auto: Vec<_> = job.auto_langs.as_ref().unwrap().iter().map(|l| l.as_str()).collect();
    assert_eq!(auto, ["zh", "en"]);
    assert_eq!(job.dialect.as_deref(), Some("wu"));
    let features = &job.features.as_ref().unwrap().0;
    assert_eq!(features.get(&ShortText::cut("emotion")), Some(&true));
    assert_eq!(job.enable_streaming_asr, Some(false));
    assert_eq!(job.partial_update_interval_ms, Some(250));
    assert_eq!((job.trace_id.as_str(), job.padding_ms), ("t-9", Some(280)));
    assert_eq!(job.audio_format, AudioFormat::Opus);
    node.answer(&job, "either way").await;
    assert_eq!(client.translation().await.0, "either way");
}

#[tokio::test]
async fn what_is_not_chosen_is_as_ever() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    assert_eq!((job.src_lang.as_str(), job.tgt_lang.as_str()), ("zh", "en"));
    assert_eq!((job.mode, job.lang_a, job.dialect, job.features), (None, None, None, None));
    assert_eq!(job.enable_streaming_asr, Some(true));
    assert_eq!(job.partial_update_interval_ms, Some(1_000));
}

#[tokio::test]
async fn a_whole_utterance_has_choices_of_its_own() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let fields = r#""src_lang":"zh","tgt_lang":"ja","dialect":"wu","trace_id":"t-1""#;
    let mut client = Client::choosing(&url, fields).await;
    client.say_whole(0).await;
    let job = node.job().await;
    assert_eq!(job.tgt_lang.as_str(), "en");
    assert_eq!(job.dialect.as_deref(), Some("wu"), "the session's, where it names none");
    assert!(job.is_manual_cut);
}
