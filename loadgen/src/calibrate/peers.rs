//! The few nodes and sessions of a calibration, which speak a language of their own.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::FutureExt;
use serde::Deserialize;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::CalibrateError;
use crate::socket::Socket;
use crate::target::Address;

/// Private languages: nobody else speaks them, so nothing of a calibration reaches a real peer.
pub(super) const WORKING: Pair = ("qaa", "qab");
/// Of nodes that come and go: what is sent to a node in its last moments waits for its return.
pub(super) const PASSING: Pair = ("qag", "qah");

type Pair = (&'static str, &'static str);

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// One fake peer.
#[derive(Debug)]
pub(super) struct Peer {
    socket: Socket,
    /// Node or session id.
    pub(super) id: String,
    pair: Pair,
}

/// A frame of a scheduler, as far as a calibration looks at it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Frame {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) session_id: String,
    pub(super) job_id: String,
    pub(super) attempt_id: u32,
    pub(super) utterance_index: u64,
    pub(super) code: String,
    pub(super) message: String,
}

impl Peer {
    async fn open(target: &Address, path: &str) -> Result<Self, CalibrateError> {
        let url = format!("{}{path}", target.base);
        let target: SocketAddr = target.socket;
        let socket = Socket::connect(&url, target, None).await?;
        Ok(Self { socket, id: String::new(), pair: WORKING })
    }

    /// A node that is connected and has yet to register.
    pub(super) async fn node(
        target: &Address,
        id: String,
        pair: Pair,
    ) -> Result<Self, CalibrateError> {
        Ok(Self { id, pair, ..Self::open(target, "/ws/node").await? })
    }

    /// A session that is open.
    pub(super) async fn session(target: &Address) -> Result<Self, CalibrateError> {
        let mut peer = Self::open(target, "/ws/session").await?;
        let (src, tgt) = WORKING;
        let init = format!(
            r#"{{"type":"session_init","client_version":"1","platform":"web","src_lang":"{src}","tgt_lang":"{tgt}"}}"#
        );
        peer.send(init).await?;
        peer.id = peer.until("session_init_ack").await?.session_id;
        Ok(peer)
    }

    pub(super) async fn send(&mut self, text: String) -> Result<(), CalibrateError> {
        Ok(self.socket.send(text).await.map_err(Box::new)?)
    }

    /// The next frame of a kind; others are passed over, an error is told.
    pub(super) async fn until(&mut self, kind: &str) -> Result<Frame, CalibrateError> {
        let wanted = async {
            loop {
                let frame = self.frame().await?;
                if frame.kind == kind {
                    return Ok(frame);
                }
                if frame.kind == "error" {
                    let said = format!("{} {}", frame.code, frame.message);
                    return Err(CalibrateError::Refused { wanted: kind.to_owned(), said });
                }
            }
        };
        let silent = |_| CalibrateError::Silent { wanted: kind.to_owned() };
        timeout(PATIENCE, wanted).await.map_err(silent)?
    }

    async fn frame(&mut self) -> Result<Frame, CalibrateError> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Ok(serde_json::from_str(text.as_str()).unwrap_or_default());
                }
                Some(Ok(Message::Close(_))) | None => return Err(CalibrateError::Closed),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(Box::new(error).into()),
            }
        }
    }

    /// Throws away what has come so far: a peer that does not read is closed.
    pub(super) fn drain(&mut self) -> Result<(), CalibrateError> {
        while let Some(frame) = self.socket.next().now_or_never() {
            match frame {
                Some(Ok(Message::Close(_))) | None => return Err(CalibrateError::Closed),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(Box::new(error).into()),
            }
        }
        Ok(())
    }

    /// Registers a node and reports that it is idle.
    pub(super) async fn register(&mut self) -> Result<(), CalibrateError> {
        let register = format!(
            r#"{{"type":"node_register","node_id":"{}","version":"2.0.0","platform":"linux","hardware":{{"cpu_cores":4,"memory_gb":16}},"installed_models":[],"capability_by_type":[],"features_supported":{{}},"accept_public_jobs":true,"max_jobs":64,{}}}"#,
            self.id,
            languages(self.pair)
        );
        self.send(register).await?;
        self.until("node_register_ack").await.map(drop)
    }

    pub(super) async fn heartbeat(&mut self) -> Result<(), CalibrateError> {
        let beat = format!(
            r#"{{"type":"node_heartbeat","node_id":"{}","timestamp":0,"resource_usage":{{"cpu_percent":1.0,"mem_percent":1.0,"running_jobs":0}},"installed_services":[],"capability_by_type":[],{}}}"#,
            self.id,
            languages(self.pair)
        );
        self.send(beat).await
    }

    /// Answers a job.
    pub(super) async fn result(&mut self, job: &Frame) -> Result<(), CalibrateError> {
        let Frame { job_id, attempt_id, session_id, utterance_index, .. } = job;
        let result = format!(
            r#"{{"type":"job_result","job_id":"{job_id}","attempt_id":{attempt_id},"node_id":"{}","session_id":"{session_id}","utterance_index":{utterance_index},"success":true,"text_asr":"a","text_translated":"b","trace_id":"t"}}"#,
            self.id
        );
        self.send(result).await
    }

    /// A chunk of an utterance that goes on.
    pub(super) async fn chunk(&mut self, seq: u32, payload: &str) -> Result<(), CalibrateError> {
        let chunk = format!(
            r#"{{"type":"audio_chunk","session_id":"{}","seq":{seq},"is_final":false,"payload":"{payload}"}}"#,
            self.id
        );
        self.send(chunk).await
    }

    pub(super) async fn utterance(
        &mut self,
        index: u64,
        payload: &str,
    ) -> Result<(), CalibrateError> {
        let (src, tgt) = self.pair;
        let utterance = format!(
            r#"{{"type":"utterance","session_id":"{}","utterance_index":{index},"manual_cut":true,"src_lang":"{src}","tgt_lang":"{tgt}","audio_format":"pcm16","sample_rate":16000,"audio":"{payload}"}}"#,
            self.id
        );
        self.send(utterance).await
    }

    /// One question and its answer.
    pub(super) async fn ping(&mut self) -> Result<(), CalibrateError> {
        let ping =
            format!(r#"{{"type":"client_heartbeat","session_id":"{}","timestamp":0}}"#, self.id);
        self.send(ping).await?;
        self.until("server_heartbeat").await.map(drop)
    }

    pub(super) async fn close(mut self) {
        self.socket.close().await;
    }
}

fn languages((src, tgt): Pair) -> String {
    format!(
        r#""language_capabilities":{{"asr_languages":["{src}"],"semantic_languages":["{src}"],"tts_languages":["{tgt}"],"semantic_core_ready":true}}"#
    )
}
