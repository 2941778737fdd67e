//! The scenario as typed values: what a file says after it has been parsed and checked.
//!
//! Every section of DESIGN section 8 is one struct here.
//! Names are the file's keys; defaults are the documented defaults of the product.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dist, Dur, Pair, Rate};

/// One scenario: a deployment, its load, what goes wrong, and what is expected of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// One line that names the scenario in tables and pictures.
    pub title: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Virtual time simulated, warm-up included.
    pub duration: Dur,
    /// Start of the counted part; at least five mean job lengths make sense.
    pub warmup: Dur,
    /// The scheduler under study.
    pub scheduler: Scheduler,
    /// Groups of equal nodes.
    pub nodes: Vec<NodeGroup>,
    /// Groups of talking clients.
    pub sessions: Vec<SessionGroup>,
    /// Bare job arrivals, for theory and rate tests.
    pub arrivals: Vec<ArrivalGroup>,
    /// What each step costs in virtual time.
    pub costs: Costs,
    /// What goes wrong, and when.
    pub faults: Vec<Fault>,
    /// What the run must show; a miss is exit code 3.
    pub expect: Vec<Expect>,
    /// The matrix of `lingua capacity`.
    pub capacity: Option<CapacityPlan>,
    /// A defect planted on purpose, to prove that the invariants are watched.
    pub plant: Option<Plant>,
    /// Random mix of policies and faults drawn from the seed, for swarm runs.
    pub swarm: Option<Swarm>,
    /// Variants that are run on the same arrivals: name to overrides (`path = value`, as `--set`).
    #[schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>")]
    pub variants: BTreeMap<String, BTreeMap<String, toml::Value>>,
}

/// A defect planted on purpose: the invariant of that name must be seen to break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "each name is the invariant that it breaks")]
pub enum Plant {
    I1,
    I2,
    I3,
    I4,
    I5,
    I6,
    I7,
    I9,
}

/// The scheduler: rules, store and number of instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// A named bundle of settings; explicit keys win over it.
    pub preset: Option<Preset>,
    /// Which duties stand on the dispatch path.
    pub style: Option<Style>,
    /// How a node is chosen.
    pub policy: Policy,
    /// Candidates sampled per dispatch (N), 1..=16.
    #[schemars(range(min = 1, max = 16))]
    pub sample: u32,
    /// What `power-of-d` does when all sampled nodes are full.
    pub fallback: Fallback,
    /// Which directed pairs a node joins.
    pub pool_rule: PoolRule,
    /// How a pause of the speaker is noticed.
    pub pause_detect: PauseDetect,
    /// Largest number of members of one shard, 1..=100.
    #[schemars(range(min = 1, max = 100))]
    pub shard_size: u32,
    /// What happens when no fitting node is free.
    pub when_full: WhenFull,
    /// Longest wait when `when_full = "wait"`; absent: the job deadline bounds it.
    pub max_wait: Option<Dur>,
    /// Most waiting jobs per instance.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_waiting: u32,
    /// How capacity is enforced.
    pub capacity_check: CapacityCheck,
    /// Scheduler instances.
    #[schemars(range(min = 1, max = 1_000))]
    pub instances: u32,
    /// Where shared state lives.
    pub store: StoreKind,
    /// Age at which an instance renews its snapshot as a whole.
    pub snapshot_age: Dur,
    /// Whether changes reach snapshots between whole refreshes.
    pub snapshot_incremental: bool,
    /// When a session's next job is tied to the same node.
    pub affinity_rule: AffinityRule,
    /// Life of an affinity record.
    pub affinity_life: Dur,
    /// Life of a lease without renewal.
    pub lease: Dur,
    /// Life of a reservation that was never confirmed.
    pub unconfirmed: Dur,
    /// Job time-out of one attempt.
    pub job_timeout: Dur,
    /// Deadline of an utterance, from finalize to its final message.
    pub deadline: Dur,
    /// How long the attempts of a lost node socket wait for the same node to return.
    pub rejoin: Dur,
    /// How long the answer of a request is kept after it ends.
    pub answer_life: Dur,
    /// Store silence after which requests fail with SCHEDULER_DEPENDENCY_DOWN.
    pub store_timeout: Dur,
    /// Silence that counts as a pause.
    pub pause: Dur,
    /// No chunk for this long ends the utterance by Timeout.
    pub timeout: Dur,
    /// Audio of this length ends the utterance by MaxDuration.
    pub max_duration: Dur,
    /// More decoded bytes than this end the utterance by MaxLength.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub max_length: u32,
    /// Hangover after a manual cut.
    pub hangover_manual: Dur,
    /// Hangover after an automatic cut.
    pub hangover_auto: Dur,
    /// Pin a session to one shard for this long (`preferred_pool` of the documents); 0 = off.
    pub preferred_pool: Dur,
    /// Stop looking for shards at the first hole, as the documented scan does.
    pub stop_at_shard_hole: bool,
    /// Pool sets live as long as any member, as the documented TTL does: dead nodes stay listed.
    pub stale_pool_members: bool,
    /// A missing counter key reads as "no jobs", as the documented script has it.
    pub missing_counter: bool,
    /// CPU, GPU or memory share above which a node takes no new jobs; absent: not looked at.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub resource_threshold: Option<f64>,
}

