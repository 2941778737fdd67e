//! Duties among instances: who does the work that exactly one may do at a time.
//!
//! - [`limit`] says how many duties an instance acquires, so that enough room is left when
//!   [`Tolerance`] of them die at once; [`Plan`] says which deaths a deployment survives.
//! - [`Claimer`] is one instance's part, sans-IO: events, replies and ticks go in by
//!   [`Claimer::handle`]; steps for the coordinator and orders for the process come out.
//! - [`ClaimBoard`] is the coordinator in this process. Its steps, [`Op`], are what a shared one
//!   executes.
//!
//! Every claim is one atomic step, and each has a fencing token larger than all before. Events only
//! say that something has changed: each causes all to be read, and so does a tick, so a lost one
//! costs at most a tick. Where the view is wrong nonetheless, duties that nobody holds age and
//! raise the limits.

mod board;
mod duties;
mod limit;
mod membership;
mod message;
#[cfg(test)]
mod model;
mod plan;
mod scan;

use std::collections::{BTreeMap, BTreeSet};

use crate::{InstanceId, Micros, RankSet};

use duties::{Claim, Held};
use membership::Standing;
use scan::Known;

pub use board::ClaimBoard;
pub use limit::{Tolerance, ToleranceError, limit};
pub use message::*;
pub use plan::{Deaths, Plan, PlanError};

/// Rules of a [`Claimer`].
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimConfig {
    /// Its name among the instances.
    pub instance: InstanceId,
    /// How many may die at once.
    pub tolerance: Tolerance,
    /// Alarm threshold M: acquiring more duties than this raises an alarm.
    pub alarm_above: usize,
    /// Shortest span between two alarms.
    pub alarm_debounce: Micros,
    /// Life of the membership without renewal.
    pub lease: Micros,
    /// Span between two recounts, which also renew; less than half of the lease.
    pub tick: Micros,
    /// At how many ticks in a row a duty must be seen unclaimed before it raises the limit, from 1.
    pub patience: u32,
    /// How many claims one view is good for, from 1. More read less; fewer meet less that others
    /// have taken since.
    pub claims_per_view: usize,
}

impl ClaimConfig {
    /// The usual rules: tolerance 1, lease 10 s, a tick every 2 s, patience of two ticks, and no
    /// alarm.
    pub fn new(instance: InstanceId) -> Self {
        Self {
            instance,
            tolerance: Tolerance::ONE,
            alarm_above: usize::MAX,
            alarm_debounce: Micros::secs(60),
            lease: Micros::secs(10),
            tick: Micros::secs(2),
            patience: 2,
            claims_per_view: 32,
        }
    }
}

/// What an instance is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// Something has changed at the coordinator.
    Event(Event),
    /// The coordinator has answered a step.
    Reply(Reply),
    /// The process has begun a run of a duty.
    RunStarted(DutyId),
    /// The run is over.
    RunEnded(DutyId),
    /// An operator wants the duty held here, whatever the limit.
    Acquire(DutyId),
    /// An operator wants the duty held elsewhere.
    Release(DutyId),
    /// Give up all and do not come back.
    Leave,
    /// A deadline has come.
    Tick,
}

/// What an instance wants done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// A step for the coordinator.
    Op(Op),
    /// The duty is held here from now on. What its runs write carries the token.
    Start(DutyId, Token),
    /// The duty is handed over once its run has ended: begin no other.
    Finish(DutyId),
    /// It is not: begin runs again.
    Resume(DutyId),
    /// The duty is not held here any more: end its run at once if there is one.
    Stop(DutyId),
    /// So many duties are held, more than the alarm threshold.
    Alarm(usize),
    /// An operator's wish cannot be met.
    Refused(DutyId, Refusal),
    /// On the drain list, and nothing is held any more.
    Drained,
}

/// Why an operator's wish cannot be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The instance is no member at present.
    #[error("this instance is no member at present; try again in a few seconds")]
    NoMember,
    /// The instance is on the drain list.
    #[error("this instance is on the drain list; take it off, or choose another instance")]
    Draining,
    /// Another instance holds the duty, or there is no such duty.
    #[error("another instance holds the duty, or there is no such duty; release it there first")]
    Taken,
    /// The duty is not held here.
    #[error("this instance does not hold the duty; release it where it is held")]
    NotHeld,
}

/// The surroundings of one [`Claimer::handle`].
pub struct Cx<'a> {
    /// The instance's own time; only spans matter.
    pub now: Micros,
    /// A random word: which unclaimed duty comes next.
    pub word: u32,
    /// What is to be done, appended.
    pub out: &'a mut Vec<Output>,
}

impl Cx<'_> {
    fn op(&mut self, op: Op) {
        self.out.push(Output::Op(op));
    }
}

