//! What goes wrong, when, and to whom.

use lingua_core::Micros;
use lingua_core::claim::{Input, Op, Reply};
use lingua_reports::number;
use lingua_scenarios::{Fault, FaultKind, Scenario, Way};

use super::mail::Letter;
use super::{Event, World};
use crate::setup;
use crate::streams::Stream;

struct Planned {
    fault: Fault,
    instance: u16,
    active: bool,
}

/// All of one scenario.
pub(super) struct Faults(Vec<Planned>);

impl Faults {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let first = scenario.duties.as_ref().map_or(0, |duties| duties.instances);
        let mut joining = (first as u16)..;
        let planned = scenario.faults.iter().map(|fault| {
            let joins = (fault.kind == FaultKind::InstanceJoin).then(|| joining.next()).flatten();
            let instance = joins.unwrap_or_else(|| fault.instance.unwrap_or(0) as u16);
            Planned { fault: fault.clone(), instance, active: false }
        });
        Self(planned.collect())
    }

    fn active(&self, kind: FaultKind) -> impl Iterator<Item = &Fault> {
        let active = self.0.iter().filter(move |p| p.active && p.fault.kind == kind);
        active.map(|planned| &planned.fault)
    }

    fn probability(&self, kind: FaultKind) -> f64 {
        self.active(kind).filter_map(|fault| fault.probability).fold(0.0, f64::max)
    }

    pub(super) fn reply_loss(&self) -> f64 {
        self.probability(FaultKind::ReplyLoss)
    }

    pub(super) fn event_loss(&self) -> f64 {
        self.probability(FaultKind::EventLoss)
    }

    pub(super) fn delay_factor(&self) -> f64 {
        self.active(FaultKind::Delay).filter_map(|fault| fault.factor).fold(1.0, f64::max)
    }

    /// How much later than its turn an event arrives.
    pub(super) fn event_delay(&self, stream: &mut Stream) -> Micros {
        let Some(fault) = self.active(FaultKind::EventReorder).next() else {
            return Micros::ZERO;
        };
        let late = stream.uniform() < fault.probability.unwrap_or(1.0);
        fault.span.filter(|_| late).map_or(Micros::ZERO, setup::micros)
    }
}

impl World {
    pub(super) fn schedule_faults(&mut self) {
        for (at, planned) in self.faults.0.iter().enumerate() {
            let begins = setup::micros(planned.fault.at);
            self.queue.push(begins, Event::Fault(at as u16, true));
            if let Some(lasts) = planned.fault.lasts {
                self.queue.push(begins + setup::micros(lasts), Event::Fault(at as u16, false));
            }
        }
    }

    pub(super) fn fault(&mut self, at: u16, begins: bool) {
        let planned = &mut self.faults.0[usize::from(at)];
        planned.active = begins;
        let (fault, i) = (planned.fault.clone(), planned.instance);
        self.record.disturb(self.now, &in_words(&fault, i, begins));
        match (fault.kind, begins) {
            (FaultKind::InstanceCrash, true) => self.crash(i),
            (FaultKind::InstanceCrash, false) | (FaultKind::InstanceJoin, true) => self.start(i),
            (FaultKind::InstanceJoin, false) => self.leave(i),
            (FaultKind::InstanceFreeze, true) => self.freeze(i),
            (FaultKind::InstanceFreeze, false) => self.wake(i),
            (FaultKind::InstanceDrain, true) => {
                let instance = self.process(i).id();
                self.operate(&Op::Drain { instance, force: true });
            }
            (FaultKind::InstanceDrain, false) => {
                let instance = self.process(i).id();
                self.operate(&Op::EndDrain(instance));
            }
            (FaultKind::Partition, _) => {
                let cut = &mut self.process(i).cut;
                cut.up = begins && fault.way != Some(Way::FromStore);
                cut.down = begins && fault.way != Some(Way::ToStore);
            }
            (FaultKind::Delay, false) => {
                let ways = self.processes.iter().map(|p| p.up_until.max(p.down_until));
                self.judge.slow_until(ways.max().unwrap_or_default());
            }
            _ => {}
        }
    }

    /// An operator's step at the coordinator.
    fn operate(&mut self, op: &Op) {
        if let Reply::Unknown(_) = self.apply(op) {
            self.record.mark("drain_of_no_member");
        }
    }

    pub(super) fn start(&mut self, i: u16) {
        if self.process(i).up {
            return;
        }
        self.process(i).begin();
        self.schedule_tick(i);
    }

    fn crash(&mut self, i: u16) {
        self.process(i).end();
        self.record.stops_all(self.now, i);
    }

    /// A proper goodbye, where it is awake to say it.
    fn leave(&mut self, i: u16) {
        if self.process(i).is_awake() {
            self.tell(i, Input::Leave);
        }
        self.crash(i);
    }

    fn freeze(&mut self, i: u16) {
        if self.process(i).is_awake() {
            self.process(i).frozen = true;
            self.record.stops_all(self.now, i);
        }
    }

    /// It goes on where it stopped: what was about to be written is written, what has come is read,
    /// and what is due is done.
    fn wake(&mut self, i: u16) {
        let now = self.now;
        let process = self.process(i);
        if !process.frozen {
            return;
        }
        process.frozen = false;
        process.has_slept = true;
        let claimer = &process.claimer;
        let held: Vec<_> = claimer.held().filter(|&d| claimer.may_run(now, d).is_some()).collect();
        let overslept = std::mem::take(&mut process.overslept);
        let letters = std::mem::take(&mut process.inbox);
        for &duty in &held {
            self.record.resumes(now, duty, i);
            self.queue.push(now, Event::RunBegins(i, duty));
        }
        self.check_runner(i);
        // Nothing has told any of them yet that its lease is over.
        for &duty in &overslept {
            if let Some(run) = self.process(i).runs.remove(&duty) {
                self.send_up(i, Letter::Write(duty, run.token));
            }
        }
        overslept.into_iter().for_each(|duty| self.end_run(i, duty));
        letters.into_iter().for_each(|letter| self.read(letter));
        if self.process(i).claimer.next_deadline() <= now {
            self.tell(i, Input::Tick);
        }
        self.schedule_tick(i);
    }
}

/// As it stands in tables.
fn in_words(fault: &Fault, i: u16, begins: bool) -> String {
    let share = || number::percent(fault.probability.unwrap_or(1.0));
    let span = || fault.span.map_or_else(String::new, |span| span.to_string());
    let way = match fault.way {
        None => "",
        Some(Way::ToStore) => ", steps only",
        Some(Way::FromStore) => ", replies and events only",
    };
    let lasting = match fault.kind {
        FaultKind::InstanceCrash if begins => return format!("{i} dies"),
        FaultKind::InstanceCrash => return format!("{i} starts again"),
        FaultKind::InstanceJoin if begins => return format!("{i} joins"),
        FaultKind::InstanceJoin => return format!("{i} leaves"),
        FaultKind::InstanceFreeze if begins => return format!("{i} freezes"),
        FaultKind::InstanceFreeze => return format!("{i} wakes"),
        FaultKind::InstanceDrain => format!("drain of {i}"),
        FaultKind::Partition => format!("{i} is cut off{way}"),
        FaultKind::ReplyLoss => format!("{} of replies lost", share()),
        FaultKind::EventLoss => format!("{} of events lost", share()),
        FaultKind::EventReorder => format!("{} of events {} late", share(), span()),
        FaultKind::Delay => format!("letters {} times as slow", fault.factor.unwrap_or(1.0)),
        // The scenario format knows no other kind among duties.
        _ => String::new(),
    };
    if begins { lasting } else { format!("end: {lasting}") }
}
