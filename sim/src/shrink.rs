//! Makes a failing scenario small: drops what it fails without.

use lingua_core::Micros;
use lingua_scenarios::{ArrivalGroup, Dur, Duties, Fault, Rate, Scenario, SessionGroup, StoreKind};

use crate::{Broken, Progress, Quiet, simulate};

/// Runs tried at most.
const TRIES_MAX: u32 = 400;
/// Parts of a number that are tried, the smallest first.
const PARTS: [Part; 5] = [Part(1, 10), Part(1, 4), Part(1, 2), Part(3, 4), Part(9, 10)];

/// So many out of so many.
#[derive(Debug, Clone, Copy)]
struct Part(u32, u32);

impl Part {
    /// Part of a number, at least one.
    fn of(self, count: u32) -> u32 {
        (u64::from(count) * u64::from(self.0) / u64::from(self.1)).max(1) as u32
    }

    fn of_rate(self, rate: &Rate) -> Rate {
        Rate::per_second(rate.max() * f64::from(self.0) / f64::from(self.1))
    }

    fn take_sessions(self, group: &mut SessionGroup) {
        group.count = group.count.map(|count| self.of(count));
        if let Some(rate) = group.rate.as_mut().filter(|rate| rate.is_constant()) {
            *rate = self.of_rate(rate);
        }
    }

    fn take_arrivals(self, group: &mut ArrivalGroup) {
        group.load = group.load.map(|load| load * f64::from(self.0) / f64::from(self.1));
        if let Some(rate) = group.rate.as_mut().filter(|rate| rate.is_constant()) {
            *rate = self.of_rate(rate);
        }
    }
}

/// What shrinking came to.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The smallest scenario found that still breaks the same invariant.
    pub scenario: Scenario,
    /// Runs tried.
    pub tries: u32,
}

/// Shrinks a scenario that broke an invariant as long as it still breaks the same.
pub fn shrink(scenario: &Scenario, broken: &Broken, progress: &mut dyn Progress) -> Shrunk {
    let mut best = scenario.clone();
    let mut breaks_at = broken.at;
    let mut tries = 0;
    let mut better = true;
    while better && tries < TRIES_MAX {
        better = false;
        for smaller in smaller_ones(&best, breaks_at) {
            if tries >= TRIES_MAX {
                break;
            }
            tries += 1;
            progress.at(Micros(u64::from(tries)), Micros(u64::from(TRIES_MAX)));
            let run = simulate(&smaller, "", &mut Quiet);
            let found = run.ok().and_then(|run| run.broken);
            if let Some(found) = found.filter(|found| found.invariant == broken.invariant) {
                best = smaller;
                breaks_at = found.at;
                better = true;
                break;
            }
        }
    }
    Shrunk { scenario: best, tries }
}

/// Candidates, the boldest first.
fn smaller_ones(from: &Scenario, breaks_at: Micros) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = from.clone();
        change(&mut smaller);
        mend(&mut smaller);
        if smaller != *from {
            all.push(smaller);
        }
    };
    add(&|s| s.faults.clear());
    for at in 0..from.faults.len() {
        add(&|s| drop(s.faults.remove(at)));
    }
    for at in 0..from.sessions.len() {
        add(&|s| drop(s.sessions.remove(at)));
    }
    for at in 0..from.arrivals.len() {
        add(&|s| drop(s.arrivals.remove(at)));
    }
    for at in 0..from.nodes.len() {
        if from.nodes.len() > 1 {
            add(&|s| drop(s.nodes.remove(at)));
        }
    }
    for part in PARTS {
        // Fewer nodes alone may not fail where fewer jobs at fewer nodes do.
        add(&|s| {
            s.nodes.iter_mut().for_each(|group| group.count = part.of(group.count));
            s.sessions.iter_mut().for_each(|group| part.take_sessions(group));
            s.arrivals.iter_mut().for_each(|group| part.take_arrivals(group));
        });
        for at in 0..from.nodes.len() {
            add(&|s| s.nodes[at].count = part.of(s.nodes[at].count));
        }
        for at in 0..from.sessions.len() {
            add(&|s| part.take_sessions(&mut s.sessions[at]));
        }
        for at in 0..from.arrivals.len() {
            add(&|s| part.take_arrivals(&mut s.arrivals[at]));
        }
    }
    if let Some(duties) = &from.duties {
        for part in PARTS {
            let fewer = Duties { count: part.of(duties.count), ..duties.clone() };
            add(&|s| s.duties = Some(fewer.clone()));
            let fewer = Duties { instances: part.of(duties.instances), ..duties.clone() };
            add(&|s| s.duties = Some(fewer.clone()));
        }
    }
    add(&|s| {
        s.scheduler.instances = 1;
        s.scheduler.store = StoreKind::Embedded;
    });
    if from.scheduler.instances > 2 {
        add(&|s| s.scheduler.instances = 2);
    }
    // Time comes last: a rare failure needs many chances while the scenario is still large.
    let break_ms = breaks_at.0 / 1_000 + 1;
    let all_ms = from.duration.micros() / 1_000;
    let parts = PARTS.map(|Part(some, all)| all_ms * u64::from(some) / u64::from(all));
    for ms in [break_ms].into_iter().chain(parts) {
        if ms > 0 && ms < all_ms {
            add(&|s| s.duration = Dur::from_micros(ms * 1_000));
        }
    }
    all
}

/// Makes a smaller scenario valid: what concerned things that are gone goes with them.
fn mend(scenario: &mut Scenario) {
    if scenario.warmup >= scenario.duration {
        scenario.warmup = Dur::ZERO;
    }
    let (end, instances) = (scenario.duration, scenario.instances());
    let nodes: u32 = scenario.nodes.iter().map(|group| group.count).sum();
    let faults = &mut scenario.faults;
    faults.retain(|fault| fault.at < end && fault.instance.unwrap_or(0) < instances);
    if scenario.duties.is_some() {
        let ends = |fault: &Fault| fault.at.nanos() + fault.lasts.map_or(0, Dur::nanos);
        faults.retain(|fault| ends(fault) <= end.nanos());
    }
    for fault in faults {
        fault.nodes = fault.nodes.map(|hit| hit.min(nodes));
    }
}
