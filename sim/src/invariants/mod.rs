//! What must never happen (DESIGN section 6), one file per invariant.
//!
//! I1, I6 and I7 are judged where nodes and clients stand, in the world. The others are judged at
//! the one place that every step on shared state passes: the [`Watch`].

mod across;
mod i2_ends_once;
mod i3_same_answer;
mod i4_one_live_lease;
mod i5_affinity;
mod i9_no_needless_refusal;
mod watch;

use lingua_core::Micros;

pub use watch::Watch;

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which one, `I1` to `I9`.
    pub invariant: &'static str,
    /// When, in virtual time.
    pub at: Micros,
    /// What was seen.
    pub message: String,
}

impl Broken {
    pub(crate) fn new(invariant: &'static str, at: Micros, message: String) -> Self {
        Self { invariant, at, message }
    }
}
