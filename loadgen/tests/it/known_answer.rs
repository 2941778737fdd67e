//! A scheduler whose delays are known: what is measured must be what was done.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hdrhistogram::Histogram;
use lingua_loadgen::pacer::{Clock, Nanos, Pacer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

use crate::bench::{load, measure};

/// Passes every utterance to the only node and back, but for what delays it.
struct Echo {
    node: Mutex<Option<mpsc::Sender<String>>>,
    clients: Mutex<HashMap<String, mpsc::Sender<String>>>,
    sessions: AtomicU32,
    delay: Delay,
    first: Mutex<Option<Instant>>,
    pacer: Pacer,
    /// How long each utterance was held, nanoseconds.
    held: Mutex<Vec<Nanos>>,
}

#[derive(Clone, Copy)]
enum Delay {
    /// Nothing moves from one time to another, counted from the first utterance.
    Frozen(Duration, Duration),
    /// Every utterance is held for so long.
    Each(Duration),
}

impl Echo {
    async fn start(delay: Delay) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let echo = Arc::new(Self {
            node: Mutex::new(None),
            clients: Mutex::default(),
            sessions: AtomicU32::new(0),
            delay,
            first: Mutex::new(None),
            pacer: Pacer::start(Clock::start()).unwrap(),
            held: Mutex::default(),
        });
        let own = echo.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(own.clone().serve(stream));
            }
        });
        (url, echo)
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
                    let id = format!("s-{}", self.sessions.fetch_add(1, Ordering::Relaxed));
                    self.clients.lock().await.insert(id.clone(), outbox.clone());
                    json!({"type": "session_init_ack", "session_id": id, "message": "created",
                        "trace_id": "t", "protocol_version": "1.0", "use_binary_frame": false,
                        "negotiated_codec": "opus", "negotiated_audio_format": "opus",
                        "negotiated_sample_rate": 16_000, "negotiated_channel_count": 1})
                }
                "utterance" => {
                    self.hold().await;
                    let job = json!({"type": "job_assign", "job_id": "j", "attempt_id": 1,
                        "session_id": said["session_id"],
                        "utterance_index": said["utterance_index"],
                        "src_lang": "qaa", "tgt_lang": "qab", "pipeline": {"use_asr": true,
                        "use_nmt": true, "use_tts": true}, "audio": said["audio"],
                        "audio_format": "opus", "sample_rate": 16_000, "trace_id": "t",
                        "is_manual_cut": true});
                    let node = self.node.lock().await.clone().unwrap();
                    node.send(job.to_string()).await.unwrap();
                    continue;
                }
                "job_result" => {
                    let session = said["session_id"].as_str().unwrap();
                    let result = json!({"type": "translation_result", "session_id": session,
                        "utterance_index": said["utterance_index"], "job_id": "j",
                        "text_asr": said["text_asr"], "text_translated": "x", "tts_audio": "",
                        "tts_format": "pcm16", "trace_id": "t"});
                    let client = self.clients.lock().await[session].clone();
                    client.send(result.to_string()).await.unwrap();
                    continue;
                }
                _ => continue,
            };
            send(&mut socket, answer.to_string()).await;
        }
    }

    async fn hold(&self) {
        match self.delay {
            Delay::Frozen(from, to) => {
                let first = *self.first.lock().await.get_or_insert_with(Instant::now);
                if (first + from..first + to).contains(&Instant::now()) {
                    sleep_until(first + to).await;
                }
            }
            Delay::Each(span) => {
                let clock = self.pacer.clock();
                let since = clock.now();
                self.pacer.alarm().until(since + span.as_nanos() as Nanos).await;
                self.held.lock().await.push(clock.now() - since);
            }
        }
    }
}

async fn send(socket: &mut WebSocketStream<TcpStream>, text: String) {
    // A peer that has gone hears nothing.
    let _ = socket.send(Message::text(text)).await;
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
    let frozen = Delay::Frozen(Duration::from_secs(2), Duration::from_secs(4));
    let (url, _) = Echo::start(frozen).await;
    let run = load(url, &scenario(100, 8, "1ms"), |options| options.sockets = Some(1)).await;
    let (response, service) = (run.latency_ms.response, run.latency_ms.service);
    assert!(run.jobs.offered > 600 && run.jobs.completed > 300, "{:?}", run.jobs);
    assert!(response.p99 > 1_500.0, "{response:?}");
    assert!(service.p90 < response.p90 / 2.0, "{service:?} {response:?}");
    assert!(service.max > 1_500.0, "{service:?}");
}

/// Sends so many utterances a second to an echo of 200 µs: how late frames left, and the medians of
/// response and echo in milliseconds.
async fn against_an_echo(rate: u32) -> (Histogram<u64>, f64, f64) {
    let (url, echo) = Echo::start(Delay::Each(Duration::from_micros(200))).await;
    let sockets = |options: &mut lingua_loadgen::Options| options.sockets = Some(64);
    let mut found = measure(url, &scenario(rate, 6, "1us"), sockets).await;
    let (jobs, latency) = (&found.run.jobs, &found.run.latency_ms);
    assert!(jobs.completed > u64::from(rate), "{jobs:?} {:?}", found.run.reasons);
    let mut held = echo.held.lock().await.clone();
    held.sort_unstable();
    let (response, echo) = (latency.response.p50, held[held.len() / 2] as f64 / 1e6);
    (found.histograms.remove("send_lag").unwrap(), response, echo)
}

/// Frames that wait for a timer's tick of a millisecond are late by anything up to it, three of four
/// by more than a quarter. A slow machine delays frames too, but not so evenly.
#[tokio::test(flavor = "multi_thread")]
async fn frames_do_not_wait_for_the_timers_millisecond() {
    let (lag, response, echo) = against_an_echo(500).await;
    let (prompt, rest) = (lag.count_between(0, 250_000), lag.count_between(250_001, 1_000_000));
    assert!(prompt > rest, "{prompt} within 250 µs, {rest} within the rest of a millisecond");
    assert!(response >= echo && echo >= 0.2, "{response} {echo}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "5,000 utterances a second want a machine with nothing else to do"]
async fn an_echo_of_200_us_shows_as_such_at_5_000_a_second() {
    let (lag, response, echo) = against_an_echo(5_000).await;
    let lag = lag.value_at_quantile(0.5) as f64 / 1e6;
    println!("medians: response {response} ms, echo {echo} ms, send lag {lag} ms");
    assert!(response - echo < 1.0 && lag < 0.25, "{response} {echo} {lag}");
}
