//! What is expected, searched and drawn: expectations, capacity search, swarm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FaultKind, Policy};

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
