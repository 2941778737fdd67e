//! Duties: work that exactly one instance may do at a time, and the instances that share it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dist, Dur, FaultKind, Scenario};

/// Duties that instances share through a coordinator. A scenario of duties has no nodes, sessions
/// or arrivals; its faults are those of instances and of what they and the coordinator say to one
/// another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Duties {
    /// How many duties.
    #[schemars(range(min = 1, max = 10_000))]
    pub count: u32,
    /// Instances at the start; `instance-join` adds more.
    #[schemars(range(min = 1, max = 1_000))]
    pub instances: u32,
    /// How many may die at once: one tolerance for all (absent: 1) ...
    #[schemars(range(min = 1, max = 1_000))]
    pub tolerance: Option<u32>,
    /// ... or one for each instance, those that join included.
    pub tolerances: Vec<u32>,
    /// Life of a membership without renewal; longer than two ticks.
    pub lease: Dur,
    /// Span between two recounts, which also renew.
    pub tick: Dur,
    /// At how many ticks in a row a duty must be seen unclaimed before it raises the limit.
    #[schemars(range(min = 1, max = 1_000))]
    pub patience: u32,
    /// How many claims one view is good for.
    #[schemars(range(min = 1, max = 10_000))]
    pub claims_per_view: u32,
    /// Acquiring more duties than this raises an alarm; absent: never.
    #[schemars(range(min = 0, max = 10_000))]
    pub alarm_above: Option<u32>,
    /// Length of one run of a duty; its result is written at the end, under the fencing token.
    pub run: Dist,
    /// Time between two runs of a duty.
    pub pause: Dist,
    /// How long a step or its reply travels; those of one instance keep their order.
    pub delay: Dist,
    /// How long an event travels, so that events overtake each other; absent: as `delay`.
    pub event_delay: Option<Dist>,
    /// Probability that an event never reaches an instance, 0..=1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub event_loss: f64,
}

impl Duties {
    /// The tolerance of an instance, counted from 0.
    pub fn tolerance_of(&self, instance: u32) -> u32 {
        let own = self.tolerances.get(instance as usize).copied();
        own.or(self.tolerance).unwrap_or(1)
    }
}

impl Scenario {
    /// How many instances its faults may name: of duties those that join are counted too.
    pub fn instances(&self) -> u32 {
        let Some(duties) = &self.duties else { return self.scheduler.instances };
        let joins = self.faults.iter().filter(|fault| fault.kind == FaultKind::InstanceJoin);
        duties.instances.saturating_add(joins.count() as u32)
    }
}
