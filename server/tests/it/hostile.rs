//! Peers that mean harm: others do not feel it, and they are told why they are closed.

use std::time::Duration;

use lingua_core::Micros;
use lingua_server::{Config, Limits};
use tokio_tungstenite::tungstenite::Message;

use crate::fuzz::{self, COUNTS, Fuzz, IDS, NONSENSE};
use crate::peers::{self, Client, Node, Socket, server, server_with};

const PATHS: [&str; 2] = ["/ws/session", "/ws/node"];

/// Others are served as ever.
async fn unharmed(url: &str) {
    let mut node = Node::register(url, "honest", "zh", "en", 1).await;
    let mut client = Client::open(url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "unharmed").await;
    assert_eq!(client.translation().await.0, "unharmed");
}

#[tokio::test]
async fn nonsense_is_answered() {
    let url = server().await;
    for path in PATHS {
        let mut socket = Socket::open(&url, path).await;
        let deep = fuzz::nested(200);
        for text in NONSENSE.into_iter().chain([deep.as_str()]) {
            socket.send_frame(Message::text(text)).await;
            let answer = socket.hear().await.expect("the socket lives");
            let shown = &text[..text.len().min(40)];
            assert!(answer.contains("INVALID_MESSAGE"), "{path} {shown}: {answer}");
        }
    }
    unharmed(&url).await;
}

#[tokio::test]
async fn ids_and_counts_that_are_none_are_named() {
    let url = server().await;
    let long = "x".repeat(1 << 20);
    for id in IDS.into_iter().chain([long.as_str()]) {
        let mut socket = Socket::open(&url, "/ws/node").await;
        socket.send_frame(Message::text(peers::register(id, "zh", "en", 1))).await;
        let answer = socket.hear().await.expect("the socket lives");
        assert!(answer.contains("node_register.node_id"), "{}", &answer[..answer.len().min(200)]);
    }
    for count in COUNTS {
        let mut socket = Socket::open(&url, "/ws/node").await;
        let register = peers::register("n1", "zh", "en", 77);
        socket.send_frame(Message::text(register.replace("77", count))).await;
        let answer = socket.hear().await.expect("the socket lives");
        assert!(answer.contains("node_register.max_jobs"), "{count}: {answer}");
    }
    unharmed(&url).await;
}

#[tokio::test]
async fn no_frame_ends_a_socket_without_a_reason() {
    let url = server().await;
    let mut fuzz = Fuzz::new(1);
    for (path, honest) in PATHS.into_iter().zip(fuzz::honest()) {
        for n in 0..40 {
            let mut socket = Socket::open(&url, path).await;
            for _ in 0..50 {
                if !socket.send_frame(fuzz.frame(&honest)).await {
                    break;
                }
            }
            if n % 10 == 0 {
                socket.send_frame(fuzz::no_text()).await;
            }
            socket.say_goodbye().await;
            let code = socket.closed().await;
            let reasons = [1000, 1007, 4000, 4001].map(Some);
            assert!(reasons.contains(&code), "{path}, socket {n}: {code:?}");
        }
    }
    unharmed(&url).await;
}

#[tokio::test]
async fn whoever_does_not_read_harms_nobody() {
    let limits = Limits {
        write: Duration::from_millis(200),
        ping: Duration::from_millis(500),
        ..Limits::default()
    };
    let url = server_with(Config { limits, ..Config::default() }).await;
    let mut deaf = Vec::new();
    for _ in 0..20 {
        let mut client = Client::with_small_buffer(&url).await;
        deaf.push(tokio::spawn(async move {
            // The answers fill what lies between; then the server stops reading, then it closes.
            let close = r#"{"type":"session_close","session_id":"s-1","reason":"x"}"#;
            while client.try_send(close).await {}
        }));
    }
    unharmed(&url).await;
    for peer in deaf {
        peer.await.unwrap();
    }
    unharmed(&url).await;
}

#[tokio::test]
async fn half_open_nodes_are_closed_and_their_jobs_done_elsewhere() {
    let limits = Limits { ping: Duration::from_secs(1), ..Limits::default() };
    let mut config = Config { limits, ..Config::default() };
    config.instance.rejoin = Micros::millis(100);
    let url = server_with(config).await;
    let mut silent = Vec::new();
    for n in 0..50 {
        let src = if n == 0 { "zh" } else { "ja" };
        silent.push(Node::register(&url, &format!("silent-{n}"), src, "en", 1).await);
    }
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    client.wait_for("ui_event").await;
    let good = Node::register(&url, "good", "zh", "en", 4).await;
    let served = tokio::spawn(async move {
        let mut good = good;
        let job = good.job().await;
        good.answer(&job, "done").await;
        (job.attempt_id, good)
    });
    assert_eq!(client.translation().await.0, "done");
    assert_eq!(served.await.unwrap().0, 2);
    for mut node in silent {
        assert_eq!(node.closed_silently().await, Some(4003));
    }
}

#[tokio::test]
async fn nobody_speaks_for_another_node_or_session() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    let mut thief = Socket::open(&url, "/ws/node").await;
    let session = client.session().to_owned();
    let beat = r#"{"type":"node_heartbeat","node_id":"n1","timestamp":0,"resource_usage":
        {"cpu_percent":1,"mem_percent":1,"running_jobs":1},"installed_services":[],
        "capability_by_type":[]}"#;
    thief.send_frame(Message::text(beat)).await;
    assert!(thief.hear().await.unwrap().contains("INVALID_MESSAGE"), "it has not registered");
    thief.send_frame(Message::text(peers::register("n2", "ja", "en", 1))).await;
    assert!(thief.hear().await.unwrap().contains("node_register_ack"));
    for kind in ["job_ack", "job_started"] {
        let forged = format!(
            r#"{{"type":"{kind}","job_id":"job-0-0-0","attempt_id":1,"node_id":"n1",
            "session_id":"{session}","trace_id":"t"}}"#
        );
        thief.send_frame(Message::text(forged)).await;
        assert!(thief.hear().await.unwrap().contains("NODE_ID_CONFLICT"), "{kind}");
    }
    thief.send_frame(Message::text(beat)).await;
    assert!(thief.hear().await.unwrap().contains("NODE_ID_CONFLICT"));

    let mut other = Client::open(&url, "zh", "en").await;
    other
        .send(&format!(r#"{{"type":"session_close","session_id":"{session}","reason":"x"}}"#))
        .await;
    other.wait_for("session_close_ack").await;
    for kind in ["client_heartbeat", "tts_started"] {
        let forged = format!(
            r#"{{"type":"{kind}","session_id":"{session}","timestamp":0,"trace_id":"t",
            "group_id":"g","ts_start_ms":1}}"#
        );
        other.send(&forged).await;
        assert_eq!(other.error().await.0, "INVALID_SESSION", "{kind}");
    }
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "open still").await;
    assert_eq!(client.translation().await.0, "open still");
}

#[tokio::test]
async fn a_session_holds_so_much_speech_and_no_more() {
    let limits = Limits { speech_per_session: 100_000, ..Limits::default() };
    let url = server_with(Config { limits, ..Config::default() }).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 8).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.say(800, true).await;
    let job = node.job().await;
    client.say(900, true).await;
    assert_eq!(client.error().await.0, "NODE_OVERLOADED");
    node.answer(&job, "room again").await;
    assert_eq!(client.translation().await.0, "room again");
    client.say(900, true).await;
    node.job().await;
}
