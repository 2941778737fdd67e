//! The scheduler under study, and the names its rules go by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Dur;

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
