//! Makes a failing scenario small: drops what it fails without.

use lingua_core::Micros;
use lingua_scenarios::{Dur, Rate, Scenario, StoreKind};

use crate::{Progress, Quiet, simulate};

/// Runs tried at most.
const TRIES_MAX: u32 = 400;

/// What shrinking came to.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The smallest scenario found that still breaks the same invariant.
    pub scenario: Scenario,
    /// Runs tried.
    pub tries: u32,
}

/// Shrinks a scenario that breaks `invariant` as long as it still does.
pub fn shrink(scenario: &Scenario, invariant: &str, progress: &mut dyn Progress) -> Shrunk {
    let mut best = scenario.clone();
    let mut tries = 0;
    let mut better = true;
    while better && tries < TRIES_MAX {
        better = false;
        for smaller in smaller_ones(&best) {
            if tries >= TRIES_MAX {
                break;
            }
            tries += 1;
            progress.at(Micros(u64::from(tries)), Micros(u64::from(TRIES_MAX)));
            let run = simulate(&smaller, "", &mut Quiet);
            let broken = run.ok().and_then(|run| run.broken);
            if broken.is_some_and(|broken| broken.invariant == invariant) {
                best = smaller;
                better = true;
                break;
            }
        }
    }
    Shrunk { scenario: best, tries }
}

/// Candidates, the boldest first.
fn smaller_ones(from: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = from.clone();
        change(&mut smaller);
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
    for by in [10, 4, 2] {
        for at in 0..from.nodes.len() {
            add(&|s| s.nodes[at].count = (s.nodes[at].count / by).max(1));
        }
        for at in 0..from.sessions.len() {
            add(&|s| {
                let count = &mut s.sessions[at].count;
                *count = count.map(|count| (count / by).max(1));
            });
        }
        for at in 0..from.arrivals.len() {
            add(&|s| {
                let arrivals = &mut s.arrivals[at];
                arrivals.load = arrivals.load.map(|load| load / f64::from(by));
                let constant = arrivals.rate.as_ref().filter(|rate| rate.is_constant());
                let slower = constant.map(|rate| Rate::per_second(rate.max() / f64::from(by)));
                arrivals.rate = slower.or_else(|| arrivals.rate.take());
            });
        }
        let shorter = Dur::from_micros(from.duration.micros() / u64::from(by));
        if shorter > from.warmup {
            add(&|s| s.duration = shorter);
        }
    }
    add(&|s| {
        s.scheduler.instances = 1;
        s.scheduler.store = StoreKind::Embedded;
    });
    if from.scheduler.instances > 2 {
        add(&|s| s.scheduler.instances = 2);
    }
    all
}
