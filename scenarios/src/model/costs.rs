//! What each step costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dist, Dur};

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
    /// How late a timer of an instance fires, that of the hangover for one.
    pub timer_lateness: Dist,
}

impl Costs {
    /// Its fields in their order, each with its value as a file has it on one line.
    pub fn fields(&self) -> Vec<(String, String)> {
        let table = toml::Table::try_from(self).unwrap_or_default();
        table.into_iter().map(|(name, value)| (name, value.to_string())).collect()
    }
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
