//! What instances and their coordinator say to one another.

use std::sync::Arc;

use crate::{InstanceId, Micros};

/// Work that exactly one instance at a time must do, interned by whoever parses its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DutyId(pub u32);

/// A fencing token. The coordinator's every change takes the next one, so a later holder's token
/// is larger; whatever a duty writes to refuses tokens below the largest that it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Token(pub u64);

/// One life of an instance among the others: it ends with its lease, and its claims with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Membership {
    /// Who.
    pub instance: InstanceId,
    /// Which of its lives.
    pub token: Token,
}

/// An atomic step at the coordinator.
///
/// The steps of one instance are executed and answered in the order in which they were sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Op {
    /// An instance comes.
    Join(Join),
    /// Its lease begins anew. The instant is the sender's own and comes back in the reply.
    Renew(Membership, Micros),
    /// An instance goes.
    Leave(Membership),
    /// There is a new duty.
    Create(DutyId),
    /// A duty is no more.
    Remove(DutyId),
    /// Hold a duty that nobody holds.
    Claim(DutyId, Membership),
    /// Hold it no longer.
    Release(DutyId, Token),
    /// Put an instance on the drain list.
    Drain {
        /// Which.
        instance: InstanceId,
        /// Also while another one drains.
        force: bool,
    },
    /// Take it off the drain list.
    EndDrain(InstanceId),
    /// Read all, because of an event or of a tick, which recounts.
    Look(Cause),
}

/// An instance that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Join {
    /// Its name, unique among the members.
    pub instance: InstanceId,
    /// Life of the membership without renewal.
    pub lease: Micros,
    /// The sender's own time; it comes back in the reply.
    pub sent: Micros,
}

/// Why all is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Something has changed.
    Event,
    /// Time has passed: what was counted by events is counted anew.
    Tick,
}

/// The answer to a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The instance is a member; it asked at the given instant of its own.
    Joined(Membership, Micros),
    /// An instance of this name is a member already.
    Duplicate,
    /// The lease began anew at the given instant of the sender.
    Renewed(Membership, Micros),
    /// The membership is over.
    Ended(Membership),
    /// The duty is held by the asker.
    Claimed(DutyId, Token),
    /// Somebody holds the duty, or it is no more.
    Taken(DutyId),
    /// The duty is not held by this token, now or any more.
    Released(DutyId, Token),
    /// Another instance drains; only force adds one.
    Draining(InstanceId),
    /// There is no such instance.
    Unknown(InstanceId),
    /// There are as many duties or instances as there may be.
    Full,
    /// Done.
    Done,
    /// All that there is.
    View(Cause, Arc<View>),
}

/// A change that instances are told of. Events may be lost, late or out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// The token of the change.
    pub version: Token,
    /// What has changed.
    pub change: Change,
}

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A duty is new.
    Created(DutyId),
    /// A duty is no more.
    Removed(DutyId),
    /// Nobody holds a duty any more.
    Released(DutyId),
    /// An instance has come.
    Joined(InstanceId),
    /// An instance has gone; its duties are released by events of their own.
    Left(InstanceId),
    /// An instance is on the drain list.
    Drain(InstanceId),
    /// An instance is off the drain list.
    EndDrain(InstanceId),
}

/// All that there is, at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct View {
    /// The token of the latest change in it.
    pub version: Token,
    /// All duties with their holders, sorted.
    pub duties: Vec<(DutyId, Option<Holder>)>,
    /// All instances, sorted.
    pub members: Vec<Member>,
}

impl View {
    /// Who holds a duty; absent where nobody does.
    pub fn holder(&self, duty: DutyId) -> Option<Holder> {
        let at = self.duties.binary_search_by_key(&duty, |&(duty, _)| duty).ok()?;
        self.duties[at].1
    }
}

/// Who holds a duty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    /// Which instance.
    pub instance: InstanceId,
    /// By which token.
    pub token: Token,
}

/// An instance among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Member {
    /// Which, and in which of its lives.
    pub membership: Membership,
    /// Whether it is on the drain list.
    pub draining: bool,
}
