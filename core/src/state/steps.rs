//! The steps of a dispatch on a Cluster, where session, node and class lie in different slots.
//!
//! `Open` writes the intent at the session, `Reserve` takes the slot at the node, and where the
//! node refuses, `Move` points the intent elsewhere. The answer is the intent, valid while its
//! lease exists. Each step may be repeated: its first verdict stands.

use crate::state::op::{Candidates, Dispatch, Excluded, Grant, MissCause, Via};
use crate::{ClassId, LeaseId, Micros, Needs, NodeNum, RequestId};

/// Most nodes that one look into a class gives back.
pub const FOUND_MAX: usize = 4;

/// Where an intent points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The node.
    pub node: NodeNum,
    /// Only this generation of it; absent: whichever is current.
    pub generation: Option<u32>,
    /// How it was found.
    pub via: Via,
}

/// What a request is to be answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent {
    /// Which attempt.
    pub attempt: u32,
    /// The reservation, the same at every target of the attempt.
    pub lease: LeaseId,
    /// Where; absent: nowhere yet.
    pub target: Option<Target>,
    /// The attempt before this one, which is fenced: its slot must be given back first.
    pub former: Option<Former>,
    /// Whether its lease has ended.
    pub ended: bool,
}

impl Intent {
    /// Whether no node took the attempt.
    pub(super) fn is_refused(&self) -> bool {
        self.ended && self.target.is_none()
    }
}

/// An attempt that was followed by a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Former {
    /// Where it had its slot.
    pub node: NodeNum,
    /// Its reservation.
    pub lease: LeaseId,
    /// Which attempt.
    pub attempt: u32,
}

/// Writes a request's intent, unless one of the same attempt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// What is asked.
    pub request: RequestId,
    /// Which attempt; only rises.
    pub attempt: u32,
    /// The lease it would hold.
    pub lease: LeaseId,
    /// Whether the session's affinity goes before `target`.
    pub affinity: bool,
    /// Where to, without affinity.
    pub target: Option<Target>,
    /// No lease of this attempt lives longer.
    pub deadline: Micros,
}

/// Takes a slot at the target of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserve {
    /// Where.
    pub target: Target,
    /// What is asked.
    pub request: RequestId,
    /// Which attempt.
    pub attempt: u32,
    /// The lease: asked again with the same one, the node gives the same answer.
    pub lease: LeaseId,
    /// What the node must be able to do.
    pub needs: Needs,
    /// Nodes to avoid.
    pub excluded: Excluded,
    /// The lease lives no longer.
    pub deadline: Micros,
}

impl Reserve {
    /// The same as a dispatch without a choice.
    pub fn as_dispatch(&self) -> Dispatch {
        Dispatch {
            request: self.request,
            attempt: self.attempt,
            lease: self.lease,
            needs: self.needs,
            affinity: false,
            preferred: None,
            excluded: self.excluded,
            candidates: Candidates::default(),
            scan: None,
            deadline: self.deadline,
        }
    }
}

/// Points an intent elsewhere, if it still points to where the caller saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Whose intent.
    pub request: RequestId,
    /// Of which attempt.
    pub attempt: u32,
    /// With which lease.
    pub lease: LeaseId,
    /// Where it points.
    pub from: Option<NodeNum>,
    /// Where it shall point; absent: nowhere, the intent is taken away.
    pub to: Option<Target>,
}

/// Looks into the free index of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Find {
    /// Which class.
    pub class: ClassId,
    /// Where the walk starts.
    pub word: u32,
    /// Nodes to leave out.
    pub excluded: Excluded,
}

/// Answer to [`Open`] and [`Move`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intended {
    /// This intent stands, new or found.
    Stands(Intent),
    /// A later attempt of the request exists.
    Superseded,
    /// There is none of this attempt.
    Gone,
}

/// Answer to [`Reserve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// The slot is held.
    Granted {
        /// The slot.
        grant: Grant,
        /// Whether it was the node's last one.
        filled: bool,
    },
    /// The node does not take it.
    Refused(MissCause),
    /// The slot was held and is not any more.
    Over,
}
