//! The Run record: what a run leaves in `run.json` (DESIGN section 7).
//!
//! Both ways of running, by simulation and by real sockets, fill the same record,
//! so that prediction and measurement can be laid side by side.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::duties::{Duties, DutySample};
use crate::load::Load;

/// Version of the schema of `run.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of this schema.
    pub schema_version: u32,
    /// Version of the tool.
    pub tool_version: String,
    /// Simulated or measured.
    pub kind: Kind,
    /// Which scenario.
    pub scenario: ScenarioRef,
    /// Seed of every random stream.
    pub seed: u64,
    /// Rolling hash over all events, hexadecimal.
    pub digest: String,
    /// Hash over the arrival plan alone; runs are paired only where it is equal.
    pub arrivals_digest: String,
    /// How it ended.
    pub verdict: Verdict,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
    /// Counted part of the run in seconds, warm-up excluded.
    pub duration_s: f64,
    /// Settings worth seeing beside the numbers: policy, nodes, slots, instances ...
    pub setting: BTreeMap<String, String>,
    /// Accounts of jobs.
    pub jobs: Jobs,
    /// Answered jobs per second of the counted part.
    pub carried_per_s: f64,
    /// refused / offered.
    pub refused_ratio: f64,
    /// Refusals by cause.
    pub refused_by_cause: BTreeMap<String, u64>,
    /// Erlang B over all slots: the floor no scheduler without a queue can beat, where it applies.
    pub erlang_b: Option<f64>,
    /// Busy slots / all slots, time average.
    pub utilisation: f64,
    /// Per directed pair.
    pub pairs: Vec<PairRow>,
    /// Affinity accounts.
    pub affinity: Affinity,
    /// Segments whose buffered tail was lost, and the speech in them.
    pub broken_segments: BrokenSegments,
    /// Fairness over nodes.
    pub fairness: Fairness,
    /// Overselling.
    pub oversold: Oversold,
    /// Latency summaries.
    pub latency_ms: Latencies,
    /// The scheduler instances as servers with a queue.
    pub scheduler: SchedulerLoad,
    /// The store.
    pub store: StoreLoad,
    /// What gives way first: `slots of pair X`, `scheduler CPU`, `store`, `network`, `sockets`, `p99`.
    pub first_limit: String,
    /// Share of capacity still unused before `first_limit` gives way, 0..=1.
    pub headroom: f64,
    /// How often each invariant that is not promised was broken (promised ones end the run).
    pub invariants: BTreeMap<String, u64>,
    /// How often each rare path was reached.
    pub sometimes: BTreeMap<String, u64>,
    /// Where inputs come from: `measured` or `assumed`, by name.
    pub inputs: BTreeMap<String, String>,
    /// Expectations and what was found.
    pub expectations: Vec<Expectation>,
    /// Events that passed the queue.
    pub events: u64,
    /// How the load was made, and what was seen besides (real sockets only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Who held which duties (scenarios of duties only, which have no jobs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duties: Option<Duties>,
}

/// Simulated or measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// By the simulator.
    Sim,
    /// By the load generator.
    Load,
}

/// Which scenario was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRef {
    /// Its title.
    pub name: String,
    /// SHA-256 of the scenario as run (file, overrides and the CSV files it reads), hexadecimal.
    pub sha256: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Fine.
    Ok,
    /// An expectation of the scenario failed.
    ExpectationFailed,
    /// The measurement cannot be trusted.
    Void,
    /// A promised invariant broke.
    InvariantBroken,
}

/// Accounts of jobs of the counted part; they add up (see [`Jobs::balance`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jobs {
    /// Wanted by the plan.
    pub offered: u64,
    /// Given to a node (attempts).
    pub dispatched: u64,
    /// Answered.
    pub completed: u64,
    /// Ended by a typed failure.
    pub failed: u64,
    /// Refused for want of a node.
    pub refused: u64,
    /// Ended by a deadline.
    pub timed_out: u64,
    /// Still under way at the end.
    pub in_flight: u64,
    /// Planned but never sent.
    pub never_sent: u64,
    /// Without any answer: must be zero.
    pub lost: u64,
    /// Answered more than once: must be zero.
    pub duplicate: u64,
    /// Answered out of order: must be zero.
    pub reordered: u64,
}

impl Jobs {
    /// Offered minus everything that became of it; zero when the accounts add up.
    pub fn balance(&self) -> i64 {
        let ends = [
            self.completed,
            self.failed,
            self.refused,
            self.timed_out,
            self.lost,
            self.in_flight,
            self.never_sent,
        ];
        // Wide enough for any sum, since a record may be read from a file.
        let gap = i128::from(self.offered) - ends.into_iter().map(i128::from).sum::<i128>();
        gap.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// One directed pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRow {
    /// `src:tgt`.
    pub pair: String,
    /// Nodes that speak it.
    pub nodes: u32,
    /// Their slots (shared with other pairs).
    pub slots: u32,
    /// Jobs offered.
    pub offered: u64,
    /// Jobs refused.
    pub refused: u64,
    /// refused / offered.
    pub refused_ratio: f64,
    /// Erlang B where the model holds (its nodes serve no other pair), else absent.
    pub erlang_b: Option<f64>,
    /// z-score of the refusals against Erlang B, where it holds.
    pub z: Option<f64>,
}

/// Affinity accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affinity {
    /// Jobs that should go to their session's node.
    pub expected: u64,
    /// That did.
    pub kept: u64,
    /// That did not, by cause.
    pub fallback: BTreeMap<String, u64>,
    /// That did not although the node was there and free.
    pub violated: u64,
}

