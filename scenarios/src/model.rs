//! The scenario as typed values: what a file says after it has been parsed and checked.
//!
//! Every section of DESIGN section 8 is one struct here.
//! Names are the file's keys; defaults are the documented defaults of the product.

mod costs;
mod duties;
mod fault;
mod load;
mod plan;
mod scheduler;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Dur;

pub use costs::*;
pub use duties::*;
pub use fault::*;
pub use load::*;
pub use plan::*;
pub use scheduler::*;

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
    /// Duties that instances share, instead of nodes, sessions and arrivals.
    pub duties: Option<Duties>,
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

impl Scenario {
    /// Slots over mean service time, summed over all nodes: jobs per second at load 1.
    pub fn full_rate(&self) -> f64 {
        let of = |group: &NodeGroup| {
            let slots = f64::from(group.count) * f64::from(group.max_jobs);
            slots / group.service_time.mean().max(1e-9)
        };
        self.nodes.iter().map(of).sum()
    }
}

/// A defect planted on purpose: the invariant of that name must be seen to break. I8, coverage and
/// limit are those of duties.
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
    I8,
    I9,
    #[serde(rename = "coverage")]
    Coverage,
    #[serde(rename = "limit")]
    Limit,
}

/// A setting as it is written in a scenario file, such as `sample-scan`; of settings that are one
/// word.
pub fn name_of(setting: impl Serialize) -> String {
    let value = serde_json::to_value(setting).unwrap_or_default();
    value.as_str().unwrap_or("?").to_owned()
}
