//! A scheduler whose delays are known: what is measured must be what was done.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

use crate::bench::load;

/// Passes every utterance to the only node and back, but for a span in which nothing moves.
struct Echo {
    node: Mutex<Option<mpsc::Sender<String>>>,
    client: Mutex<Option<mpsc::Sender<String>>>,
    frozen: Option<(Duration, Duration)>,
    first: Mutex<Option<Instant>>,
}

impl Echo {
    async fn start(frozen: Option<(Duration, Duration)>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let (node, client) = (Mutex::new(None), Mutex::new(None));
        let echo = Arc::new(Self { node, client, frozen, first: Mutex::new(None) });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(echo.clone().serve(stream));
            }
        });
        url
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let mut socket = accept_async(stream).await.unwrap();
        let (outbox, mut inbox) = mpsc::channel(64);
        loop {
            let said: Value = tokio::select! {
                text = inbox.recv() => {
                    send(&mut socket, text.unwrap()).await;
                    continue;
                }
                frame = socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => return,
                },
            };
            let answer = match said["type"].as_str().unwrap() {
                "node_register" => {
                    *self.node.lock().await = Some(outbox.clone());
                    json!({"type": "node_register_ack", "node_id": said["node_id"],
                        "message": "registered", "status": "registering"})
                }
                "session_init" => {
                    *self.client.lock().await = Some(outbox.clone());
                    json!({"type": "session_init_ack", "session_id": "s-1", "message": "created",
                        "trace_id": "t", "protocol_version": "1.0", "use_binary_frame": false,
                        "negotiated_codec": "opus", "negotiated_audio_format": "opus",
                        "negotiated_sample_rate": 16_000, "negotiated_channel_count": 1})
                }
                "utterance" => {
                    self.thaw().await;
                    let job = json!({"type": "job_assign", "job_id": "j", "attempt_id": 1,
                        "session_id": "s-1", "utterance_index": said["utterance_index"],
                        "src_lang": "qaa", "tgt_lang": "qab", "pipeline": {"use_asr": true,
                        "use_nmt": true, "use_tts": true}, "audio": said["audio"],
                        "audio_format": "opus", "sample_rate": 16_000, "trace_id": "t",
                        "is_manual_cut": true});
                    pass(&self.node, &job).await;
                    continue;
                }
                "job_result" => {
                    let result = json!({"type": "translation_result", "session_id": "s-1",
                        "utterance_index": said["utterance_index"], "job_id": "j",
                        "text_asr": said["text_asr"], "text_translated": "x", "tts_audio": "",
                        "tts_format": "pcm16", "trace_id": "t"});
                    pass(&self.client, &result).await;
                    continue;
                }
                _ => continue,
            };
            send(&mut socket, answer.to_string()).await;
        }
    }

    /// Holds what comes within the frozen span until its end.
    async fn thaw(&self) {
        let Some((from, to)) = self.frozen else { return };
        let first = *self.first.lock().await.get_or_insert_with(Instant::now);
        if (first + from..first + to).contains(&Instant::now()) {
            sleep_until(first + to).await;
        }
    }
}

async fn send(socket: &mut WebSocketStream<TcpStream>, text: String) {
    // A peer that has gone hears nothing.
    let _ = socket.send(Message::text(text)).await;
}

async fn pass(to: &Mutex<Option<mpsc::Sender<String>>>, message: &Value) {
    let to = to.lock().await.clone().unwrap();
    to.send(message.to_string()).await.unwrap();
}

fn scenario(rate: u32, seconds: u32, service: &str) -> String {
    format!(
        r#"
title = "known answer"
duration = "{seconds}s"
warmup = "0s"
[[nodes]]
asr = ["qaa"]
tts = ["qab"]
max_jobs = 64
service_time = "{service}"
[[arrivals]]
pair = "qaa:qab"
rate = "{rate}/s"
"#
    )
}

/// One serial socket, frozen for a quarter of the run: what waits shows from the intended start
/// on, while what was sent late looks quick. The exact figures stand with the observer's own tests.
#[tokio::test]
async fn a_freeze_shows_in_the_response_and_not_in_the_service() {
    let frozen = (Duration::from_secs(2), Duration::from_secs(4));
    let url = Echo::start(Some(frozen)).await;
    let run = load(url, &scenario(100, 8, "1ms"), |options| options.sockets = Some(1)).await;
    let (response, service) = (run.latency_ms.response, run.latency_ms.service);
    assert!(run.jobs.offered > 600 && run.jobs.completed > 300, "{:?}", run.jobs);
    assert!(response.p99 > 1_500.0, "{response:?}");
    assert!(service.p90 < response.p90 / 2.0, "{service:?} {response:?}");
    assert!(service.max > 1_500.0, "{service:?}");
}
