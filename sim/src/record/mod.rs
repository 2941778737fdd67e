//! What is counted while a run goes on.

mod accounts;
mod batches;
mod latency;
mod overselling;
mod series;

use std::collections::BTreeMap;

use lingua_core::instance::{Assign, Counters, Ending, Final, Output};
use lingua_core::{LookupMap, Micros, Pair};
use lingua_reports::run::{Affinity, BrokenSegments, Jobs};
use lingua_scenarios::Scheduler;

pub(crate) use accounts::PairCount;
pub(crate) use batches::standard_error;
pub use batches::{Batch, Batches};
pub(crate) use latency::Latencies;
use overselling::Overselling;
use series::Series;

/// A job whose final message has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owed {
    pub(crate) offered: Micros,
    pub(crate) pair: u32,
    pub(crate) counted: bool,
}

/// All counts of a run.
pub(crate) struct Recorder {
    // A buffer that is used again for each message.
    pub(crate) out: Vec<Output>,
    pub(crate) jobs: Jobs,
    pub(crate) refused_by_cause: BTreeMap<String, u64>,
    pub(crate) failed_by_cause: BTreeMap<String, u64>,
    pub(crate) affinity: Affinity,
    pub(crate) broken_segments: BrokenSegments,
    pub(crate) oversold_seconds: f64,
    pub(crate) overselling: Overselling,
    pub(crate) latencies: Latencies,
    pub(crate) series: Series,
    pub(crate) batches: Batches,
    pub(crate) dispatches: u64,
    pub(crate) heartbeats: u64,
    pub(crate) jobs_to_dead_nodes: u64,
    pub(crate) node_levels: Vec<u32>,
    pub(crate) counters: Counters,
    pub(crate) pairs: Vec<PairCount>,
    pair_numbers: LookupMap<Pair, u32>,
    marks: BTreeMap<&'static str, u64>,
    broken: BTreeMap<&'static str, u64>,
    hangs_noticed: (u64, Micros),
    completed_counted: u64,
}

impl Recorder {
    pub(crate) fn new(end: Micros, warmup: Micros, waits: bool) -> Self {
        Self {
            out: Vec::new(),
            jobs: Jobs::default(),
            refused_by_cause: BTreeMap::new(),
            failed_by_cause: BTreeMap::new(),
            affinity: Affinity::default(),
            broken_segments: BrokenSegments::default(),
            oversold_seconds: 0.0,
            overselling: Overselling::default(),
            latencies: Latencies::new(waits),
            series: Series::new(end),
            batches: Batches::new(warmup, end),
            dispatches: 0,
            heartbeats: 0,
            jobs_to_dead_nodes: 0,
            node_levels: Vec::new(),
            counters: Counters::default(),
            pairs: Vec::new(),
            pair_numbers: LookupMap::default(),
            marks: BTreeMap::new(),
            broken: BTreeMap::new(),
            hangs_noticed: (0, Micros::ZERO),
            completed_counted: 0,
        }
    }

    /// When the next row of the time series is due.
    pub(crate) fn row(&self) -> Micros {
        self.series.next_row()
    }

    /// A rare path was taken.
    pub(crate) fn mark(&mut self, name: &'static str) {
        *self.marks.entry(name).or_default() += 1;
    }

    pub(crate) fn marks(&self) -> &BTreeMap<&'static str, u64> {
        &self.marks
    }

    pub(crate) fn count_broken(&mut self, invariant: &'static str) {
        *self.broken.entry(invariant).or_default() += 1;
    }

    pub(crate) fn broken(&self) -> &BTreeMap<&'static str, u64> {
        &self.broken
    }

    /// A job has reached a node.
    pub(crate) fn arrived(
        &mut self,
        now: Micros,
        assign: &Assign,
        (counted, first): (bool, bool),
        scheduler: &Scheduler,
    ) {
        if !counted {
            return;
        }
        self.jobs.dispatched += 1;
        let span = first.then(|| self.latencies.arrived(now, assign, scheduler)).flatten();
        if let Some(span) = span {
            self.series.dispatched(span);
        }
    }

    /// A job's final message has reached its client.
    pub(crate) fn ended(&mut self, now: Micros, owed: &Owed, last: &Final) {
        self.series.ended(&last.ending);
        if !owed.counted {
            return;
        }
        self.batches.ended(owed.offered, now - last.sent, last);
        match last.ending {
            Ending::Answered | Ending::Silence | Ending::Merged => {
                self.jobs.completed += 1;
                self.completed_counted += 1;
                self.latencies.answered(now, last);
            }
            Ending::Refused(cause) => {
                self.jobs.refused += 1;
                self.pairs[owed.pair as usize].refused += 1;
                *self.refused_by_cause.entry(cause.name().into()).or_default() += 1;
            }
            Ending::Failed(cause) => {
                self.jobs.failed += 1;
                *self.failed_by_cause.entry(cause.name().into()).or_default() += 1;
            }
            Ending::TimedOut => self.jobs.timed_out += 1,
        }
    }

    pub(crate) fn store_latency(&mut self, span: Micros) {
        self.latencies.store(span);
    }

    pub(crate) fn hang_noticed(&mut self, after: Micros) {
        self.hangs_noticed.0 += 1;
        self.hangs_noticed.1 = self.hangs_noticed.1 + after;
    }

    pub(crate) fn failure_detection_s(&self) -> Option<f64> {
        let (count, total) = self.hangs_noticed;
        (count > 0).then(|| total.as_secs_f64() / count as f64)
    }

    /// Counts of an instance that ends, or of one at the end.
    pub(crate) fn retire(&mut self, counters: &Counters) {
        let all = &mut self.counters;
        all.stale_answers += counters.stale_answers;
        all.stale_generations += counters.stale_generations;
        all.gate_refused += counters.gate_refused;
        all.redispatched += counters.redispatched;
        all.rejoined += counters.rejoined;
        all.store_retries += counters.store_retries;
        all.late_grants += counters.late_grants;
        all.repeated_grants += counters.repeated_grants;
        all.moved += counters.moved;
        all.followed += counters.followed;
        all.fenced += counters.fenced;
        all.intents_lost += counters.intents_lost;
        all.merged += counters.merged;
        all.vanished_jobs += counters.vanished_jobs;
        all.model_losses += counters.model_losses;
    }
}
