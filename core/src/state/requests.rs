//! Requests and their answers, and the affinity of sessions. Home: the session.

use crate::state::State;
use crate::state::leases::No;
use crate::state::op::{
    AffinityOutcome, Dispatch, Dispatched, Grant, MissCause, Outcome, RecordAffinity, Refusal, Via,
};
use crate::{LeaseId, Micros, NodeNum, NodeRef, RequestId, SessionId};

/// Old answers dropped per dispatch: more than one, so that the queue shrinks. An answer counts by
/// its stored time; when it is dropped changes nothing but memory.
const DROPS_PER_STEP: usize = 4;

/// The stored answer of a request: valid while its lease lives, kept for a while after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) attempt: u32,
    pub(super) grant: Grant,
    // Until when it is kept; NEVER while its lease lives.
    pub(super) until: Micros,
}

impl Answer {
    pub(super) fn has_ended(&self) -> bool {
        self.until != Micros::NEVER
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Affinity {
    pub(super) node: NodeRef,
    pub(super) until: Micros,
    pub(super) only: Option<u32>,
}

impl State {
    /// Opens a request and reserves a slot for it: affinity, preferred node, candidates in order,
    /// then the walk of the free index.
    pub(super) fn dispatch(&mut self, now: Micros, d: &Dispatch) -> Dispatched {
        assert!(d.attempt > 0, "attempts count from one");
        self.sweep(now);
        self.drop_old_answers(now);
        if let Some(repeated) = self.answered(now, d) {
            return Dispatched { outcome: repeated, affinity: AffinityOutcome::None, tried: 0 };
        }
        let mut tried = 0;
        let mut full = false;
        let mut affinity = AffinityOutcome::None;
        if let Some(node) = self.affinity_of(now, d.request, d.affinity) {
            tried += 1;
            match self.try_affinity(now, node, d) {
                Ok(()) => return self.granted(now, node.num, Via::Affinity, d, tried, affinity),
                Err(no) => {
                    full |= no == No::Full;
                    affinity = AffinityOutcome::Missed(cause(no));
                }
            }
        }
        let preferred = d.preferred.iter().map(|&num| (num, Via::Preferred));
        let candidates = d.candidates.as_slice().iter().map(|&num| (num, Via::Candidate));
        for (num, via) in preferred.chain(candidates) {
            tried += 1;
            match self.can_take(now, num, d) {
                Ok(()) => return self.granted(now, num, via, d, tried, affinity),
                Err(no) => full |= no == No::Full,
            }
        }
        if let Some(word) = d.scan {
            tried += 1;
            if let Some(num) = self.scan(now, word, d) {
                return self.granted(now, num, Via::Scan, d, tried, affinity);
            }
        }
        let none = !full && self.directory.fitting_count(d.needs) == 0;
        let refusal = if none { Refusal::NoFittingNode } else { Refusal::Full };
        Dispatched { outcome: Outcome::Refused(refusal), affinity, tried }
    }

    fn granted(
        &mut self,
        now: Micros,
        num: NodeNum,
        via: Via,
        d: &Dispatch,
        tried: u16,
        affinity: AffinityOutcome,
    ) -> Dispatched {
        let node = self.grant(now, num, d);
        let owner = self.nodes[num.index()].owner;
        let grant = Grant { node, owner, lease: d.lease, via };
        self.requests.insert(d.request, Answer { attempt: d.attempt, grant, until: Micros::NEVER });
        if self.config.pin_sessions {
            let pinned = Affinity { node, until: Micros::NEVER, only: None };
            self.affinities.insert(d.request.session, pinned);
        }
        let affinity = if via == Via::Affinity { AffinityOutcome::Kept } else { affinity };
        Dispatched { outcome: Outcome::Granted(grant), affinity, tried }
    }

    /// What the request was answered before, if this attempt adds nothing.
    fn answered(&mut self, now: Micros, d: &Dispatch) -> Option<Outcome> {
        let answer = *self.requests.get(&d.request).filter(|answer| answer.until > now)?;
        if answer.attempt > d.attempt {
            return Some(Outcome::Superseded);
        }
        if answer.attempt == d.attempt {
            return Some(Outcome::Repeated(answer.grant));
        }
        // A new attempt fences the former one: its slot is freed, its results no longer count.
        self.drop_lease(now, answer.grant.node.num, answer.grant.lease);
        self.end_request(now, d.request, answer.grant.lease);
        None
    }

    fn drop_lease(&mut self, now: Micros, num: NodeNum, lease: LeaseId) {
        let node = &mut self.nodes[num.index()];
        if let Some(at) = node.leases.iter().position(|l| l.id == lease) {
            node.leases.remove(at);
            node.counter = node.counter.saturating_sub(1);
            self.lease_total -= 1;
            self.sweep_node(now, num);
            self.refresh(num);
        }
    }

    pub(super) fn affinity_of(
        &self,
        now: Micros,
        request: RequestId,
        wanted: bool,
    ) -> Option<NodeRef> {
        let affinity = self.affinities.get(&request.session)?;
        let meant = affinity.only.is_none_or(|index| index == request.index);
        (wanted && meant && affinity.until > now).then_some(affinity.node)
    }

    /// The node that a session is tied to.
    pub fn affinity(&self, now: Micros, session: SessionId) -> Option<NodeRef> {
        let affinity = self.affinities.get(&session)?;
        (affinity.until > now).then_some(affinity.node)
    }

    fn try_affinity(&self, now: Micros, node: NodeRef, d: &Dispatch) -> Result<(), No> {
        // The deployed scheduler pins by name: it does not see that a node came back anew.
        if !self.config.pin_sessions && self.current(node).is_err() {
            return Err(No::Offline);
        }
        self.can_take(now, node.num, d)
    }

    pub(super) fn record_affinity(&mut self, now: Micros, record: &RecordAffinity) {
        let until = now + record.life;
        let affinity = Affinity { node: record.node, until, only: record.only };
        self.affinities.insert(record.session, affinity);
    }

    /// Marks a request as ended when its current lease is gone.
    pub(super) fn end_request(&mut self, now: Micros, request: RequestId, lease: LeaseId) {
        let Some(answer) = self.requests.get_mut(&request) else { return };
        if answer.grant.lease != lease || answer.has_ended() {
            return;
        }
        answer.until = now + self.config.answer_life;
        if self.config.answer_life == Micros::ZERO {
            self.requests.remove(&request);
        } else {
            self.ended.push_back((answer.until, request));
        }
    }

    fn drop_old_answers(&mut self, now: Micros) {
        for _ in 0..DROPS_PER_STEP {
            match self.ended.front() {
                Some(&(at, request)) if at <= now => {
                    self.ended.pop_front();
                    // A later attempt of the same request may live again, or be kept for longer.
                    if self.requests.get(&request).is_some_and(|answer| answer.until <= now) {
                        self.requests.remove(&request);
                    }
                }
                _ => break,
            }
        }
    }

    /// A fitting node that is free, whatever the policy sampled.
    pub fn free_for(&self, now: Micros, d: &Dispatch) -> Option<NodeNum> {
        self.scan(now, 0, d)
    }

    /// Forgets what a request was answered, as a store that lost the write would.
    pub fn forget(&mut self, request: RequestId) {
        self.requests.remove(&request);
        self.intents.by_request.remove(&request);
    }

    /// The node a session is tied to.
    pub fn affinity_node(&self, session: SessionId) -> Option<NodeRef> {
        self.affinities.get(&session).map(|affinity| affinity.node)
    }
}

pub(super) fn cause(no: No) -> MissCause {
    match no {
        No::Offline => MissCause::Offline,
        No::Unavailable => MissCause::Unavailable,
        No::Unfit => MissCause::LeftPool,
        No::Excluded => MissCause::Excluded,
        No::Full => MissCause::Full,
    }
}
