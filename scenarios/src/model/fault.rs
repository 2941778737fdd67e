//! What goes wrong, and when.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::streams::Stream;
use crate::{Dur, Scenario};

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
    /// Probability per event (heartbeat-loss, reply-loss, late-release, event-loss ...), 0..=1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: Option<f64>,
    /// Writes of this last span are lost at a failover; size of a clock step; how late an event is.
    #[serde(default)]
    pub span: Option<Dur>,
    /// Model concerned (model-storm).
    #[serde(default)]
    pub model: Option<String>,
    /// Which way is cut (partition); absent: both.
    #[serde(default)]
    pub way: Option<Way>,
    /// The new maximum of concurrent jobs (max-jobs), 1..=1024.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_024))]
    pub max_jobs: Option<u32>,
}

impl Fault {
    /// The nodes that it may hit: those of its group, or all, counted through the file.
    pub fn among(&self, scenario: &Scenario) -> Range<u32> {
        let mut nodes = 0..0;
        for (at, group) in scenario.nodes.iter().enumerate() {
            match &self.group {
                Some(name) if *name == group.name_at(at) => {
                    return nodes.end..nodes.end + group.count;
                }
                _ => nodes.end += group.count,
            }
        }
        nodes
    }

    /// The nodes that it does hit, in order.
    pub fn victims(&self, among: Range<u32>, stream: &mut Stream) -> Vec<u32> {
        let nodes = among.len() as u32;
        let share = self.share.map(|share| (share * f64::from(nodes)).round() as u32);
        let count = self.nodes.or(share).unwrap_or(nodes).min(nodes) as usize;
        let mut all: Vec<u32> = among.collect();
        for place in 0..count {
            let left = (all.len() - place) as u64;
            let other = place + ((u64::from(stream.word()) * left) >> 32) as usize;
            all.swap(place, other);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }
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
    /// The instance dies and restarts after `for`. Of duties: without `for` it stays dead.
    InstanceCrash,
    /// The instance stops for `for`, and goes on where it stopped (duties).
    InstanceFreeze,
    /// One more instance comes; with `for` it leaves after that (duties).
    InstanceJoin,
    /// An operator puts the instance on the drain list, for `for` or for good (duties).
    InstanceDrain,
    /// The store answers nothing for `for`.
    StoreStall,
    /// The store fails over; writes of the last `span` are lost.
    StoreFailover,
    /// Instance and store cannot reach each other, or one of them not the other (`way`). The store
    /// of duties is their coordinator.
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
    /// Messages to nodes are delayed by `factor`; of duties, all between instances and coordinator.
    Delay,
    /// Nodes report another maximum of concurrent jobs.
    MaxJobs,
    /// Events that tell instances of changed membership, or of duties, are lost, with `probability`.
    EventLoss,
    /// Such events arrive late by `span`, so that later ones overtake them, with `probability`.
    EventReorder,
}

impl FaultKind {
    /// The kinds that a scenario of duties knows.
    pub const OF_DUTIES: [Self; 9] = [
        Self::InstanceCrash,
        Self::InstanceFreeze,
        Self::InstanceJoin,
        Self::InstanceDrain,
        Self::Partition,
        Self::ReplyLoss,
        Self::Delay,
        Self::EventLoss,
        Self::EventReorder,
    ];
}

/// The way between an instance and the store that a partition cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Steps never arrive at the store.
    ToStore,
    /// The store carries steps out; its replies and events never arrive.
    FromStore,
}
