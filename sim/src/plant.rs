//! Planted defects: they prove that the judges are awake.
//!
//! A scenario with `plant = "I4"` runs a scheduler that breaks I4 on purpose. The run must end with
//! exit code 5 and a command that replays it.

use lingua_core::claim::{Cause, Reply, Token, View};
use lingua_core::instance::Final;
use lingua_core::{
    AffinityOutcome, Dispatch, Dispatched, InstanceId, Micros, MissCause, Outcome, Refusal,
    StateConfig,
};
use lingua_scenarios::Plant;

/// Every so many chances, a planted defect strikes.
const EVERY: u64 = 40;

/// One planted defect.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Planted {
    plant: Option<Plant>,
    chances: u64,
}

/// What a defect does to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tamper {
    /// Nothing.
    None,
    /// The step is swallowed, though its reply says otherwise.
    Swallow,
    /// A lease is dropped right after it was granted.
    DropLease,
    /// The request's former answer is forgotten before the step.
    ForgetAnswer,
}

impl Planted {
    pub(crate) fn new(plant: Option<Plant>) -> Self {
        Self { plant, chances: 0 }
    }

    fn strikes(&mut self, plant: Plant) -> bool {
        if self.plant != Some(plant) {
            return false;
        }
        self.chances += 1;
        self.chances.is_multiple_of(EVERY)
    }

    /// Rules that the defect bends from the start.
    pub(crate) fn bend(&self, config: &mut StateConfig) {
        if self.plant == Some(Plant::I2) {
            config.lease = Micros::NEVER;
        }
    }

    /// Whether leases never end by themselves.
    pub(crate) fn is_endless(&self) -> bool {
        self.plant == Some(Plant::I2)
    }

    /// Whether the gate in front of the nodes is left open.
    pub(crate) fn opens_gate(&self) -> bool {
        self.plant == Some(Plant::I1)
    }

    pub(crate) fn on_release(&mut self) -> Tamper {
        if self.strikes(Plant::I2) { Tamper::Swallow } else { Tamper::None }
    }

    pub(crate) fn before_dispatch(&mut self, d: &Dispatch) -> Tamper {
        if self.forgets_answer(d.attempt) { Tamper::ForgetAnswer } else { Tamper::None }
    }

    /// Whether the request's former answer is forgotten before an attempt.
    pub(crate) fn forgets_answer(&self, attempt: u32) -> bool {
        // Second attempts are rare: each is a chance taken.
        self.plant == Some(Plant::I4) && attempt > 1
    }

    /// Bends the reply of a dispatch; tells what else to do.
    pub(crate) fn on_dispatched(&mut self, got: &mut Dispatched) -> Tamper {
        match got.outcome {
            Outcome::Repeated(ref mut grant) if self.plant == Some(Plant::I3) => {
                grant.node.generation += 1;
            }
            Outcome::Granted(_) if self.strikes(Plant::I1) => return Tamper::DropLease,
            Outcome::Granted(_) if self.strikes(Plant::I9) => {
                got.outcome = Outcome::Refused(Refusal::Full);
                return Tamper::DropLease;
            }
            _ => {}
        }
        if got.affinity == AffinityOutcome::Kept && self.strikes(Plant::I5) {
            got.affinity = AffinityOutcome::Missed(MissCause::LeftPool);
        }
        Tamper::None
    }

    /// Bends a reply about duties to an instance, or swallows it.
    pub(crate) fn on_reply(&self, to: InstanceId, reply: Reply) -> Option<Reply> {
        match (self.plant, reply) {
            // A token that no other has.
            (Some(Plant::I8), Reply::Taken(duty)) => {
                Some(Reply::Claimed(duty, Token(u64::from(u32::MAX))))
            }
            (Some(Plant::Coverage), Reply::View(Cause::Tick, _)) => None,
            (Some(Plant::Limit), Reply::View(cause, view)) => {
                let mut view = View::clone(&view);
                let other = view.members.iter().position(|m| m.membership.instance != to);
                other.map(|at| view.members.remove(at));
                Some(Reply::View(cause, view.into()))
            }
            (_, reply) => Some(reply),
        }
    }

    /// How often a final message is sent: once, unless the defect strikes.
    pub(crate) fn copies(&mut self, _last: &Final) -> u32 {
        if self.strikes(Plant::I6) { 2 } else { u32::from(!self.strikes(Plant::I7)) }
    }
}
