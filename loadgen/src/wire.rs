//! Frames of fake peers, as few allocations as a frame needs.
//!
//! The frames that come thousands of times a second are read into structs that borrow and hold
//! only what is judged; everything rarer goes through the protocol's own types.

use std::borrow::Cow;
use std::fmt::Write;

use lingua_protocol::{FromNode, FromSession};
use serde::{Deserialize, Serialize};

/// A message as text.
pub(crate) fn of_node<'a>(message: impl Into<FromNode<'a>>) -> String {
    let mut json = Vec::with_capacity(512);
    message.into().to_json(&mut json);
    String::from_utf8(json).unwrap_or_default()
}

/// A message as text.
pub(crate) fn of_session<'a>(message: impl Into<FromSession<'a>>) -> String {
    let mut json = Vec::with_capacity(256);
    message.into().to_json(&mut json);
    String::from_utf8(json).unwrap_or_default()
}

/// One audio chunk; `payload` writes the base64.
pub(crate) fn chunk(
    session: &str,
    seq: u32,
    is_final: bool,
    room: usize,
    payload: impl FnOnce(&mut String),
) -> String {
    let mut frame = String::with_capacity(128 + session.len() + room);
    frame.push_str(r#"{"type":"audio_chunk","session_id":""#);
    frame.push_str(session);
    // Writing to a text does not fail.
    let _ = write!(frame, r#"","seq":{seq},"is_final":{is_final},"payload":""#);
    payload(&mut frame);
    frame.push_str("\"}");
    frame
}

/// A whole utterance as far as it differs from one to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) session: &'a str,
    pub(crate) index: u64,
    pub(crate) src: &'a str,
    pub(crate) tgt: &'a str,
    pub(crate) format: &'a str,
}

/// One whole utterance; `audio` writes the base64.
pub(crate) fn whole(of: Whole<'_>, room: usize, audio: impl FnOnce(&mut String)) -> String {
    let Whole { session, index, src, tgt, format } = of;
    let mut frame = String::with_capacity(256 + session.len() + room);
    // Writing to a text does not fail.
    let _ = write!(
        frame,
        r#"{{"type":"utterance","session_id":"{session}","utterance_index":{index},"manual_cut":true,"#
    );
    let _ = write!(frame, r#""src_lang":"{src}","tgt_lang":"{tgt}","audio_format":"{format}","#);
    frame.push_str(r#""sample_rate":16000,"audio":""#);
    audio(&mut frame);
    frame.push_str("\"}");
    frame
}

/// A job as far as a fake node and the judge look at it.
#[derive(Debug, Deserialize)]
pub(crate) struct Assign<'a> {
    #[serde(borrow)]
    pub(crate) job_id: Cow<'a, str>,
    pub(crate) attempt_id: u32,
    #[serde(borrow)]
    pub(crate) session_id: Cow<'a, str>,
    pub(crate) utterance_index: u64,
    #[serde(borrow)]
    pub(crate) tgt_lang: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) audio: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) trace_id: Cow<'a, str>,
    #[serde(default)]
    pub(crate) is_manual_cut: Option<bool>,
    #[serde(default)]
    pub(crate) is_timeout_triggered: Option<bool>,
    #[serde(default)]
    pub(crate) is_max_duration_triggered: Option<bool>,
}

/// What a client hears, as far as it is judged.
#[derive(Debug, Deserialize)]
pub(crate) struct Heard<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) session_id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) utterance_index: Option<u64>,
    #[serde(borrow, default)]
    pub(crate) event: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) error_code: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) code: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) text_asr: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) details: Option<Details>,
}

/// Details of an error, as far as they name an utterance.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Details {
    Utterance { utterance_index: u64 },
    Other(serde::de::IgnoredAny),
}

impl Heard<'_> {
    /// The utterance that it is about.
    pub(crate) fn utterance(&self) -> Option<u64> {
        match self.details {
            Some(Details::Utterance { utterance_index }) => Some(utterance_index),
            _ => self.utterance_index,
        }
    }
}

/// The type of a frame, where it stands first as every known peer writes it.
pub(crate) fn leading_type(frame: &str) -> Option<&str> {
    let value = frame.strip_prefix(r#"{"type":""#)?;
    value.split_once('"').map(|(name, _)| name)
}

/// A job's result, as a node sends it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct JobResult<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) job_id: &'a str,
    pub(crate) attempt_id: u32,
    pub(crate) node_id: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) utterance_index: u64,
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_asr: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_translated: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) processing_time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<JobError<'a>>,
    pub(crate) trace_id: &'a str,
}

/// Why a node did not do a job.
#[derive(Debug, Serialize)]
pub(crate) struct JobError<'a> {
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
}

impl<'a> JobResult<'a> {
    /// A result of nothing yet.
    pub(crate) fn success() -> Self {
        Self { kind: "job_result", success: true, ..Self::default() }
    }

    /// The same job, not done.
    pub(crate) fn failed(self, code: &'a str, message: &'a str) -> Self {
        let error = Some(JobError { code, message });
        Self { success: false, error, ..self }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
