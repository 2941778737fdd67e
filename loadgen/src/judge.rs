//! The verdict: is the measurement sound, what did the scheduler break, what was expected?

use lingua_reports::facts;
use lingua_reports::load::Load;
use lingua_reports::metrics::{self, Bound};
use lingua_reports::number::{count, decimal, percent};
use lingua_reports::run::{Run, Verdict};
use lingua_scenarios::{CapacityCheck, Policy, Preset, Scenario};

use crate::{Options, Profile, plays};

/// Planned utterances that must have been sent, those apart whose socket the scheduler had closed.
const ACHIEVED: f64 = 0.99;
/// Share of its one core at which a generator is a bottleneck.
const BUSY: f64 = 0.95;
/// Share of the time in want of a processor that explains a late generator.
const STARVED: f64 = 0.1;

/// Times the limit of most frames at which a single one is too late: a generator that stands still
/// for a second delays too few frames to show in a percentile.
const STALL: f64 = 20.0;

/// Judges a run that is complete but for its verdict. `stopped`: why it ended early, if it did.
pub(crate) fn judge(
    run: &mut Run,
    scenario: &Scenario,
    options: &Options,
    stopped: Option<String>,
) {
    let profile = options.profile;
    let Some(load) = run.load.clone() else { return };
    run.expectations = metrics::evaluate(run, &bounds(scenario, options));
    let mut void: Vec<String> = stopped.into_iter().collect();
    void.extend(unsound(run, &load, options.lag_max.as_secs_f64() * 1e3));
    let promises = Promises::of(scenario, profile);
    let mut broken = Vec::new();
    for (name, promised, number, what) in breaches(run, &load) {
        if number == 0 {
            continue;
        }
        if promised(&promises) {
            broken.push(format!("{name}: {what}"));
        } else {
            *run.invariants.entry(name.to_owned()).or_default() += number;
        }
    }
    let missed = run.expectations.iter().filter(|expectation| !expectation.met);
    let missed: Vec<String> =
        missed.map(|e| reason(&load, &e.metric).unwrap_or_else(|| facts::demand(e))).collect();
    run.verdict = if !void.is_empty() {
        Verdict::Void
    } else if !broken.is_empty() {
        Verdict::InvariantBroken
    } else if !missed.is_empty() {
        Verdict::ExpectationFailed
    } else {
        Verdict::Ok
    };
    run.reasons = [void, broken, missed].concat();
}

/// What a configuration promises, seen from outside.
struct Promises {
    capacity: bool,
    affinity: bool,
    one_final: bool,
}

impl Promises {
    fn of(scenario: &Scenario, profile: Profile) -> Self {
        let rules = &scenario.scheduler;
        let deployed = profile == Profile::Deployed || rules.preset == Some(Preset::Deployed);
        let blind = matches!(rules.policy, Policy::TwoLevelRandom | Policy::FirstOnline);
        Self {
            capacity: rules.capacity_check == CapacityCheck::Lease && !blind && !deployed,
            affinity: !deployed,
            one_final: !deployed,
        }
    }
}

type Promised = fn(&Promises) -> bool;

/// What must never happen: the invariant, whether it is promised, how often, in words.
fn breaches(run: &Run, load: &Load) -> Vec<(&'static str, Promised, u64, String)> {
    let (jobs, oversold) = (&run.jobs, &run.oversold);
    let finding = |name: &str| load.findings.get(name).copied().unwrap_or(0);
    let one_final: Promised = |promises| promises.one_final;
    let always: Promised = |_| true;
    let told = |number: u64, what: &str| format!("{} {what}", count(number));
    let mut all = vec![(
        "I1",
        (|promises| promises.capacity) as Promised,
        oversold.assignments,
        format!(
            "{} oversold {} nodes, by at most {} above max_jobs and for {} excess seconds",
            count(oversold.assignments),
            count(oversold.nodes),
            oversold.max_excess,
            decimal(oversold.excess_seconds)
        ),
    )];
    let affinity = run.affinity.violated;
    let what = "jobs went elsewhere although their session's node was there and free";
    all.push(("I5", |promises| promises.affinity, affinity, told(affinity, what)));
    for (number, what) in [
        (jobs.duplicate, "answers came a second time"),
        (jobs.reordered, "answers came after a later one"),
        (finding("wrong_session"), "answers came to another session"),
        (finding("wrong_language"), "jobs or answers were in a language that nobody there chose"),
        (finding("assigned_twice"), "jobs were given out twice as the same attempt"),
        (finding("stale_result"), "results of an attempt that was over were passed on"),
        (finding("chunk_in_two_jobs"), "chunks were in two jobs"),
        (finding("unknown_result"), "results were of no node's making"),
    ] {
        all.push(("I6", one_final, number, told(number, what)));
    }
    for (number, what) in [
        (jobs.lost, "answers of nodes never reached their client"),
        (finding("never_answered"), "utterances never got any answer"),
        (load.chunks.lost, "chunks were in no job and in no refusal"),
        (finding("mixed_job"), "jobs skipped chunks or mixed sessions"),
    ] {
        all.push(("I7", always, number, told(number, what)));
    }
    all
}

