//! The shards of one measured run put together.
//!
//! Accounts are added and histograms are added; percentiles are then read from the whole, never
//! averaged. What only one process can know of itself, such as its burstiness, is the worst of
//! all shards.

mod across;
mod belong;
mod parts;
mod rows;

use std::collections::BTreeMap;
use std::path::PathBuf;

use hdrhistogram::Histogram;

pub use self::belong::MergeError;
use crate::facts::{demand, ratio};
use crate::load::{Load, Shard};
use crate::metrics::{Bound, evaluate};
use crate::number::count;
use crate::run::{Artifacts, Expectation, Fairness, Machine, Run, SchedulerLoad, Verdict};
use crate::stats;
use crate::summary::{latencies, latency_histogram};

/// What one shard has left, and where.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its directory.
    pub place: PathBuf,
    /// What it holds.
    pub artifacts: Artifacts,
}

/// Puts all shards of a run together, in whatever order they are given.
///
/// Erlang B is left out: the load that each shard offered to slots of its own does not tell how
/// much the whole offered to all.
///
/// # Errors
/// The parts are not all shards of one run, each once.
pub fn merge(mut parts: Vec<Part>) -> Result<Artifacts, MergeError> {
    parts.sort_by_key(|part| belong::shard(part).index);
    let setting = belong::check(&parts)?;
    let whole: Vec<&Artifacts> = parts.iter().map(|part| &part.artifacts).collect();
    let runs: Vec<&Run> = whole.iter().map(|artifacts| &artifacts.run).collect();
    let loads: Vec<&Load> = runs.iter().filter_map(|run| run.load.as_ref()).collect();
    let histograms = histograms(&whole);
    let node_jobs: Vec<(String, u32, u64)> =
        whole.iter().flat_map(|artifacts| artifacts.node_jobs.iter().cloned()).collect();
    let slots: Vec<f64> = whole.iter().map(|artifacts| slots(artifacts)).collect();
    let first = runs[0];
    let (mut jobs, mut load) = (parts::jobs(&runs), parts::load(&loads));
    let invented = across::settle(&mut load, &mut jobs);
    let tightest = runs.iter().min_by(|a, b| a.headroom.total_cmp(&b.headroom));
    let mut run = Run {
        digest: shared(runs.iter().map(|run| &run.digest)),
        verdict: Verdict::Ok,
        reasons: Vec::new(),
        setting,
        carried_per_s: runs.iter().map(|run| run.carried_per_s).sum(),
        refused_ratio: ratio(jobs.refused, jobs.offered),
        refused_by_cause: parts::counts(runs.iter().map(|run| &run.refused_by_cause)),
        erlang_b: None,
        utilisation: rows::weighted(runs.iter().map(|run| run.utilisation), &slots),
        pairs: parts::pairs(&runs),
        affinity: parts::affinity(&runs),
        broken_segments: parts::broken_segments(&runs),
        fairness: fairness(&node_jobs),
        oversold: parts::oversold(&runs),
        latency_ms: latencies(&histograms),
        scheduler: scheduler(&runs),
        store: parts::store(&runs, jobs.offered),
        first_limit: tightest.map_or_else(String::new, |run| run.first_limit.clone()),
        headroom: tightest.map_or(0.0, |run| run.headroom),
        invariants: parts::counts(runs.iter().map(|run| &run.invariants)),
        sometimes: parts::counts(runs.iter().map(|run| &run.sometimes)),
        events: crate::facts::total(runs.iter().map(|run| run.events)),
        load: Some(load),
        jobs,
        ..first.clone()
    };
    judge(&mut run, &runs, invented);
    Ok(Artifacts {
        run,
        histograms,
        timeseries: rows::together(&whole, &slots),
        node_jobs,
        duties: Vec::new(),
        machine: machine(&whole),
        sample_s: whole[0].sample_s,
        warmup_s: whole[0].warmup_s,
    })
}

fn histograms(whole: &[&Artifacts]) -> BTreeMap<&'static str, Histogram<u64>> {
    let mut all: BTreeMap<&'static str, Histogram<u64>> = BTreeMap::new();
    for (name, part) in whole.iter().flat_map(|artifacts| &artifacts.histograms) {
        let sum = all.entry(name).or_insert_with(latency_histogram);
        // Both have the bounds of every latency of ours, so nothing can be out of range.
        let _ = sum.add(part);
    }
    all
}

fn slots(artifacts: &Artifacts) -> f64 {
    artifacts.node_jobs.iter().map(|(_, max_jobs, _)| f64::from(*max_jobs)).sum()
}

