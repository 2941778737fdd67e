//! Slots: a reservation is a lease in a set, never a bare counter.
//!
//! What runs is the size of the set, so a lost release heals itself at expiry and a second
//! release changes nothing.

use std::cmp::Reverse;

use crate::draws::pick;
use crate::state::op::{Dispatch, Release, Released};
use crate::state::{CapacityCheck, Node, State};
use crate::{LeaseId, Micros, NodeNum, NodeRef, RequestId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) id: LeaseId,
    pub(super) request: RequestId,
    pub(super) attempt: u32,
    pub(super) confirmed: bool,
    pub(super) expires: Micros,
    // The utterance's deadline: no renewal goes past it.
    pub(super) deadline: Micros,
}

/// Why a node cannot take a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum No {
    Offline,
    Unavailable,
    Unfit,
    Excluded,
    Full,
}

impl State {
    /// Whether a node can take the job right now.
    pub(super) fn can_take(&self, now: Micros, num: NodeNum, d: &Dispatch) -> Result<(), No> {
        let node = self.nodes.get(num.index()).ok_or(No::Offline)?;
        if !node.live || node.presence.until() <= now {
            return Err(No::Offline);
        }
        if d.excluded.contains(num) {
            return Err(No::Excluded);
        }
        if !node.presence.is_heard() || node.draining || node.overused {
            return Err(No::Unavailable);
        }
        if !self.directory.fits(num, &d.needs) {
            return Err(No::Unfit);
        }
        if d.needs.model.is_some_and(|model| node.model_losses.bars(now, model)) {
            return Err(No::Unavailable);
        }
        let room = match self.config.capacity {
            CapacityCheck::Lease => node.busy() < node.max_jobs,
            CapacityCheck::AsDocumented => documented_room(node.counter, node.max_jobs),
            CapacityCheck::Off => true,
        };
        if room { Ok(()) } else { Err(No::Full) }
    }

    /// Takes a slot. The caller has asked [`Self::can_take`].
    pub(super) fn grant(&mut self, now: Micros, num: NodeNum, d: &Dispatch) -> NodeRef {
        let node = &mut self.nodes[num.index()];
        // Who holds the node's socket sends at once; anyone else has to route and confirm first.
        let confirmed = node.owner == d.lease.instance();
        let life = if confirmed { self.config.lease } else { self.config.unconfirmed };
        let expires = (now + life).min(d.deadline);
        assert!(
            self.config.capacity != CapacityCheck::Lease || node.busy() < node.max_jobs,
            "a slot is granted only where one is free"
        );
        node.leases.push_back(Lease {
            id: d.lease,
            request: d.request,
            attempt: d.attempt,
            confirmed,
            expires,
            deadline: d.deadline,
        });
        node.counter += 1;
        self.lease_total += 1;
        let generation = node.generation;
        self.expect_expiry(num, expires);
        self.refresh(num);
        NodeRef { num, generation }
    }

    /// Walks the free index of the fitting classes from a random rank, own region first.
    pub(super) fn scan(&self, now: Micros, word: u32, d: &Dispatch) -> Option<NodeNum> {
        let same = |class| self.directory.class(class).caps.region == d.needs.region;
        if d.needs.region.is_some() {
            let near = self.scan_classes(now, word, d, same);
            return near.or_else(|| self.scan_classes(now, word, d, |class| !same(class)));
        }
        self.scan_classes(now, word, d, |_| true)
    }

    fn scan_classes(
        &self,
        now: Micros,
        word: u32,
        d: &Dispatch,
        wanted: impl Fn(crate::ClassId) -> bool,
    ) -> Option<NodeNum> {
        let classes = self.directory.fitting(d.needs).filter(|&class| wanted(class));
        let total: u32 = classes.clone().map(|class| self.free[class.0 as usize].len()).sum();
        if total == 0 {
            return None;
        }
        let start = pick(word, total);
        // Mostly the first one will do; only nodes to avoid make the walk longer.
        (0..total).find_map(|step| {
            let mut rank = (start + step) % total;
            let class = classes.clone().find(|class| {
                let len = self.free[class.0 as usize].len();
                let here = rank < len;
                if !here {
                    rank -= len;
                }
                here
            })?;
            let num = NodeNum(self.free[class.0 as usize].select(rank));
            self.can_take(now, num, d).is_ok().then_some(num)
        })
    }

