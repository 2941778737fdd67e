//! The coordinator in this process: who is a member, and who holds what.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::message::*;
use crate::{InstanceId, Micros};

/// Members, duties and their holders, changed only by atomic steps.
///
/// The same steps are to be executed by a shared coordinator; this one serves a process on its
/// own, tests, and the simulator.
#[derive(Debug, Clone, Default)]
pub struct ClaimBoard {
    version: Token,
    duties: BTreeMap<DutyId, Option<Holder>>,
    members: BTreeMap<InstanceId, Entry>,
    // No lease ends before; it may be outdated towards the earlier.
    expiry: Micros,
    // The latest copy of all, until something changes.
    view: Option<Arc<View>>,
}

#[derive(Debug, Clone)]
struct Entry {
    token: Token,
    lease: Micros,
    expires: Micros,
    draining: bool,
}

impl ClaimBoard {
    /// Most duties.
    pub const DUTIES_MAX: usize = 1 << 16;
    /// Most instances at once.
    pub const INSTANCES_MAX: usize = 1 << 12;

    /// One atomic step. What instances are to be told is appended to `events`.
    ///
    /// Leases that have ended by `now` end first, their claims with them.
    pub fn apply(&mut self, now: Micros, op: &Op, events: &mut Vec<Event>) -> Reply {
        self.sweep(now, events);
        match *op {
            Op::Join(join) => self.join(now, join, events),
            Op::Renew(membership, sent) => self.renew(now, membership, sent),
            Op::Leave(membership) => self.leave(membership, events),
            Op::Create(duty) => self.create(duty, events),
            Op::Remove(duty) => {
                if self.duties.remove(&duty).is_some() {
                    self.tell(Change::Removed(duty), events);
                }
                Reply::Done
            }
            Op::Claim(duty, membership) => self.claim(duty, membership),
            Op::Release(duty, token) => {
                if self.holds(duty, token) {
                    self.duties.insert(duty, None);
                    self.tell(Change::Released(duty), events);
                }
                Reply::Released(duty, token)
            }
            Op::Drain { instance, force } => self.drain(instance, force, events),
            Op::EndDrain(instance) => self.end_drain(instance, events),
            Op::Look(cause) => Reply::View(cause, self.view()),
        }
    }

    /// Ends the memberships whose leases have ended by `now`.
    pub fn sweep(&mut self, now: Micros, events: &mut Vec<Event>) {
        if now < self.expiry {
            return;
        }
        let over = self.members.iter().filter(|(_, entry)| entry.expires <= now);
        let over: Vec<InstanceId> = over.map(|(&instance, _)| instance).collect();
        for instance in over {
            self.end(instance, events);
        }
        let expiries = self.members.values().map(|entry| entry.expires);
        self.expiry = expiries.min().unwrap_or(Micros::NEVER);
    }

    /// When the next sweep may have work.
    pub fn next_deadline(&self) -> Micros {
        self.expiry
    }

    /// Whether a duty is held by this token. What a duty writes is good only then.
    pub fn holds(&self, duty: DutyId, token: Token) -> bool {
        matches!(self.duties.get(&duty), Some(Some(holder)) if holder.token == token)
    }

    /// All that there is.
    pub fn view(&mut self) -> Arc<View> {
        let view = self.view.get_or_insert_with(|| {
            let members = self.members.iter().map(|(&instance, entry)| Member {
                membership: Membership { instance, token: entry.token },
                draining: entry.draining,
            });
            Arc::new(View {
                version: self.version,
                duties: self.duties.iter().map(|(&duty, &holder)| (duty, holder)).collect(),
                members: members.collect(),
            })
        });
        Arc::clone(view)
    }

    fn join(&mut self, now: Micros, join: Join, events: &mut Vec<Event>) -> Reply {
        let Join { instance, lease, sent } = join;
        if self.members.contains_key(&instance) {
            return Reply::Duplicate;
        }
        if self.members.len() >= Self::INSTANCES_MAX {
            return Reply::Full;
        }
        let token = self.tell(Change::Joined(instance), events);
        let expires = now + lease;
        self.expiry = self.expiry.min(expires);
        self.members.insert(instance, Entry { token, lease, expires, draining: false });
        Reply::Joined(Membership { instance, token }, sent)
    }

    fn renew(&mut self, now: Micros, membership: Membership, sent: Micros) -> Reply {
        match self.members.get_mut(&membership.instance) {
            Some(entry) if entry.token == membership.token => {
                entry.expires = now + entry.lease;
                Reply::Renewed(membership, sent)
            }
            _ => Reply::Ended(membership),
        }
    }

    fn leave(&mut self, membership: Membership, events: &mut Vec<Event>) -> Reply {
        if self.is_member(membership) {
            self.end(membership.instance, events);
        }
        Reply::Ended(membership)
    }

    fn create(&mut self, duty: DutyId, events: &mut Vec<Event>) -> Reply {
        if self.duties.contains_key(&duty) {
            return Reply::Done;
        }
        if self.duties.len() >= Self::DUTIES_MAX {
            return Reply::Full;
        }
        self.duties.insert(duty, None);
        self.tell(Change::Created(duty), events);
        Reply::Done
    }

    fn claim(&mut self, duty: DutyId, membership: Membership) -> Reply {
        if !self.is_member(membership) {
            return Reply::Ended(membership);
        }
        if self.duties.get(&duty) != Some(&None) {
            return Reply::Taken(duty);
        }
        let token = self.change();
        self.duties.insert(duty, Some(Holder { instance: membership.instance, token }));
        Reply::Claimed(duty, token)
    }

    fn drain(&mut self, instance: InstanceId, force: bool, events: &mut Vec<Event>) -> Reply {
        let mut others = self.members.iter().filter(|(id, _)| **id != instance);
        let other = others.find(|(_, entry)| entry.draining).map(|(&id, _)| id);
        let Some(entry) = self.members.get_mut(&instance) else {
            return Reply::Unknown(instance);
        };
        if let Some(other) = other
            && !force
        {
            return Reply::Draining(other);
        }
        if !std::mem::replace(&mut entry.draining, true) {
            self.tell(Change::Drain(instance), events);
        }
        Reply::Done
    }

    fn end_drain(&mut self, instance: InstanceId, events: &mut Vec<Event>) -> Reply {
        let Some(entry) = self.members.get_mut(&instance) else {
            return Reply::Unknown(instance);
        };
        if std::mem::replace(&mut entry.draining, false) {
            self.tell(Change::EndDrain(instance), events);
        }
        Reply::Done
    }

    fn is_member(&self, membership: Membership) -> bool {
        let entry = self.members.get(&membership.instance);
        entry.is_some_and(|entry| entry.token == membership.token)
    }

    /// Ends a membership and all its claims.
    fn end(&mut self, instance: InstanceId, events: &mut Vec<Event>) {
        self.members.remove(&instance);
        self.tell(Change::Left(instance), events);
        let held = self.duties.iter_mut();
        let held = held.filter(|(_, holder)| holder.is_some_and(|h| h.instance == instance));
        let released: Vec<DutyId> = held
            .map(|(&duty, holder)| {
                *holder = None;
                duty
            })
            .collect();
        for duty in released {
            self.tell(Change::Released(duty), events);
        }
    }

    fn tell(&mut self, change: Change, events: &mut Vec<Event>) -> Token {
        let version = self.change();
        events.push(Event { version, change });
        version
    }

    fn change(&mut self) -> Token {
        self.view = None;
        self.version.0 += 1;
        self.version
    }
}
