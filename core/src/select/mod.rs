//! The policies: which nodes a dispatch tries, and in which order.
//!
//! A policy ranks by what the instance knows, its snapshot or the State itself. It is a pure
//! function of that view, the job's needs and the random words; the atomic reserve decides.

mod first_online;
mod least_connections;
mod power_of_d;
mod sample;
mod two_level;
mod visible;

use crate::{Candidates, Directory, Excluded, Needs, NodeNum, Words};

pub use visible::ShardQuirks;

/// How a node is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// N random members; the first that can be reserved, else refuse.
    SampleReserve,
    /// As `SampleReserve`, then the index of free nodes.
    SampleScan,
    /// Least loaded of N samples, then the fallback.
    PowerOfD(Fallback),
    /// Least loaded of all, then the fallback.
    LeastConnections(Fallback),
    /// Uniform shard, uniform member, no capacity check.
    TwoLevelRandom,
    /// First online node of the pool, no capacity check.
    FirstOnline(SetOrder),
    /// Members in turn.
    RoundRobin,
}

/// What happens when no chosen node has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// Walk the index of free nodes.
    Scan,
    /// Refuse.
    Refuse,
}

/// In which order a pool's members are looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOrder {
    /// As an unordered set happens to list them: fixed, but unrelated to their names.
    Set,
    /// Sorted.
    Sorted,
}

impl Policy {
    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Self::SampleReserve => "sample-reserve",
            Self::SampleScan => "sample-scan",
            Self::PowerOfD(_) => "power-of-d",
            Self::LeastConnections(_) => "least-connections",
            Self::TwoLevelRandom => "two-level-random",
            Self::FirstOnline(SetOrder::Set) => "first-online",
            Self::FirstOnline(SetOrder::Sorted) => "first-online-sorted",
            Self::RoundRobin => "round-robin",
        }
    }

    /// Whether a dispatch ends with a walk of the free index.
    pub fn scans(self) -> bool {
        match self {
            Self::SampleScan
            | Self::PowerOfD(Fallback::Scan)
            | Self::LeastConnections(Fallback::Scan) => true,
            Self::SampleReserve
            | Self::PowerOfD(Fallback::Refuse)
            | Self::LeastConnections(Fallback::Refuse)
            | Self::TwoLevelRandom
            | Self::FirstOnline(_)
            | Self::RoundRobin => false,
        }
    }

    /// Whether the policy, as written, looks at capacity at all.
    pub fn checks_capacity(self) -> bool {
        !matches!(self, Self::TwoLevelRandom | Self::FirstOnline(_))
    }
}

/// What a policy ranks by.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Who can do what.
    pub directory: &'a Directory,
    /// Jobs at each node, by node number.
    pub loads: &'a [u32],
}

impl View<'_> {
    fn load(&self, node: NodeNum) -> u32 {
        self.loads.get(node.index()).copied().unwrap_or(0)
    }
}

/// One choice to make.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// What the job needs.
    pub needs: Needs,
    /// Nodes to avoid.
    pub excluded: &'a Excluded,
    /// Sample size N.
    pub sample: usize,
    /// How the documents' shard handling bends the choice; `ShardQuirks::NONE` for none.
    pub quirks: ShardQuirks,
    /// How many dispatches of this pair came before (round robin).
    pub turn: u32,
}

/// The nodes to try, best first. Also counts the nodes looked at, which is what a choice costs.
pub fn choose(policy: Policy, view: View<'_>, choice: &Choice<'_>, words: &Words) -> Chosen {
    match policy {
        Policy::SampleReserve | Policy::SampleScan => sample::choose(view, choice, words),
        Policy::PowerOfD(_) => power_of_d::choose(view, choice, words),
        Policy::LeastConnections(_) => least_connections::choose(view, choice, words),
        Policy::TwoLevelRandom => two_level::choose(view, choice, words),
        Policy::FirstOnline(order) => first_online::choose(view, choice, order),
        Policy::RoundRobin => sample::in_turn(view, choice),
    }
}

/// Outcome of a choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chosen {
    /// Nodes to try, in order.
    pub candidates: Candidates,
    /// Nodes looked at.
    pub looked_at: u32,
}
