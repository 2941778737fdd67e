//! What instances tell each other of rooms, as JSON. Instants do not travel, only ages.

use lingua_core::SessionId;
use lingua_protocol::{ParticipantId, RoomErrorCode, RoomId};
use serde::{Deserialize, Serialize};

use crate::rooms::{Member, Wanted};

/// A message about rooms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoomMessage {
    /// To an owner: a session wants to enter a room.
    Enter { wanted: Wanted, member: Member },
    /// To an owner: who of the sender's sessions is in a room.
    Here(Here),
    /// To an owner: in this shard the sender has members in these rooms and in no others, but for
    /// those who have asked to enter and have no answer yet.
    Stated { shard: u16, token: u64, rooms: Vec<Here>, pending: Vec<ParticipantId> },
    /// To all: these shards are the sender's, by these tokens.
    Owns { shards: Vec<(u16, u64)> },
    /// From an owner: the session is in the room.
    Granted {
        #[serde(with = "number")]
        session: SessionId,
        listing: Listing,
    },
    /// From an owner: the session is not let in.
    Refused {
        #[serde(with = "number")]
        session: SessionId,
        code: RoomErrorCode,
        why: String,
    },
    /// From an owner: who is in these rooms. In one message, as links bound how many wait.
    Members(Vec<Listing>),
    /// From an owner: this room is closed, or never was the one of its code.
    Closed { code: u32, id: RoomId },
}

/// Who of one instance's sessions is in a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Here {
    pub(crate) code: u32,
    pub(crate) id: RoomId,
    /// The owner's, as the sender knows it: what was said to a former one counts no more.
    pub(crate) token: u64,
    pub(crate) members: Vec<Member>,
    /// Who has asked to enter, and has no answer yet.
    pub(crate) pending: Vec<ParticipantId>,
    /// The listing that the sender has.
    pub(crate) revision: u64,
    /// How long ago one of them spoke last.
    pub(crate) quiet_ms: u64,
}

/// Who is in a room, in order of entry, as its owner has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listing {
    pub(crate) code: u32,
    pub(crate) id: RoomId,
    /// The owner's, for the room's shard.
    pub(crate) token: u64,
    /// Rises with each change under one token.
    pub(crate) revision: u64,
    pub(crate) members: Vec<Member>,
}

/// A session as its number.
pub(super) mod number {
    use lingua_core::SessionId;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(id: &SessionId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(id.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SessionId, D::Error> {
        u64::deserialize(from).map(SessionId)
    }
}

/// A language as its tag.
pub(super) mod tag {
    use lingua_core::Lang;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(lang: &Option<Lang>, to: S) -> Result<S::Ok, S::Error> {
        lang.as_ref().map(Lang::as_str).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Lang>, D::Error> {
        let tag = Option::<String>::deserialize(from)?;
        tag.map(|tag| tag.parse().map_err(D::Error::custom)).transpose()
    }
}