    /// Makes a reservation last as long as a lease; tells whether it still lives.
    pub(super) fn confirm(&mut self, now: Micros, node_ref: NodeRef, lease: LeaseId) -> bool {
        let life = self.config.lease;
        if node_ref.num.index() >= self.nodes.len() {
            return false;
        }
        self.sweep_node(now, node_ref.num);
        let node = &mut self.nodes[node_ref.num.index()];
        let current = node.live && node.generation == node_ref.generation;
        let Some(lease) = node.leases.iter_mut().find(|l| l.id == lease) else { return false };
        if current {
            lease.confirmed = true;
            lease.expires = (now + life).min(lease.deadline);
        }
        current
    }

    pub(super) fn release(&mut self, now: Micros, r: &Release) -> Released {
        let Some(node) = self.nodes.get_mut(r.node.num.index()) else { return Released::NoLease };
        let Some(at) = node.leases.iter().position(|l| l.id == r.lease) else {
            if self.config.capacity == CapacityCheck::AsDocumented {
                // The documented release knows no leases: it counts down whoever calls.
                node.counter = node.counter.saturating_sub(1);
            }
            return Released::NoLease;
        };
        if node.leases[at].attempt != r.attempt {
            return Released::StaleAttempt;
        }
        let was_full = node.busy() >= node.max_jobs;
        node.leases.remove(at);
        node.counter = node.counter.saturating_sub(1);
        self.lease_total -= 1;
        self.refresh(r.node.num);
        self.end_request(now, r.request, r.lease);
        Released::Freed { was_full }
    }

    /// Frees every slot whose lease has expired, on all nodes.
    pub(super) fn sweep(&mut self, now: Micros) {
        while let Some(&Reverse((at, num))) = self.expiries.peek() {
            if at > now {
                break;
            }
            self.expiries.pop();
            if self.nodes[num.index()].expiry_at == at {
                self.nodes[num.index()].expiry_at = Micros::NEVER;
                self.sweep_node(now, num);
            }
        }
    }

    /// Frees the slots of one node whose leases have expired.
    pub(super) fn sweep_node(&mut self, now: Micros, num: NodeNum) {
        let mut at = 0;
        let mut freed = false;
        let mut next = Micros::NEVER;
        while let Some(&lease) = self.nodes[num.index()].leases.get(at) {
            if lease.expires <= now {
                let node = &mut self.nodes[num.index()];
                node.leases.remove(at);
                node.counter = node.counter.saturating_sub(1);
                self.lease_total -= 1;
                self.end_request(now, lease.request, lease.id);
                freed = true;
            } else {
                next = next.min(lease.expires);
                at += 1;
            }
        }
        if next != Micros::NEVER {
            self.expect_expiry(num, next);
        }
        if freed {
            self.refresh(num);
        }
    }

    fn expect_expiry(&mut self, num: NodeNum, at: Micros) {
        let node = &mut self.nodes[num.index()];
        if at < node.expiry_at {
            node.expiry_at = at;
            self.expiries.push(Reverse((at, num)));
        }
    }
}

impl Node {
    /// Renews confirmed leases, newest first (they stand in order of grant), up to what the node
    /// says it runs: a leaked lease is among the oldest and is left to expire.
    pub(super) fn renew(&mut self, now: Micros, life: Micros, running: u32) {
        let confirmed = self.leases.iter().filter(|l| l.confirmed).count() as u32;
        let mut skip = confirmed.saturating_sub(running);
        for lease in self.leases.iter_mut().filter(|l| l.confirmed) {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            lease.expires = (now + life).min(lease.deadline);
        }
    }
}

/// The documented check: `current < max_jobs` on two strings of digits, so `"2" < "10"` is false.
fn documented_room(current: u32, max_jobs: u32) -> bool {
    current.to_string() < max_jobs.to_string()
}

#[cfg(test)]
mod tests {
    use super::documented_room;

    #[test]
    fn the_documented_check_grants_two_of_ten() {
        let granted = |max| (0u32..).take_while(|&current| documented_room(current, max)).count();
        assert_eq!([10, 12, 16].map(granted), [2, 2, 2]);
        assert_eq!([1, 4, 9].map(granted), [1, 4, 9]);
    }

    #[test]
    fn the_documented_check_oversells_after_lowering_ten_to_nine() {
        assert!(documented_room(10, 9));
    }
}
