//! A room's members, and what bounds them.

use std::collections::BTreeMap;

use lingua_core::instance::TARGETS_MAX;
use lingua_core::{InstanceId, Lang, SessionId, ring};
use lingua_protocol::limits::ENTRIES;
use lingua_protocol::{ParticipantId, ShortText, TenantId};
use serde::{Deserialize, Serialize};

use crate::config::RoomLimits;
use crate::wire;

/// Shards of all rooms. Few enough to be told in one message, enough to be spread evenly.
pub(crate) const SHARDS: u16 = 64;

/// The shard of a room.
pub(crate) fn shard(code: u32) -> u16 {
    (code % u32::from(SHARDS)) as u16
}

/// The shard of a tenant: its rooms live together, with one owner.
pub(crate) fn tenant_shard(tenant: &TenantId) -> u16 {
    (ring::hash(tenant.as_str().as_bytes()) % u64::from(SHARDS)) as u16
}

/// Which room a session wants to enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wanted {
    /// The one of this code.
    Code(u32),
    /// A new one; of a tenant, in its shard.
    New(Option<u16>),
}

impl Wanted {
    /// The shard that it must be in.
    pub(super) fn shard(self) -> Option<u16> {
        match self {
            Self::Code(code) => Some(shard(code)),
            Self::New(shard) => shard,
        }
    }
}

/// The instance that holds a session's socket.
pub(crate) fn home(session: SessionId) -> InstanceId {
    InstanceId((wire::plain(session).0 >> 32) as u16)
}

/// A session in a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    #[serde(with = "super::message::number")]
    pub(crate) session: SessionId,
    pub(crate) participant: ParticipantId,
    pub(crate) name: Option<ShortText>,
    #[serde(with = "super::message::tag")]
    pub(crate) preferred: Option<Lang>,
    /// Whose own voice it wants or does not want to hear, by session number; others it hears.
    pub(crate) voices: BTreeMap<u64, bool>,
    pub(crate) joined_at: ShortText,
}

/// Whether a newcomer may join these members.
///
/// # Errors
/// Why not.
pub(super) fn has_place(
    members: &[Member],
    newcomer: &Member,
    limits: &RoomLimits,
) -> Result<(), String> {
    let most = limits.members.min(ENTRIES);
    if members.len() >= most {
        return Err(format!("the room has {most} members, which is the limit"));
    }
    let mut languages: Vec<_> = members.iter().filter_map(|member| member.preferred).collect();
    languages.sort_unstable();
    languages.dedup();
    match newcomer.preferred {
        Some(wanted) if languages.len() >= TARGETS_MAX && !languages.contains(&wanted) => {
            Err(format!("the room hears {TARGETS_MAX} languages, which is the limit"))
        }
        _ => Ok(()),
    }
}
