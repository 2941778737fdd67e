//! A fake node that a behaviour drives by hand.

use std::time::Duration;

use lingua_protocol::Base64;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::probe::heartbeat::{self, Heartbeat};
use crate::probe::peer::{Frame, Order, Peer};
use crate::probe::speech::Codec;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Trouble, fail};

/// How long each of several nodes is looked at in turn.
const LOOK: Duration = Duration::from_millis(5);

/// What a node hears and speaks.
#[derive(Debug, Clone)]
pub(super) struct NodeLangs {
    asr: Vec<String>,
    tts: Vec<String>,
}

impl NodeLangs {
    pub(super) fn new(asr: &[&str], tts: &[&str]) -> Self {
        let own = |list: &[&str]| list.iter().map(|lang| (*lang).to_owned()).collect();
        Self { asr: own(asr), tts: own(tts) }
    }

    /// As the node tells it. All are semantic languages, since schedulers differ in whether tts or
    /// semantic languages make the pairs.
    pub(super) fn capabilities(&self) -> Value {
        let all: Vec<&String> = self.asr.iter().chain(&self.tts).collect();
        json!({"asr_languages": self.asr, "semantic_languages": all, "tts_languages": self.tts,
            "semantic_core_ready": true})
    }
}

/// A job as it came to a node.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) at: Instant,
    pub(super) id: String,
    pub(super) attempt: u64,
    pub(super) session: String,
    pub(super) index: u64,
    pub(super) speech: Vec<u8>,
    /// The whole message.
    pub(super) frame: Value,
}

impl Job {
    pub(super) fn of(frame: &Frame) -> Option<Self> {
        let message = &frame.value;
        if message["type"] != "job_assign" {
            return None;
        }
        let text = |field: &str| message[field].as_str().unwrap_or_default().to_owned();
        let mut speech = Vec::new();
        // Audio that is no base64 is audio without a tag, which its judge will find out.
        let _ = Base64::from_text(&text("audio")).decode(&mut speech);
        Some(Self {
            at: frame.at,
            id: text("job_id"),
            attempt: message["attempt_id"].as_u64().unwrap_or(0),
            session: text("session_id"),
            index: message["utterance_index"].as_u64().unwrap_or(0),
            speech,
            frame: message.clone(),
        })
    }

    /// Tags of the chunks in its speech.
    pub(super) fn tags(&self) -> Vec<u8> {
        Codec::Opus.tags(&self.speech)
    }

    /// Whether a flag of the job is set.
    pub(super) fn is(&self, flag: &str) -> bool {
        self.frame[flag] == true
    }

    /// The result of `node`, to be sent as it is or spoilt.
    pub(super) fn result(&self, node: &str, text: &str) -> Value {
        json!({"type": "job_result", "job_id": self.id, "attempt_id": self.attempt,
            "node_id": node, "session_id": self.session, "utterance_index": self.index,
            "success": true, "text_asr": "heard", "text_translated": text, "tts_audio": "",
            "tts_format": "opus", "trace_id": self.frame["trace_id"], "processing_time_ms": 1})
    }
}

/// A registered node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) peer: Peer,
    pub(super) id: String,
}

impl Node {
    /// Registers and sends the first heartbeat.
    pub(super) async fn register(
        stage: &Stage,
        id: &str,
        langs: &NodeLangs,
        max_jobs: u16,
    ) -> Result<Self, Trouble> {
        let beats = Heartbeat::new(id, stage.times.heartbeat, langs);
        let name = stage.name("node");
        let mut peer = Peer::open(&stage.target, "/ws/node", name, &stage.log, Some(beats)).await?;
        peer.say(json!({
            "type": "node_register", "node_id": id, "version": "2.0.0",
            "capability_schema_version": "2.0", "platform": "linux",
            "hardware": {"cpu_cores": 8, "memory_gb": 16,
                "gpus": [{"name": "probe", "memory_gb": 8}]},
            "installed_models": [], "installed_services": [], "capability_by_type": [],
            "features_supported": {}, "accept_public_jobs": true, "max_jobs": max_jobs,
            "language_capabilities": langs.capabilities(),
        }))
        .await;
        let refused = |frame: &Frame| match frame.value["type"].as_str()? {
            "node_register_ack" => Some(None),
            "error" => Some(Some(frame.value["message"].to_string())),
            _ => None,
        };
        if let Some(why) = peer.wait("the registration's ack", stage.times.prompt, refused).await? {
            fail!("the registration was refused: {why}");
        }
        peer.say(heartbeat::frame(id, langs, 0)).await;
        Ok(Self { peer, id: id.to_owned() })
    }

    /// The next job.
    pub(super) async fn job(&mut self, limit: Duration) -> Result<Job, Trouble> {
        let what = format!("a job at {}", self.peer.name());
        self.peer.wait(&what, limit, Job::of).await
    }

    /// The next job, if one is there or comes within `limit`.
    pub(super) async fn any_job(&mut self, limit: Duration) -> Option<Job> {
        self.peer.seek(limit, Job::of).await
    }

    pub(super) async fn answer(&self, job: &Job, text: &str) {
        self.peer.say(job.result(&self.id, text)).await;
    }

    pub(super) async fn stop_heartbeat(&self) {
        self.peer.order(Order::StopHeartbeat).await;
    }
}

/// The next job at any of the nodes that is as wanted, and where it is.
pub(super) async fn next_job(
    nodes: &mut [Node],
    limit: Duration,
    wanted: impl Fn(&Job) -> bool,
) -> Result<(usize, Job), Trouble> {
    let until = Instant::now() + limit;
    while Instant::now() < until {
        for (at, node) in nodes.iter_mut().enumerate() {
            if let Some(job) = node.any_job(LOOK).await
                && wanted(&job)
            {
                return Ok((at, job));
            }
        }
    }
    fail!("no job came to any of {} nodes within {:.1} s", nodes.len(), limit.as_secs_f64())
}
