//! A client's session: its beginning, its speech, its end.

use serde::{Deserialize, Serialize};

use crate::features::Features;
use crate::ids::{GroupId, Language, NodeId, SessionId, TenantId, TraceId};
use crate::list::LanguageList;
use crate::{
    AudioFormat, BackpressureAction, Base64, Channels, Mode, Note, Pipeline, SampleRate, ShortText,
};

/// A client opens a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "session_init")]
pub struct SessionInit {
    /// Version of the client program.
    pub client_version: ShortText,
    /// What it runs on.
    pub platform: ShortText,
    /// Language spoken, or `auto`.
    pub src_lang: Language,
    /// Language wanted.
    pub tgt_lang: Language,
    /// Dialect spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<ShortText>,
    /// What the client asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// Code of a node of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairing_code: Option<ShortText>,
    /// Whose client it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
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
    /// The client's trace; else the scheduler gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
}

/// The session is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "session_init_ack")]
pub struct SessionInitAck {
    /// Its id.
    pub session_id: SessionId,
    /// Its node, where it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned_node_id: Option<NodeId>,
    /// In words.
    pub message: Note,
    /// Its trace.
    pub trace_id: TraceId,
    /// Version of these messages.
    pub protocol_version: ShortText,
    /// Whether audio may come in binary frames.
    pub use_binary_frame: bool,
    /// How audio is to be encoded.
    pub negotiated_codec: AudioFormat,
    /// The same.
    pub negotiated_audio_format: AudioFormat,
    /// Samples per second.
    pub negotiated_sample_rate: SampleRate,
    /// Channels.
    pub negotiated_channel_count: Channels,
}

/// A piece of speech.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "audio_chunk")]
pub struct AudioChunk<'a> {
    /// Whose.
    pub session_id: SessionId,
    /// The client's own count.
    pub seq: u64,
    /// Whether the utterance ends here.
    pub is_final: bool,
    /// The audio. Absent and empty both mean none.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Base64<'a>>,
    /// The client's clock, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_timestamp_ms: Option<i64>,
}

/// A whole utterance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "utterance")]
pub struct Utterance<'a> {
    /// Whose.
    pub session_id: SessionId,
    /// The client's own count, from 0.
    pub utterance_index: u64,
    /// Whether the client ended it.
    pub manual_cut: bool,
    /// Language spoken, or `auto`.
    pub src_lang: Language,
    /// Language wanted.
    pub tgt_lang: Language,
    /// Dialect spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<ShortText>,
    /// What the client asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// The speech.
    #[serde(borrow)]
    pub audio: Base64<'a>,
    /// How it is encoded.
    pub audio_format: AudioFormat,
    /// Samples per second.
    pub sample_rate: SampleRate,
    /// The client's trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// What is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
}

/// A client says that it lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "client_heartbeat")]
pub struct ClientHeartbeat {
    /// Whose.
    pub session_id: SessionId,
    /// Its clock, in Unix milliseconds.
    pub timestamp: i64,
}

/// The scheduler's answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "server_heartbeat")]
pub struct ServerHeartbeat {
    /// Whose.
    pub session_id: SessionId,
    /// The scheduler's clock, in Unix milliseconds.
    pub timestamp: i64,
}

/// A client ends a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "session_close")]
pub struct SessionClose {
    /// Which.
    pub session_id: SessionId,
    /// Why.
    pub reason: Note,
}

/// The session has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "session_close_ack")]
pub struct SessionCloseAck {
    /// Which.
    pub session_id: SessionId,
}

/// A client began to play a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "tts_started")]
pub struct TtsStarted {
    /// Whose.
    pub session_id: SessionId,
    /// Its trace.
    pub trace_id: TraceId,
    /// The result's group.
    pub group_id: GroupId,
    /// The client's clock, in Unix milliseconds.
    pub ts_start_ms: u64,
}

/// A client has played a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "tts_play_ended")]
pub struct TtsPlayEnded {
    /// Whose.
    pub session_id: SessionId,
    /// Its trace.
    pub trace_id: TraceId,
    /// The result's group.
    pub group_id: GroupId,
    /// The client's clock, in Unix milliseconds.
    pub ts_end_ms: u64,
}

/// A client is asked to send less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "backpressure")]
pub struct Backpressure {
    /// What it should do.
    pub action: BackpressureAction,
    /// For how long, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_after_ms: Option<u64>,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Note>,
}