/// Why a measurement cannot be trusted.
fn unsound(run: &Run, load: &Load, lag_max_ms: f64) -> Vec<String> {
    let mut why = Vec::new();
    let sockets = [("node", &load.nodes), ("session", &load.sessions)];
    for (kind, book) in sockets {
        if book.requested > 0 && book.established == 0 {
            let cause = facts::by_cause(&book.failed);
            why.push(format!("unreachable target: no {kind} socket opened ({cause})"));
        }
        for cause in ["out of descriptors", "out of ports"] {
            if let Some(&times) = book.failed.get(cause) {
                why.push(format!("{kind} sockets: {cause}, {} times", count(times)));
            }
        }
    }
    let foreign = load.findings.get("foreign_job").copied().unwrap_or(0);
    if foreign > 0 {
        why.push(format!(
            "{} jobs of others reached our nodes, which refused them and withdrew",
            count(foreign)
        ));
    }
    let unsent = run.jobs.never_sent.saturating_sub(load.unsent_by_close);
    if unsent as f64 > (1.0 - ACHIEVED) * run.jobs.offered as f64 {
        let by_close = match load.unsent_by_close {
            0 => String::new(),
            closed => format!("; {} more lacked a socket that the scheduler closed", count(closed)),
        };
        why.push(format!(
            "unreachable rate: {} of the planned {} utterances/s were sent{}{by_close}",
            percent(load.achieved),
            decimal(load.planned_per_s),
            cause(load)
        ));
    }
    if load.own_lag_p99_ms > lag_max_ms {
        let late = decimal(load.own_lag_p99_ms);
        why.push(format!("send lag: 1 % of frames left {late} ms late or more{}", cause(load)));
    }
    if load.own_lag_max_ms > STALL * lag_max_ms {
        let late = decimal(load.own_lag_max_ms);
        why.push(format!("stall: the generator stood still for {late} ms{}", cause(load)));
    }
    if load.generator_cpu.is_some_and(|busy| busy > BUSY) {
        let busy = percent(load.generator_cpu.unwrap_or(0.0));
        why.push(format!("busy core: the generator used {busy} of its one core; add shards"));
    }
    if run.jobs.balance() != 0 {
        why.push(format!("the accounts do not add up: {} unexplained", run.jobs.balance()));
    }
    why
}

/// What may have made the generator late.
fn cause(load: &Load) -> String {
    match (load.generator_starved, load.generator_cpu) {
        (Some(starved), _) if starved > STARVED => {
            format!("; the generator waited {} of the time for a core", percent(starved))
        }
        (_, Some(busy)) => format!("; the generator used {} of its core", percent(busy)),
        _ => String::new(),
    }
}

/// The scenario's expectations, and those that every scheduler of ours must meet.
fn bounds(scenario: &Scenario, options: &Options) -> Vec<Bound> {
    let bound = |expect: &lingua_scenarios::Expect| Bound {
        metric: expect.metric.clone(),
        min: expect.min,
        max: expect.max,
    };
    let mut bounds: Vec<Bound> = scenario.expect.iter().map(bound).collect();
    let faulty = scenario.faults.iter().any(|fault| plays(fault, options));
    if options.profile == Profile::Deployed || faulty {
        return bounds;
    }
    for metric in [FREEZES, NODES_DROPPED, SESSIONS_DROPPED, SKEWED] {
        if !bounds.iter().any(|bound| bound.metric == metric) {
            bounds.push(Bound { metric: metric.to_owned(), min: None, max: Some(0.0) });
        }
    }
    bounds
}

const FREEZES: &str = "load.freezes.count";
const NODES_DROPPED: &str = "load.nodes.closed_silently";
const SESSIONS_DROPPED: &str = "load.sessions.closed_silently";
const SKEWED: &str = "load.skew.nodes";

/// A missed expectation in words, where it is one of every run.
fn reason(load: &Load, metric: &str) -> Option<String> {
    let dropped = |number: u64, kind: &str| {
        format!("the scheduler dropped {} {kind} sockets without a close frame", count(number))
    };
    match metric {
        FREEZES => Some(format!(
            "the scheduler froze: {} times nothing came although something was due, for up to {} s",
            count(load.freezes.count),
            decimal(load.freezes.longest_s)
        )),
        NODES_DROPPED => Some(dropped(load.nodes.closed_silently, "node")),
        SESSIONS_DROPPED => Some(dropped(load.sessions.closed_silently, "session")),
        SKEWED => Some(format!(
            "skew: {} nodes got far more than their equals, up to {} standard deviations of chance",
            count(load.skew.nodes),
            decimal(load.skew.sigmas)
        )),
        _ => None,
    }
}
