//! Rooms: several sessions that hear one another.

use serde::{Deserialize, Serialize};

use crate::ids::{Language, ParticipantId, RoomCode, RoomId, SessionId};
use crate::list::{List, Map};
use crate::{Note, RoomErrorCode, ShortText};

/// The socket's session opens a room and enters it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_create")]
pub struct RoomCreate {
    /// The client's clock, in Unix milliseconds.
    pub client_ts: u64,
    /// The name others see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<ShortText>,
    /// Language the member wants to hear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_lang: Option<Language>,
}

/// The room is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_create_ack")]
pub struct RoomCreateAck {
    /// Its code.
    pub room_code: RoomCode,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_id: Option<RoomId>,
}

/// The socket's session enters a room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_join")]
pub struct RoomJoin {
    /// Which.
    pub room_code: RoomCode,
    /// The name others see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<ShortText>,
    /// Language the member wants to hear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_lang: Option<Language>,
}

/// The socket's session leaves a room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_leave")]
pub struct RoomLeave {
    /// Which.
    pub room_code: RoomCode,
}

/// Whether the socket's session hears another's own voice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_raw_voice_preference")]
pub struct RoomRawVoicePreference {
    /// In which room.
    pub room_code: RoomCode,
    /// Whose voice.
    pub target_session_id: SessionId,
    /// Whether it does.
    pub receive_raw_voice: bool,
}

/// Who is in a room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_members")]
pub struct RoomMembers {
    /// Which.
    pub room_code: RoomCode,
    /// Everybody.
    pub members: List<RoomMember>,
}

/// A member of a room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomMember {
    /// The member's id.
    pub participant_id: ParticipantId,
    /// The member's session.
    pub session_id: SessionId,
    /// The name others see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<ShortText>,
    /// Language the member wants to hear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_lang: Option<Language>,
    /// Whose own voice the member hears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_voice_preferences: Option<Map<SessionId, bool>>,
    /// When the member entered, as RFC 3339.
    pub joined_at: ShortText,
}

/// A room request was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_error")]
pub struct RoomError {
    /// Why.
    pub code: RoomErrorCode,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Note>,
}

/// A room was closed because nobody spoke.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "room_expired")]
pub struct RoomExpired {
    /// Which.
    pub room_code: RoomCode,
    /// In words.
    pub message: Note,
}
