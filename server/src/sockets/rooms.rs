//! What a client asks of a room, and what it tells another member. The newest session of its socket is the one that asks.

use axum::extract::ws::Utf8Bytes;
use lingua_core::SessionId;
use lingua_protocol::{
    ErrorCode, Language, RoomCode, RoomCreate, RoomJoin, RoomLeave, RoomRawVoicePreference,
    ShortText, ToSession,
};

use crate::event::{Event, Newcomer, RoomRequest, Signal};
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

    /// The way of a signal, which names its sender from here on.
    pub(super) fn route(
        &self,
        room: &RoomCode,
        to: &mut lingua_protocol::SessionId,
    ) -> Result<Route, Utf8Bytes> {
        let from = self.newest()?;
        let receiver = std::mem::replace(to, wire::session_id(from));
        let to = wire::parse_session_id(&receiver);
        Ok(Route { from, room: wire::parse_room_code(room), to })
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

/// From one member of a room to another.
pub(super) struct Route {
    from: SessionId,
    room: Option<u32>,
    to: Option<SessionId>,
}

impl Route {
    /// The message on its way; absent where it cannot have one.
    pub(super) fn carry(self, message: ToSession<'_>) -> Option<Event> {
        let (from, room, to) = (self.from, self.room?, self.to?);
        let mut json = Vec::with_capacity(1_024);
        message.to_json(&mut json);
        Some(Event::Signal(Box::new(Signal { from, room, to, message: wire::utf8(json) })))
    }
}

fn newcomer(name: Option<ShortText>, preferred: Option<&Language>) -> Result<Newcomer, Utf8Bytes> {
    Ok(Newcomer { name, preferred: preferred.map(lang).transpose()? })
}
