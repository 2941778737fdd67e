//! What a client hears of an utterance.

use serde::{Deserialize, Serialize};

use crate::ids::{GroupId, JobId, SessionId, TraceId, job_or_empty};
use crate::job::{Extra, SegmentsMeta, ServiceTimings};
use crate::list::List;
use crate::{
    AsrQuality, AudioFormat, Base64, ErrorCode, MissingReason, Note, Real, ShortText, Transcript,
    UiEventKind, UiStatus,
};

/// An utterance came a step further.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "ui_event")]
pub struct UiEvent {
    /// The session's trace.
    pub trace_id: TraceId,
    /// The session.
    pub session_id: SessionId,
    /// The job, where there is one.
    #[serde(with = "job_or_empty")]
    pub job_id: Option<JobId>,
    /// The session's utterance.
    pub utterance_index: u64,
    /// Which step.
    pub event: UiEventKind,
    /// Since the utterance ended, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// Whether it is good news.
    pub status: UiStatus,
    /// What failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ErrorCode>,
    /// What the user may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Note>,
}

/// A first text, for the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "asr_partial")]
pub struct AsrPartial {
    /// The session.
    pub session_id: SessionId,
    /// Its utterance.
    pub utterance_index: u64,
    /// The job, where it is told.
    #[serde(with = "job_or_empty")]
    pub job_id: Option<JobId>,
    /// The text so far.
    pub text: Transcript,
    /// Whether it will not change.
    pub is_final: bool,
    /// The session's trace.
    pub trace_id: TraceId,
}

/// An utterance's final message: the translation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "translation_result")]
pub struct TranslationResult<'a> {
    /// The session.
    pub session_id: SessionId,
    /// Its utterance.
    pub utterance_index: u64,
    /// The job that answered.
    pub job_id: JobId,
    /// What was said.
    pub text_asr: Transcript,
    /// Its translation.
    pub text_translated: Transcript,
    /// The translation as speech. May be empty.
    #[serde(borrow)]
    pub tts_audio: Base64<'a>,
    /// How that is encoded.
    pub tts_format: AudioFormat,
    /// What the node found besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
    /// The session's trace.
    pub trace_id: TraceId,
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
    /// Its place in the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_index: Option<u64>,
    /// How long each step took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_timings: Option<ServiceTimings>,
    /// How long each way took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_timings: Option<NetworkTimings>,
    /// The scheduler's clock, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_sent_at_ms: Option<i64>,
    /// How sure the node is of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asr_quality_level: Option<AsrQuality>,
    /// Why it doubts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_codes: Option<List<ShortText>>,
    /// How sure, as a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality_score: Option<Real>,
    /// How often it listened again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun_count: Option<u32>,
    /// The segments of the speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments_meta: Option<SegmentsMeta>,
}

/// How long each way took, in milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NetworkTimings {
    /// From the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_to_scheduler_ms: Option<u64>,
    /// To the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_to_node_ms: Option<u64>,
    /// From the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_to_scheduler_ms: Option<u64>,
    /// To the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_to_web_ms: Option<u64>,
}

/// An utterance's final message: there is nothing to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "missing_result")]
pub struct MissingResult {
    /// The session.
    pub session_id: SessionId,
    /// Its utterance.
    pub utterance_index: u64,
    /// Why.
    pub reason: MissingReason,
    /// The scheduler's clock, in Unix milliseconds.
    pub created_at_ms: i64,
    /// The session's trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
}