/// Segments whose buffered tail was lost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BrokenSegments {
    /// How many.
    pub count: u64,
    /// Speech lost, seconds.
    pub lost_speech_s: f64,
}

/// Fairness over nodes: jobs per slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Busiest node over the mean.
    pub max_over_mean: f64,
    /// Jain's index, 1 = even.
    pub jain: f64,
}

/// Overselling: assignments that made a node's concurrent jobs exceed its max_jobs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Oversold {
    /// How many assignments.
    pub assignments: u64,
    /// On how many nodes.
    pub nodes: u64,
    /// Largest excess over max_jobs.
    pub max_excess: u64,
    /// Time integral of the excess.
    pub excess_seconds: f64,
    /// Assignments by size of the excess (1, 2, 3 ...).
    pub excess_histogram: BTreeMap<u64, u64>,
    /// Oversold spells by length, upper bound in milliseconds (powers of two).
    pub duration_histogram_ms: BTreeMap<u64, u64>,
}

/// Latency summaries, milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Last chunk sent (or arrival) to the job at the node.
    pub dispatch: Summary,
    /// The same less the configured hangover.
    pub dispatch_net: Summary,
    /// Intended start to answer.
    pub response: Summary,
    /// Sent to answer.
    pub service: Summary,
    /// Intended to sent (real sockets only).
    pub send_lag: Summary,
    /// Wait for a slot (`when_full = "wait"`).
    pub wait: Summary,
    /// One store operation, queueing and network included.
    pub store: Summary,
}

/// One latency summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Values recorded.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

/// The scheduler instances as servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SchedulerLoad {
    /// How many instances.
    pub instances: u32,
    /// Busy share of the busiest instance, 0..=1.
    pub busy: f64,
    /// Share of the busy time spent on lock waits.
    pub lock_wait: f64,
    /// Longest queue of messages.
    pub queue_max: u64,
    /// Heartbeats per second.
    pub heartbeats_per_s: f64,
    /// Mean time from a node's death to its removal, seconds; absent: none died.
    pub failure_detection_s: Option<f64>,
    /// Jobs sent to nodes that were already dead.
    pub jobs_to_dead_nodes: u64,
}

/// The store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreLoad {
    /// Operations.
    pub ops: u64,
    /// Operations per second.
    pub ops_per_s: f64,
    /// Operations per offered job (heartbeats apart).
    pub ops_per_job: f64,
    /// Busy share, 0..=1.
    pub busy: f64,
}

/// One expectation and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Dotted path.
    pub metric: String,
    /// Smallest value allowed.
    pub min: Option<f64>,
    /// Largest value allowed.
    pub max: Option<f64>,
    /// Value found; absent: the run has no such value.
    pub found: Option<f64>,
    /// Whether it was met.
    pub met: bool,
}

/// Everything a run hands to the writer besides the record.
#[derive(Debug, Clone)]
pub struct Artifacts {
    /// The record.
    pub run: Run,
    /// Histograms in nanoseconds, by name (`dispatch`, `dispatch_net`, `response`, `wait`, `store`).
    pub histograms: BTreeMap<&'static str, hdrhistogram::Histogram<u64>>,
    /// One row per second (or coarser) of the whole run, warm-up included.
    pub timeseries: Vec<Sample>,
    /// Jobs per node, in node order: (name, max_jobs, jobs).
    pub node_jobs: Vec<(String, u32, u64)>,
    /// Duties per instance over time, by time (scenarios of duties only).
    pub duties: Vec<DutySample>,
    /// What differs from machine to machine; written to machine.json alone.
    pub machine: Machine,
    /// Nominal length of a time series row, seconds.
    pub sample_s: f64,
    /// Start of the counted part, seconds.
    pub warmup_s: f64,
}

/// One row of the time series. Counts are of the row's span, levels at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// End of the row, virtual seconds from the start.
    pub t_s: f64,
    /// Jobs offered.
    pub offered: u64,
    /// Jobs answered.
    pub completed: u64,
    /// Jobs refused.
    pub refused: u64,
    /// Jobs failed or timed out.
    pub failed: u64,
    /// Jobs running at nodes.
    pub running: u64,
    /// Jobs waiting for a slot.
    pub waiting: u64,
    /// Busy slots / all slots of the nodes in service.
    pub utilisation: f64,
    /// Excess of running jobs over max_jobs, all nodes.
    pub oversold: u64,
    /// Dispatch latency of the row's jobs: median, milliseconds.
    pub dispatch_p50_ms: f64,
    /// And 99th percentile.
    pub dispatch_p99_ms: f64,
    /// Nodes in service.
    pub nodes: u64,
    /// Sessions present.
    pub sessions: u64,
    /// Busy share of the busiest instance in the row.
    pub scheduler_busy: f64,
    /// Store operations.
    pub store_ops: u64,
}

/// What differs from machine to machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Wall time of the run, seconds.
    pub wall_s: f64,
    /// Events per second of wall time.
    pub events_per_s: f64,
    /// Nanoseconds of wall time per offered job that is counted; the time of the warm-up is in it.
    pub ns_per_job: f64,
    /// Peak resident memory, MiB; absent: unknown.
    pub peak_rss_mib: Option<f64>,
    /// Processor model.
    pub processor: String,
    /// Host name.
    pub host: String,
    /// Threads used.
    pub threads: u32,
}
