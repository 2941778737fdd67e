//! What a client asks of a room. The newest session of its socket is the one that asks.

use axum::extract::ws::Utf8Bytes;
use lingua_core::SessionId;
use lingua_protocol::{
    ErrorCode, Language, RoomCreate, RoomJoin, RoomLeave, RoomRawVoicePreference, ShortText,
};

use crate::event::{Event, Newcomer, RoomRequest};
use crate::sockets::session::{SessionPeer, error, lang};
use crate::wire;

impl SessionPeer {
    pub(super) fn create_room(&self, create: RoomCreate) -> Result<Event, Utf8Bytes> {
        let newcomer = newcomer(create.display_name, create.preferred_lang.as_ref())?;
        self.asks(RoomRequest::Create(newcomer))
    }

    pub(super) fn join_room(&self, join: RoomJoin) -> Result<Event, Utf8Bytes> {
        let newcomer = newcomer(join.display_name, join.preferred_lang.as_ref())?;
        self.asks(RoomRequest::Join(wire::parse_room_code(&join.room_code), newcomer))
    }

    pub(super) fn leave_room(&self, leave: &RoomLeave) -> Result<Event, Utf8Bytes> {
        self.asks(RoomRequest::Leave(wire::parse_room_code(&leave.room_code)))
    }

    pub(super) fn prefer_voice(&self, said: &RoomRawVoicePreference) -> Result<Event, Utf8Bytes> {
        self.asks(RoomRequest::Voice {
            room: wire::parse_room_code(&said.room_code),
            of: wire::parse_session_id(&said.target_session_id),
            hears: said.receive_raw_voice,
        })
    }

    fn asks(&self, request: RoomRequest) -> Result<Event, Utf8Bytes> {
        Ok(Event::Room(self.newest()?, request))
    }

    /// The session that speaks where a message names none.
    fn newest(&self) -> Result<SessionId, Utf8Bytes> {
        self.newest_session().ok_or_else(|| {
            let message = "Session not initialized: send session_init first";
            error(ErrorCode::InternalError, message)
        })
    }
}

fn newcomer(name: Option<ShortText>, preferred: Option<&Language>) -> Result<Newcomer, Utf8Bytes> {
    Ok(Newcomer { name, preferred: preferred.map(lang).transpose()? })
}
