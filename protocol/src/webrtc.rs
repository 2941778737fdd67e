//! What members of a room tell each other to connect directly. The scheduler hands it on.

use serde::{Deserialize, Serialize};

use crate::Json;
use crate::ids::{RoomCode, SessionId};

/// An offer to connect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "webrtc_offer")]
pub struct WebrtcOffer<'a> {
    /// In which room.
    pub room_code: RoomCode,
    /// To the scheduler: the receiver. From the scheduler: the sender.
    pub to: SessionId,
    /// The session description.
    #[serde(borrow)]
    pub sdp: Json<'a>,
}

/// An answer to an offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "webrtc_answer")]
pub struct WebrtcAnswer<'a> {
    /// In which room.
    pub room_code: RoomCode,
    /// To the scheduler: the receiver. From the scheduler: the sender.
    pub to: SessionId,
    /// The session description.
    #[serde(borrow)]
    pub sdp: Json<'a>,
}

/// A way to connect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "webrtc_ice")]
pub struct WebrtcIce<'a> {
    /// In which room.
    pub room_code: RoomCode,
    /// To the scheduler: the receiver. From the scheduler: the sender.
    pub to: SessionId,
    /// The candidate.
    #[serde(borrow)]
    pub candidate: Json<'a>,
}
