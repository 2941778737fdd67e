//! The scripted scheduler itself: without its fault it serves.

use std::net::SocketAddr;
use std::time::Duration;

use lingua_loadgen::socket::Socket;
use serde_json::{Value, json};

use crate::faulty::{Fault, Faulty, Pace};

async fn open(url: &str, path: &str) -> Socket {
    let target: SocketAddr = url.strip_prefix("ws://").unwrap().parse().unwrap();
    Socket::connect(&format!("{url}{path}"), target, None).await.unwrap()
}

async fn say(socket: &mut Socket, message: &Value) {
    socket.send(message.to_string()).await.unwrap();
}

async fn hear(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let frame = tokio::time::timeout(Duration::from_secs(20), socket.next()).await.unwrap();
        let message: Value =
            serde_json::from_str(frame.unwrap().unwrap().to_text().unwrap()).unwrap();
        if message["type"] == kind {
            return message;
        }
    }
}

/// Speech goes to the node and its translation comes back.
async fn serves(scheduler: &Faulty) -> Value {
    let mut node = open(&scheduler.url(), "/ws/node").await;
    let register = json!({"type": "node_register", "node_id": "n", "version": "2.0.0",
        "platform": "linux", "hardware": {"cpu_cores": 1, "memory_gb": 1}, "installed_models": [],
        "capability_by_type": [], "features_supported": {}, "accept_public_jobs": true,
        "max_jobs": 1, "language_capabilities": {"asr_languages": ["qaa"],
        "semantic_languages": ["qaa"], "tts_languages": ["qab"]}});
    say(&mut node, &register).await;
    hear(&mut node, "node_register_ack").await;
    let mut session = open(&scheduler.url(), "/ws/session").await;
    say(
        &mut session,
        &json!({"type": "session_init", "client_version": "t", "platform": "web",
            "src_lang": "qaa", "tgt_lang": "qab", "trace_id": "t"}),
    )
    .await;
    let id = hear(&mut session, "session_init_ack").await["session_id"].clone();
    say(
        &mut session,
        &json!({"type": "audio_chunk", "session_id": id, "seq": 0, "is_final": true,
            "payload": "AAAA"}),
    )
    .await;
    let job = hear(&mut node, "job_assign").await;
    assert_eq!(job["is_manual_cut"], true, "{job}");
    assert_eq!(job["audio"], "AAAA", "{job}");
    let result = json!({"type": "job_result", "job_id": job["job_id"], "attempt_id": 1,
        "node_id": "n", "session_id": id, "utterance_index": 0, "success": true,
        "text_asr": "x", "text_translated": "y", "trace_id": "t"});
    say(&mut node, &result).await;
    hear(&mut session, "translation_result").await
}

#[tokio::test]
async fn speech_comes_back() {
    let scheduler = Faulty::start(&[]).await;
    let result = serves(&scheduler).await;
    assert_eq!((&result["text_translated"], &result["utterance_index"]), (&json!("y"), &json!(0)));
}

#[tokio::test]
async fn a_fault_leaves_the_rest_right() {
    for &fault in Fault::ALL {
        // These two let no first job come to its end.
        if !matches!(fault, Fault::NeverAnswers | Fault::DelaysNewcomers) {
            serves(&Faulty::start_at(&[fault], Pace::brisk()).await).await;
        }
    }
}