/// Named bundles of scheduler settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The scheduler that is deployed today, as observed.
    Deployed,
}

/// Which duties stand on the dispatch path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Global lock, O(n) scan, statistics and model handling on the dispatch path.
    Phase0,
    /// Control plane only: statistics and model handling are asynchronous.
    Phase1,
}

/// How a node is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// N random members, the first that can be reserved, else refuse.
    SampleReserve,
    /// As `sample-reserve`, then the index of free nodes.
    SampleScan,
    /// Least loaded of d samples.
    PowerOfD,
    /// Least loaded of all.
    LeastConnections,
    /// Uniform shard, uniform member, no capacity check.
    TwoLevelRandom,
    /// First online node in set order.
    FirstOnline,
    /// First online node in sorted order.
    FirstOnlineSorted,
    /// Members in turn.
    RoundRobin,
}

/// What `power-of-d` does when all sampled nodes are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    /// Walk the index of free nodes.
    Scan,
    /// Refuse, as the theory's model does.
    Refuse,
}

/// Which directed pairs a node joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolRule {
    /// Every (asr, tts) pair.
    AsrXTts,
    /// Every (asr, semantic) pair.
    AsrXSemantic,
    /// Every ordered pair of two different semantic languages.
    F2f,
}

/// How a pause of the speaker is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PauseDetect {
    /// A timer closes the utterance when the pause is over.
    Timer,
    /// Noticed when the next chunk comes, as documented.
    OnChunk,
}

/// What happens when no fitting node is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The request is refused at once.
    Refuse,
    /// The request waits for a slot.
    Wait,
}

/// How capacity is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityCheck {
    /// Leases in a set; never more than max_jobs.
    Lease,
    /// The documented script: a bare counter, compared as strings.
    AsDocumented,
    /// Not at all: jobs queue at the node.
    Off,
}

/// Where shared state lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// In the instance's own process.
    Embedded,
    /// One Redis server: the steps of a dispatch run as one script.
    Redis,
    /// A Redis Cluster: one step per home slot.
    RedisCluster,
}

/// When a session's next job is tied to the same node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AffinityRule {
    /// IsFinal and Pause clear before; Timeout and MaxDuration record after.
    AsDocumented,
    /// Recorded by Timeout or MaxDuration at utterance k, tried by k+1 only.
    NextJob,
}

/// A group of equal nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeGroup {
    /// How many.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub count: u32,
    /// Name prefix, unique in the file; absent: `g<index>`.
    pub name: Option<String>,
    /// Languages the node hears.
    pub asr: Vec<String>,
    /// Languages it repairs; absent: the same as `asr`.
    pub semantic: Option<Vec<String>>,
    /// Languages it speaks.
    pub tts: Vec<String>,
    /// Concurrent jobs, 1..=1024.
    #[schemars(range(min = 1, max = 1_024))]
    pub max_jobs: u32,
    /// Time to answer a job, before `speech_factor`.
    pub service_time: Dist,
    /// Seconds of extra service per second of speech.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub speech_factor: f64,
    /// Heartbeat interval.
    pub heartbeat: Dur,
    /// Share by which each interval varies up or down; 0: all nodes beat in step.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub heartbeat_jitter: f64,
    /// Region name.
    pub region: Option<String>,
    /// Feature names the node offers.
    pub features: Vec<String>,
    /// Models (`name@version`) the node has.
    pub models: Vec<String>,
    /// Time in service before a node of the group leaves (background churn); absent: never.
    pub uptime: Option<Dist>,
    /// Time away before it returns.
    pub downtime: Option<Dist>,
    /// Reported CPU share in percent; absent: unknown.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub cpu: Option<f64>,
    /// Read the nodes from this CSV instead of `count`.
    pub from: Option<PathBuf>,
}

