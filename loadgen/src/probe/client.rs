//! A fake client that a behaviour drives by hand.

use std::time::Duration;

use lingua_protocol::Base64;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::probe::peer::{Frame, Peer};
use crate::probe::speech::Codec;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Trouble, fail};

/// Length of a chunk in milliseconds.
pub(super) const CHUNK_MS: usize = 100;

/// How an utterance ended for its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// With this translation.
    Result(String),
    /// A `missing_result` with this reason.
    Missing(String),
    /// An error with this code.
    Error(String),
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Result(text) => write!(f, "the result `{text}`"),
            Self::Missing(reason) => write!(f, "missing_result {reason}"),
            Self::Error(code) => write!(f, "error {code}"),
        }
    }
}

/// The utterance that a frame ends, and how. Schedulers tell a failure as an error with its
/// utterance in the details, as an event, or both.
pub(super) fn end_in(frame: &Frame) -> Option<(u64, End)> {
    let message = &frame.value;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (index, end) = match message["type"].as_str()? {
        "translation_result" => {
            (&message["utterance_index"], End::Result(text(&message["text_translated"])))
        }
        "missing_result" => (&message["utterance_index"], End::Missing(text(&message["reason"]))),
        "error" => (&message["details"]["utterance_index"], End::Error(text(&message["code"]))),
        "ui_event" if message["event"] == "ERROR" => {
            (&message["utterance_index"], End::Error(text(&message["error_code"])))
        }
        _ => return None,
    };
    Some((index.as_u64()?, end))
}

/// An open session.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) peer: Peer,
    pub(super) session: String,
    seq: u64,
}

impl Client {
    /// Opens a session; `extra` fields are added to the message.
    pub(super) async fn open(
        stage: &Stage,
        src: &str,
        tgt: &str,
        extra: &Value,
    ) -> Result<Self, Trouble> {
        let name = stage.name("client");
        let mut peer = Peer::open(&stage.target, "/ws/session", name, &stage.log, None).await?;
        let mut init = json!({"type": "session_init", "client_version": "web-client-v1.0",
            "platform": "web", "src_lang": src, "tgt_lang": tgt, "features": {},
            "mode": "one_way", "trace_id": format!("probe-{}", peer.name().replace(' ', "-"))});
        for (field, value) in extra.as_object().into_iter().flatten() {
            init[field] = value.clone();
        }
        peer.say(init).await;
        let acked = |frame: &Frame| {
            let id = frame.value["session_id"].as_str()?;
            frame.is("session_init_ack").then(|| id.to_owned())
        };
        let session = peer.wait("the session's ack", stage.times.prompt, acked).await?;
        Ok(Self { peer, session, seq: 0 })
    }

    /// Sends audio of the session named, which need not be its own.
    pub(super) async fn send_audio(&mut self, session: &str, audio: &[u8], is_final: bool) {
        let payload = Base64::encode(audio);
        let seq = self.seq;
        self.seq += 1;
        self.peer
            .say(json!({"type": "audio_chunk", "session_id": session, "seq": seq,
                "is_final": is_final, "payload": payload.as_str()}))
            .await;
    }

    pub(super) async fn send(&mut self, audio: &[u8], is_final: bool) {
        let session = self.session.clone();
        self.send_audio(&session, audio, is_final).await;
    }

    /// Chunks of Opus with these tags.
    pub(super) async fn chunks(&mut self, tags: &[u8]) {
        for &tag in tags {
            self.send(&Codec::Opus.chunk(tag, CHUNK_MS), false).await;
        }
    }

    /// The same as a whole utterance that the client ends; when its end was sent.
    pub(super) async fn say(&mut self, tags: &[u8]) -> Instant {
        self.chunks(tags).await;
        self.send(&[], true).await;
        Instant::now()
    }

    pub(super) async fn close_session(&self) {
        let session = &self.session;
        let close = json!({"type": "session_close", "session_id": session, "reason": "done"});
        self.peer.say(close).await;
    }

    /// How an utterance ended.
    pub(super) async fn end_of(&mut self, index: u64, limit: Duration) -> Result<End, Trouble> {
        let wanted =
            |frame: &Frame| end_in(frame).and_then(|(found, end)| (found == index).then_some(end));
        let what = format!("the end of utterance {index} at {}", self.peer.name());
        self.peer.wait(&what, limit, wanted).await
    }

    /// The translation of an utterance.
    pub(super) async fn result(&mut self, index: u64, limit: Duration) -> Result<String, Trouble> {
        match self.end_of(index, limit).await? {
            End::Result(text) => Ok(text),
            end => fail!("utterance {index} of {} ended in {end}", self.peer.name()),
        }
    }

    /// The next error's code, of any message.
    pub(super) async fn error(&mut self, limit: Duration) -> Option<String> {
        let code = |frame: &Frame| {
            frame.is("error").then(|| frame.value["code"].as_str().unwrap_or("?").to_owned())
        };
        self.peer.seek(limit, code).await
    }
}