/// One instance's part in sharing the duties.
#[derive(Debug, Clone)]
pub struct Claimer {
    config: ClaimConfig,
    standing: Standing,
    next_tick: Micros,
    // Counted by events since the last recount.
    known: Known,
    // The limit by the latest view.
    seen_limit: usize,
    // At how many ticks in a row duties were seen unclaimed, and by how much that raises the limit.
    ages: BTreeMap<DutyId, u32>,
    raise: usize,
    // A read for an event is under way, and whether another event has come since.
    looking: bool,
    look_again: bool,
    // Unclaimed by the latest view and not tried yet.
    candidates: RankSet,
    claims_left: usize,
    claims: BTreeMap<DutyId, Claim>,
    held: BTreeMap<DutyId, Held>,
    releasing: BTreeMap<DutyId, Token>,
    // Released by an operator: others come first.
    yielded: BTreeSet<DutyId>,
    draining: bool,
    told_drained: bool,
    alarmed_at: Option<Micros>,
}

impl Claimer {
    /// An instance that has not joined yet; its first tick does.
    ///
    /// # Panics
    /// When the tick is zero, the lease does not outlast two of them, or
    /// `patience` or `claims_per_view` is zero.
    pub fn new(config: ClaimConfig) -> Self {
        let two_ticks = config.tick + config.tick;
        assert!(config.tick > Micros::ZERO && config.lease > two_ticks, "0 < 2 ticks < lease");
        assert!(config.patience > 0, "a duty just seen unclaimed has not aged");
        assert!(config.claims_per_view > 0, "a view is good for a claim");
        Self {
            config,
            standing: Standing::Out,
            next_tick: Micros::ZERO,
            known: Known::default(),
            seen_limit: 0,
            ages: BTreeMap::new(),
            raise: 0,
            looking: false,
            look_again: false,
            candidates: RankSet::default(),
            claims_left: 0,
            claims: BTreeMap::new(),
            held: BTreeMap::new(),
            releasing: BTreeMap::new(),
            yielded: BTreeSet::new(),
            draining: false,
            told_drained: false,
            alarmed_at: None,
        }
    }

    /// Takes one event.
    pub fn handle(&mut self, cx: &mut Cx<'_>, input: Input) {
        if self.standing.is_over(cx.now) {
            self.give_up(cx);
        }
        match input {
            Input::Event(event) => self.take_event(cx, event),
            Input::Reply(reply) => self.take_reply(cx, reply),
            Input::RunStarted(duty) => self.run_started(duty),
            Input::RunEnded(duty) => self.run_ended(cx, duty),
            Input::Acquire(duty) => self.acquire(cx, duty),
            Input::Release(duty) => self.yield_duty(cx, duty),
            Input::Leave => self.leave(cx),
            Input::Tick => self.tick(cx),
        }
        self.claim_next(cx);
        self.tell_drained(cx);
    }

    /// When the next tick is due.
    pub fn next_deadline(&self) -> Micros {
        match self.standing {
            Standing::Gone => Micros::NEVER,
            Standing::In { until, .. } => self.next_tick.min(until),
            Standing::Out => self.next_tick,
        }
    }

    /// The token by which a run of a duty may go on at `now`: it is held, and the membership's
    /// lease is good by this instance's own clock.
    pub fn may_run(&self, now: Micros, duty: DutyId) -> Option<Token> {
        let held = self.held.get(&duty)?;
        (!self.standing.is_over(now)).then_some(held.token)
    }

    /// As [`Claimer::may_run`], for a new run: not while the duty is being handed over.
    pub fn may_start(&self, now: Micros, duty: DutyId) -> Option<Token> {
        self.may_run(now, duty).filter(|_| self.held[&duty].is_staying())
    }

    /// Until when the membership is good by this instance's own clock; absent: it is none.
    pub fn good_until(&self) -> Option<Micros> {
        match self.standing {
            Standing::In { until, .. } => Some(until),
            Standing::Out | Standing::Gone => None,
        }
    }

    /// The duties held, sorted.
    pub fn held(&self) -> impl ExactSizeIterator<Item = DutyId> + '_ {
        self.held.keys().copied()
    }

    /// The most duties that it acquires by what it knows now: the larger of the last known and
    /// the recomputed limit, raised by unclaimed duties that have aged.
    pub fn limit(&self) -> usize {
        let known = limit(self.known.duties(), self.known.instances(), self.config.tolerance);
        known.max(self.seen_limit).saturating_add(self.raise)
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.next_tick = cx.now + self.config.tick;
        match self.standing {
            Standing::Gone => {}
            Standing::Out => self.join(cx),
            Standing::In { membership, .. } => {
                cx.op(Op::Renew(membership, cx.now));
                self.repeat_lost_steps(cx);
                self.look(cx, Cause::Tick);
            }
        }
    }

    fn take_reply(&mut self, cx: &mut Cx<'_>, reply: Reply) {
        match reply {
            Reply::Joined(membership, sent) => self.joined(cx, membership, sent),
            Reply::Renewed(membership, sent) => self.renewed(membership, sent),
            Reply::Ended(membership) => {
                if self.standing.membership() == Some(membership) {
                    self.give_up(cx);
                }
            }
            Reply::View(cause, view) => self.take_view(cx, cause, &view),
            Reply::Claimed(duty, token) => self.claimed(cx, duty, token),
            Reply::Taken(duty) => self.taken(cx, duty),
            Reply::Released(duty, token) => self.released(duty, token),
            Reply::Duplicate
            | Reply::Full
            | Reply::Draining(_)
            | Reply::Unknown(_)
            | Reply::Done => {}
        }
    }
}
