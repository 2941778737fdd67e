//! A room's members, and what bounds them.

use std::collections::{BTreeMap, BTreeSet};

use lingua_core::instance::TARGETS_MAX;
use lingua_core::{InstanceId, Lang, Micros, SessionId, ring};
use lingua_protocol::limits::ENTRIES;
use lingua_protocol::{ParticipantId, RoomId, ShortText, TenantId};
use serde::{Deserialize, Serialize};

use crate::config::RoomLimits;
use crate::rooms::Listing;
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
    /// Another one at each entry.
    pub(crate) participant: ParticipantId,
    pub(crate) name: Option<ShortText>,
    #[serde(with = "super::message::tag")]
    pub(crate) preferred: Option<Lang>,
    /// Whose own voice it wants or does not want to hear, by session number; others it hears.
    pub(crate) voices: BTreeMap<u64, bool>,
    pub(crate) joined_at: ShortText,
}

/// A room as its owner has it.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) id: RoomId,
    pub(super) revision: u64,
    /// In order of entry.
    pub(super) members: Vec<Member>,
    pub(super) last_speech: Micros,
}

impl Room {
    pub(super) fn new(id: RoomId, last_speech: Micros) -> Self {
        Self { id, revision: 0, members: Vec::new(), last_speech }
    }

    pub(super) fn listing(&self, code: u32, token: u64) -> Listing {
        let (id, revision, members) = (self.id.clone(), self.revision, self.members.clone());
        Listing { code, id, token, revision, members }
    }

    /// The instances that have members in it.
    pub(super) fn instances(&self) -> BTreeSet<InstanceId> {
        self.members.iter().map(|member| home(member.session)).collect()
    }

    /// Puts the members of one instance in place of those that it had; gives those of before where
    /// that changed anything.
    pub(super) fn put(&mut self, from: InstanceId, said: Vec<Member>) -> Option<Vec<Member>> {
        let before = self.members.clone();
        self.members.retain_mut(|member| {
            let own = home(member.session) == from;
            match said.iter().find(|said| said.session == member.session) {
                Some(said) => said.clone_into(member),
                None if own => return false,
                None => {}
            }
            true
        });
        let is_there = |said: &Member| self.members.iter().any(|m| m.session == said.session);
        let new: Vec<Member> = said.into_iter().filter(|said| !is_there(said)).collect();
        self.members.extend(new);
        if self.members == before {
            return None;
        }
        self.revision += 1;
        Some(before)
    }
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