impl NodeGroup {
    /// Its name in a file where it is the group at this index.
    pub fn name_at(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("g{index}"))
    }
}

/// A group of talking clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionGroup {
    /// Sessions present all the time (each leaver is replaced).
    #[schemars(range(min = 0, max = 10_000_000))]
    pub count: Option<u32>,
    /// Or: arrivals of sessions.
    pub rate: Option<Rate>,
    /// Length of a session; absent: to the end of the run.
    pub stay: Option<Dist>,
    /// One directed pair for all ...
    pub pair: Option<Pair>,
    /// ... or several, drawn per session with Zipf weights in this order.
    pub pairs: Vec<Pair>,
    /// Zipf exponent over `pairs`; 0 is uniform.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub zipf: f64,
    /// `one_way` or `two_way_auto` (`pair` then gives lang_a:lang_b).
    pub mode: Mode,
    /// Rooms: preferred languages of the other members; one job per distinct language.
    pub listeners: Vec<String>,
    /// Speech of one utterance.
    pub utterance: Dist,
    /// Silence between utterances.
    pub gap: Dist,
    /// Share of utterances that the client ends itself.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub manual_cut: f64,
    /// Audio per chunk.
    pub chunk: Dur,
    /// Bytes per millisecond of audio (PCM16 at 16 kHz is 32).
    #[schemars(range(min = 1, max = 100_000))]
    pub bytes_per_ms: u32,
    /// Reconnects of one session.
    pub reconnect: Option<Rate>,
    /// Changes of language of one session.
    pub switch_language: Option<Rate>,
    /// Feature names every job needs.
    pub features: Vec<String>,
    /// Model (`name@version`) every job needs.
    pub model: Option<String>,
    /// Preferred region.
    pub region: Option<String>,
}

/// Session mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One directed pair.
    OneWay,
    /// The pair in both directions, language found by the node.
    TwoWayAuto,
}

/// Bare job arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalGroup {
    /// Jobs per second (Poisson), constant or points over time ...
    pub rate: Option<Rate>,
    /// ... or offered load as a share of all slots.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub load: Option<f64>,
    /// One directed pair ...
    pub pair: Option<Pair>,
    /// ... or several with Zipf weights in this order.
    pub pairs: Vec<Pair>,
    /// Zipf exponent over `pairs`.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub zipf: f64,
    /// Feature names every job needs.
    pub features: Vec<String>,
    /// Model every job needs.
    pub model: Option<String>,
    /// Preferred region.
    pub region: Option<String>,
    /// Read arrivals from this CSV (time, session, src, tgt, speech_ms, manual), streamed.
    pub trace: Option<PathBuf>,
}

/// What each step costs. Instance and store costs occupy a server with a queue; latencies do not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Where the figures come from.
    pub basis: Basis,
    /// Instance time per dispatch.
    pub dispatch: Dur,
    /// Instance time per candidate looked at.
    pub candidate: Dur,
    /// Instance time per node in an O(n) scan.
    pub scan_node: Dur,
    /// Instance time per heartbeat.
    pub heartbeat: Dur,
    /// Instance time per registration.
    pub register: Dur,
    /// Instance time per audio chunk.
    pub chunk: Dur,
    /// Instance time per node answer.
    pub result: Dur,
    /// Instance time per KiB of payload.
    pub kib: Dur,
    /// Wait for the global lock per dispatch (`style = "phase0"`).
    pub lock: Dur,
    /// Statistics update on the dispatch path (`style = "phase0"`).
    pub statistics: Dur,
    /// Handling of one MODEL_NOT_AVAILABLE.
    pub model_na: Dur,
    /// Store time per operation (one server, or each Cluster slot).
    pub store_op: Dur,
    /// Latency between an instance and the store, one way.
    pub store_latency: Dist,
    /// Latency between an instance and a node, one way.
    pub node_latency: Dist,
    /// Latency between a client and an instance, one way.
    pub session_latency: Dist,
}

