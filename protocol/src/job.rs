//! A job's way to a node and back.

use serde::{Deserialize, Serialize};

use crate::features::Features;
use crate::ids::{GroupId, JobId, Language, NodeId, SessionId, TraceId, TurnId};
use crate::list::{LanguageList, List, Map};
use crate::optional::{is_false, null_is_default};
use crate::{
    AsrQuality, AudioFormat, Base64, EmptyReason, ErrorCode, Json, Mode, Note, Real, SampleRate,
    ShortText, Transcript,
};

/// A job for a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "job_assign")]
pub struct JobAssign<'a> {
    /// Which job.
    pub job_id: JobId,
    /// Which attempt at it, from 1.
    pub attempt_id: u32,
    /// The speaker's session.
    pub session_id: SessionId,
    /// The session's utterance, from 0.
    pub utterance_index: u64,
    /// Language spoken, or `auto`.
    pub src_lang: Language,
    /// Language wanted.
    pub tgt_lang: Language,
    /// Dialect spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<ShortText>,
    /// What the client asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// What is to be done.
    pub pipeline: Pipeline,
    /// The speech.
    #[serde(borrow)]
    pub audio: Base64<'a>,
    /// How it is encoded.
    pub audio_format: AudioFormat,
    /// Samples per second.
    pub sample_rate: SampleRate,
    /// Who speaks which language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// One language of a two-way session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang_a: Option<Language>,
    /// The other one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang_b: Option<Language>,
    /// Languages that `auto` may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_langs: Option<LanguageList>,
    /// Whether first texts are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_streaming_asr: Option<bool>,
    /// How often, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_update_interval_ms: Option<u64>,
    /// The client's trace.
    pub trace_id: TraceId,
    /// Silence to add at the end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padding_ms: Option<u64>,
    /// The client ended the utterance.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_false")]
    pub is_manual_cut: bool,
    /// Silence ended it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_false")]
    pub is_timeout_triggered: bool,
    /// Its length ended it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_false")]
    pub is_max_duration_triggered: bool,
    /// The turn it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
    /// Its place in the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_index: Option<u64>,
    /// What was said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_text: Option<Transcript>,
}

/// The steps of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// Speech to text.
    pub use_asr: bool,
    /// Translation.
    pub use_nmt: bool,
    /// Text to speech.
    pub use_tts: bool,
    /// Repair of the text.
    #[serde(default, deserialize_with = "null_is_default")]
    pub use_semantic: bool,
    /// Tone of voice.
    #[serde(default, deserialize_with = "null_is_default")]
    pub use_tone: bool,
}

/// A job's result is no longer wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "job_cancel")]
pub struct JobCancel {
    /// Which job.
    pub job_id: JobId,
    /// The client's trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Note>,
}

/// A node has the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "job_ack")]
pub struct JobAck {
    /// Which job.
    pub job_id: JobId,
    /// Which attempt.
    pub attempt_id: u32,
    /// Which node.
    pub node_id: NodeId,
    /// The speaker's session.
    pub session_id: SessionId,
    /// The client's trace.
    pub trace_id: TraceId,
}

/// A node works on the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "job_started")]
pub struct JobStarted {
    /// Which job.
    pub job_id: JobId,
    /// Which attempt.
    pub attempt_id: u32,
    /// Which node.
    pub node_id: NodeId,
    /// The speaker's session.
    pub session_id: SessionId,
    /// The client's trace.
    pub trace_id: TraceId,
}

/// A first text, from the node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "asr_partial")]
pub struct NodeAsrPartial {
    /// Which job.
    pub job_id: JobId,
    /// Which node.
    pub node_id: NodeId,
    /// The speaker's session.
    pub session_id: SessionId,
    /// The session's utterance.
    pub utterance_index: u64,
    /// The text so far.
    pub text: Transcript,
    /// Whether it will not change.
    pub is_final: bool,
    /// The client's trace.
    pub trace_id: TraceId,
}

/// A job's end at a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "job_result")]
pub struct JobResult<'a> {
    /// Which job.
    pub job_id: JobId,
    /// Which attempt.
    pub attempt_id: u32,
    /// Which node.
    pub node_id: NodeId,
    /// The speaker's session.
    pub session_id: SessionId,
    /// The session's utterance.
    pub utterance_index: u64,
    /// Whether it was done.
    pub success: bool,
    /// What was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_asr: Option<Transcript>,
    /// Its translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_translated: Option<Transcript>,
    /// The translation as speech.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub tts_audio: Option<Base64<'a>>,
    /// How that is encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tts_format: Option<AudioFormat>,
    /// What the node found besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
    /// How long it worked, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing_time_ms: Option<u64>,
    /// Why it was not done.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub error: Option<JobError<'a>>,
    /// The client's trace.
    pub trace_id: TraceId,
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
    /// Its place in the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_index: Option<u64>,
    /// The node's clock at the end, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_completed_at_ms: Option<i64>,
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

/// Why a node did not do a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobError<'a> {
    /// What failed.
    pub code: ErrorCode,
    /// In words.
    pub message: Note,
    /// Anything else.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json<'a>>,
}

/// What a node found besides the texts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Extra {
    /// The speaker's emotion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emotion: Option<ShortText>,
    /// The speaker's speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speech_rate: Option<Real>,
    /// The voice of the speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice_style: Option<ShortText>,
    /// How long each step took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_timings: Option<ServiceTimings>,
    /// How likely the language is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_probability: Option<Real>,
    /// How likely each language is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_probabilities: Option<Map<Language, Real>>,
    /// Why there is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EmptyReason>,
}

/// How long each step took, in milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServiceTimings {
    /// Speech to text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asr_ms: Option<u64>,
    /// Translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nmt_ms: Option<u64>,
    /// Text to speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tts_ms: Option<u64>,
    /// All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<u64>,
}

/// The segments of the speech, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentsMeta {
    /// How many.
    pub count: u32,
    /// The longest gap between two.
    pub max_gap: Real,
    /// Their mean length.
    pub avg_duration: Real,
}