/// Jobs per slot, over the nodes of all shards.
fn fairness(nodes: &[(String, u32, u64)]) -> Fairness {
    let per_slot: Vec<f64> = nodes
        .iter()
        .map(|(_, max_jobs, jobs)| *jobs as f64 / f64::from(*max_jobs).max(1.0))
        .collect();
    let mean = stats::mean(&per_slot);
    let max = per_slot.iter().copied().fold(0.0, f64::max);
    let max_over_mean = if mean > 0.0 { max / mean } else { 1.0 };
    Fairness { max_over_mean, jain: stats::jain(&per_slot) }
}

/// All shards load the same scheduler: of what each saw of it, the worst counts.
fn scheduler(runs: &[&Run]) -> SchedulerLoad {
    let worst = |of: fn(&SchedulerLoad) -> f64| {
        runs.iter().map(|run| of(&run.scheduler)).fold(0.0, f64::max)
    };
    let detections = runs.iter().filter_map(|run| run.scheduler.failure_detection_s);
    SchedulerLoad {
        instances: runs.iter().map(|run| run.scheduler.instances).max().unwrap_or_default(),
        busy: worst(|load| load.busy),
        lock_wait: worst(|load| load.lock_wait),
        queue_max: runs.iter().map(|run| run.scheduler.queue_max).max().unwrap_or_default(),
        heartbeats_per_s: runs.iter().map(|run| run.scheduler.heartbeats_per_s).sum(),
        failure_detection_s: detections.reduce(f64::max),
        jobs_to_dead_nodes: runs.iter().map(|run| run.scheduler.jobs_to_dead_nodes).sum(),
    }
}

fn machine(whole: &[&Artifacts]) -> Machine {
    let machines = || whole.iter().map(|artifacts| &artifacts.machine);
    let jobs: f64 = whole.iter().map(|artifacts| artifacts.run.jobs.offered as f64).sum();
    let wall_s = machines().map(|machine| machine.wall_s).fold(0.0, f64::max);
    let list = |of: fn(&Machine) -> &str| {
        let mut names: Vec<&str> = machines().map(of).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    Machine {
        wall_s,
        events_per_s: machines().map(|machine| machine.events_per_s).sum(),
        ns_per_job: wall_s * 1e9 / jobs.max(1.0),
        peak_rss_mib: machines().filter_map(|machine| machine.peak_rss_mib).reduce(f64::max),
        processor: list(|machine| &machine.processor),
        host: list(|machine| &machine.host),
        threads: machines().map(|machine| machine.threads).sum(),
    }
}

/// What all have, else nothing.
fn shared<'a>(mut values: impl Iterator<Item = &'a String>) -> String {
    let first = values.next().cloned().unwrap_or_default();
    if values.all(|value| *value == first) { first } else { String::new() }
}

/// The worst verdict of a shard stands; expectations are held against the whole alone, and so are
/// answers that no node of any shard has made.
fn judge(run: &mut Run, runs: &[&Run], invented: u64) {
    let bound = |e: &Expectation| Bound { metric: e.metric.clone(), min: e.min, max: e.max };
    let bounds: Vec<Bound> = run.expectations.iter().map(bound).collect();
    run.expectations = evaluate(run, &bounds);
    for shard in runs {
        if matches!(shard.verdict, Verdict::Ok | Verdict::ExpectationFailed) {
            continue;
        }
        let name = shard.load.as_ref().map_or_else(Shard::default, |load| load.shard);
        run.reasons.extend(shard.reasons.iter().map(|reason| format!("shard {name}: {reason}")));
    }
    if invented > 0 {
        let invented = count(invented);
        run.reasons.push(format!("I6: {invented} results were of no node's making in any shard"));
    }
    let has = |verdict| runs.iter().any(|shard| shard.verdict == verdict);
    // In the order of a single run: what was not measured well has broken nothing.
    run.verdict = if has(Verdict::Void) {
        Verdict::Void
    } else if invented > 0 || has(Verdict::InvariantBroken) {
        Verdict::InvariantBroken
    } else if run.expectations.iter().all(|expectation| expectation.met) {
        Verdict::Ok
    } else {
        let missed = run.expectations.iter().filter(|expectation| !expectation.met);
        let told = missed.map(|missed| format!("{} should be {}", missed.metric, demand(missed)));
        run.reasons.extend(told.collect::<Vec<_>>());
        Verdict::ExpectationFailed
    };
}

#[cfg(test)]
mod tests;