/// Where cost figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// From a bench or `lingua calibrate`.
    Measured,
    /// A guess.
    Assumed,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// When it starts.
    pub at: Dur,
    /// How long it lasts (kinds that heal).
    #[serde(default, rename = "for")]
    pub lasts: Option<Dur>,
    /// How many nodes it hits ...
    #[serde(default)]
    pub nodes: Option<u32>,
    /// ... or which share of them (0..=1).
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: Option<f64>,
    /// Only nodes of this group, by its name.
    #[serde(default)]
    pub group: Option<String>,
    /// Which instance it hits (from 0).
    #[serde(default)]
    pub instance: Option<u32>,
    /// How much slower (slow-node), how many times later (delay).
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub factor: Option<f64>,
    /// Probability per event (heartbeat-loss, reply-loss, late-release ...), 0..=1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: Option<f64>,
    /// Writes of this last span are lost at a failover; size of a clock step.
    #[serde(default)]
    pub span: Option<Dur>,
    /// Model concerned (model-storm).
    #[serde(default)]
    pub model: Option<String>,
    /// The new maximum of concurrent jobs (max-jobs), 1..=1024.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_024))]
    pub max_jobs: Option<u32>,
}

/// Kinds of fault.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The node dies with its jobs; its socket closes.
    NodeCrash,
    /// The node hangs half-open: no heartbeat, no answer, socket open.
    NodeSilent,
    /// Service takes `factor` times as long.
    SlowNode,
    /// The node asks for no new jobs.
    Drain,
    /// The instance dies and restarts after `for`.
    InstanceCrash,
    /// The store answers nothing for `for`.
    StoreStall,
    /// The store fails over; writes of the last `span` are lost.
    StoreFailover,
    /// Instance and store cannot reach each other.
    Partition,
    /// Replies of the store are lost after commit, with `probability`.
    ReplyLoss,
    /// Heartbeats are lost with `probability`.
    HeartbeatLoss,
    /// All node sockets drop and reconnect at once.
    ReconnectHerd,
    /// Nodes answer MODEL_NOT_AVAILABLE for `model`.
    ModelStorm,
    /// Releases arrive twice, with `probability`.
    DuplicateRelease,
    /// Releases arrive late by `span`, with `probability`.
    LateRelease,
    /// The store's clock steps by `span`.
    ClockStep,
    /// Messages to nodes are delayed by `factor`.
    Delay,
    /// Nodes report another maximum of concurrent jobs.
    MaxJobs,
}

/// One expectation on the run record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Dotted path in run.json, e.g. `refused_ratio` or `latency_ms.dispatch_net.p99`.
    pub metric: String,
    /// Smallest value allowed.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest value allowed.
    #[serde(default)]
    pub max: Option<f64>,
}

/// The matrix of `lingua capacity`: every combination is searched by bisection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityPlan {
    /// Total node counts; groups keep their proportions.
    #[serde(default)]
    pub nodes: Vec<u32>,
    /// Policies.
    #[serde(default)]
    pub policies: Vec<Policy>,
    /// Instance counts.
    #[serde(default)]
    pub instances: Vec<u32>,
    /// What is searched.
    pub search: Search,
}

/// The quantity that the bisection varies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Path as in `--set`, e.g. `arrivals.0.rate` or `sessions.0.count`.
    pub path: String,
    /// Smallest value tried.
    pub from: f64,
    /// Largest value tried.
    pub to: f64,
    /// Relative precision, e.g. 0.02.
    #[serde(default = "Search::precision_default")]
    #[schemars(range(min = 0.001, max = 0.5))]
    pub precision: f64,
}

/// Random mix for swarm runs: every seed draws its own configuration within these limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Swarm {
    /// Most faults of one run.
    #[schemars(range(min = 0, max = 1_000))]
    pub faults_max: u32,
    /// Kinds drawn from; empty: all.
    pub kinds: Vec<FaultKind>,
    /// Policies drawn from; empty: all that promise capacity.
    pub policies: Vec<Policy>,
    /// Most instances.
    #[schemars(range(min = 1, max = 1_000))]
    pub instances_max: u32,
}
