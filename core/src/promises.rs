//! What a configuration promises: a promised invariant that breaks is a fault of ours, one that
//! is not promised is counted and shown.

use crate::select::Policy;
use crate::state::CapacityCheck;

/// The invariants of DESIGN section 6 that depend on the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promises {
    /// I1: running ≤ max_jobs at every node.
    pub capacity: bool,
    /// I4: a live lease is not overwritten.
    pub lease_kept: bool,
    /// I5: affinity honoured where it can be.
    pub affinity: bool,
    /// I6: exactly one final message, in order.
    pub one_final: bool,
    /// I9: no refusal while a fitting node is free.
    pub no_needless_refusal: bool,
}

impl Promises {
    /// What is promised. `cluster`: the step of a dispatch spans slots of a Cluster.
    /// `deployed`: the preset of the scheduler that is deployed today.
    pub fn of(capacity: CapacityCheck, policy: Policy, cluster: bool, deployed: bool) -> Self {
        let leases = capacity == CapacityCheck::Lease && policy.checks_capacity();
        Self {
            capacity: leases,
            lease_kept: leases,
            affinity: !deployed,
            one_final: !deployed,
            no_needless_refusal: leases && policy.scans() && !cluster,
        }
    }
}
