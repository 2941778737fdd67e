//! What may happen next in a world, and how often.

use super::super::*;
use super::world::{Life, Seat, World};

/// What may happen next. The number is the seat's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Its tick is due.
    Tick(usize),
    /// It hears the next event.
    Hear(usize),
    /// It never hears the next event.
    Lose(usize),
    /// It hears the event after the next one first.
    Overtake(usize),
    /// Its next step is executed and answered.
    Step(usize),
    /// It dies, and is taken for dead: until then it is as one whose turn never comes.
    Crash(usize),
    /// It stops, to wake or not.
    Freeze(usize),
    /// The coordinator takes it for dead.
    Lapse(usize),
    /// It goes on where it stopped, much later.
    Wake(usize),
    /// An operator puts it on the drain list.
    Drain(usize),
    /// And takes it off.
    EndDrain(usize),
    /// It begins to run its first duty that it may start.
    Run(usize),
    /// Its runs end.
    EndRuns(usize),
    /// A duty is made.
    Create,
    /// The first duty is removed.
    Remove,
}

/// How often what may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Budget {
    pub(super) crashes: u8,
    pub(super) freezes: u8,
    pub(super) losses: u8,
    pub(super) overtakes: u8,
    pub(super) drains: u8,
    pub(super) runs: u8,
    pub(super) creates: u8,
    pub(super) removes: u8,
}

/// A mistake, to see it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plant {
    /// None.
    Nothing,
    /// A claim is granted although somebody holds the duty.
    ClaimsDouble,
    /// One member too few is seen, so limits are too high.
    OneUnseen,
    /// A tick reads nothing.
    BlindTick,
    /// A lease is not looked at when an instance wakes.
    Sleepwalker,
    /// A claimer does not hear of runs.
    DeafToRuns,
}

impl World {
    /// All that may happen now.
    pub(super) fn actions(&self, into: &mut Vec<Action>) {
        use Action::*;
        let (budget, view) = (&self.budget, &self.view);
        let sometimes = |may: bool, action: Action, into: &mut Vec<Action>| {
            if may {
                into.push(action);
            }
        };
        if let Some(s) = self.seats.iter().position(|seat| self.is_alone(seat)) {
            self.local_actions(s, into);
            return;
        }
        for (s, seat) in self.seats.iter().enumerate() {
            self.local_actions(s, into);
            let member = view.members.iter().find(|m| m.membership.instance.0 as usize == s);
            let well = seat.life == Life::Well;
            sometimes(well && !seat.ops.is_empty(), Step(s), into);
            sometimes(!well && member.is_some(), Lapse(s), into);
            sometimes(seat.life == Life::Frozen, Wake(s), into);
            if self.last_round {
                continue;
            }
            let draining = member.map(|member| member.draining);
            sometimes(budget.drains > 0 && draining == Some(false), Drain(s), into);
            sometimes(budget.drains > 0 && draining == Some(true), EndDrain(s), into);
        }
        if !self.last_round {
            sometimes(budget.creates > 0, Create, into);
            sometimes(budget.removes > 0 && !view.duties.is_empty(), Remove, into);
        }
    }

    /// Whether only what the seat itself does next matters to it: nothing that it has sent waits to
    /// be executed, and something waits to be heard. All that others do meanwhile commutes with
    /// that, so that it may go first. What is removed is visible at once and is not put first; nor
    /// is a lone event that a later one may overtake.
    fn is_alone(&self, seat: &Seat) -> bool {
        let removed = |event: &Event| matches!(event.change, Change::Removed(_));
        seat.life == Life::Well
            && seat.ops.is_empty()
            && (seat.ticks > 0 || !seat.events.is_empty())
            && !seat.claimer.standing.is_over(seat.clock)
            && !seat.events.iter().any(removed)
            && (self.budget.overtakes == 0 || seat.events.len() != 1)
    }

    /// What a seat may do by itself.
    fn local_actions(&self, s: usize, into: &mut Vec<Action>) {
        use Action::*;
        let (seat, budget) = (&self.seats[s], &self.budget);
        if seat.life != Life::Well {
            return;
        }
        let mut sometimes = |may: bool, action: Action| into.extend(may.then_some(action));
        sometimes(seat.ticks > 0, Tick(s));
        sometimes(!seat.events.is_empty(), Hear(s));
        sometimes(!seat.runs.is_empty(), EndRuns(s));
        if self.last_round {
            return;
        }
        sometimes(!seat.events.is_empty() && budget.losses > 0, Lose(s));
        sometimes(seat.events.len() > 1 && budget.overtakes > 0, Overtake(s));
        // What a seat hears before it dies matters to nobody.
        sometimes(budget.crashes > 0 && !self.is_alone(seat), Crash(s));
        sometimes(budget.crashes > 0 && budget.freezes > 0, Freeze(s));
        let startable = |duty: &DutyId| {
            seat.claimer.may_start(seat.clock, *duty).is_some() && !seat.runs.contains(duty)
        };
        sometimes(budget.runs > 0 && seat.claimer.held().any(|duty| startable(&duty)), Run(s));
    }
}
