//! What a client asks of a room, and what it tells another member. The newest session of its socket
//! is the one that asks.

use std::time::Instant;

use axum::extract::ws::Utf8Bytes;
use lingua_core::SessionId;
use lingua_protocol::{
    ErrorCode, Language, RoomCode, RoomCreate, RoomJoin, RoomLeave, RoomRawVoicePreference,
    ShortText, ToSession,
};

use crate::event::{Event, Newcomer, RoomRequest, Signal};
use crate::rooms::tenant_shard;
use crate::sockets::session::{SessionPeer, error, lang};
use crate::wire;

/// Requests that one socket may make at once, and in each second after those. Whatever is asked of
/// a room is told to all its members.
const REQUESTS_AT_ONCE: f64 = 64.0;
const REQUESTS_PER_S: f64 = 8.0;

/// Requests that a socket may still make.
#[derive(Debug)]
pub(super) struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    /// Takes one, if there is one at `now`.
    fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * REQUESTS_PER_S).min(REQUESTS_AT_ONCE);
        self.at = now;
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: REQUESTS_AT_ONCE, at: Instant::now() }
    }
}

impl SessionPeer {
    pub(super) fn create_room(&mut self, create: RoomCreate) -> Result<Event, Utf8Bytes> {
        let newcomer = newcomer(create.display_name, create.preferred_lang.as_ref())?;
        let shard = self.newest_tenant().map(tenant_shard);
        self.asks(RoomRequest::Create(shard, newcomer))
    }

    pub(super) fn join_room(&mut self, join: RoomJoin) -> Result<Event, Utf8Bytes> {
        let newcomer = newcomer(join.display_name, join.preferred_lang.as_ref())?;
        self.asks(RoomRequest::Join(wire::parse_room_code(&join.room_code), newcomer))
    }

    pub(super) fn leave_room(&mut self, leave: &RoomLeave) -> Result<Event, Utf8Bytes> {
        self.asks(RoomRequest::Leave(wire::parse_room_code(&leave.room_code)))
    }

    pub(super) fn prefer_voice(
        &mut self,
        said: &RoomRawVoicePreference,
    ) -> Result<Event, Utf8Bytes> {
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

    fn asks(&mut self, request: RoomRequest) -> Result<Event, Utf8Bytes> {
        let session = self.newest()?;
        if self.requests.take(Instant::now()) {
            return Ok(Event::Room(session, request));
        }
        let message = format!("too many room requests: at most {REQUESTS_PER_S} in a second");
        Err(error(ErrorCode::InvalidMessage, &message))
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
        let message = message.to_text().into();
        Some(Event::Signal(Box::new(Signal { from, room, to, message })))
    }
}

fn newcomer(name: Option<ShortText>, preferred: Option<&Language>) -> Result<Newcomer, Utf8Bytes> {
    Ok(Newcomer { name, preferred: preferred.map(lang).transpose()? })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn requests_are_allowed_in_a_burst_and_then_slowly() {
        let mut allowance = Allowance::default();
        let mut now = allowance.at;
        let burst = (0..100).filter(|_| allowance.take(now)).count();
        assert_eq!(burst, REQUESTS_AT_ONCE as usize);
        now += Duration::from_secs(2);
        assert_eq!((0..100).filter(|_| allowance.take(now)).count(), 16);
        now += Duration::from_secs(3_600);
        assert_eq!((0..100).filter(|_| allowance.take(now)).count(), burst);
    }
}
