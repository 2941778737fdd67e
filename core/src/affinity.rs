//! When a session is tied to a node: the table of reasons.

use crate::finalize::Reason;

/// Which rule ties a session's next job to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AffinityRule {
    /// IsFinal and Pause clear before jobs are made; Timeout and MaxDuration record after.
    #[default]
    AsDocumented,
    /// Timeout and MaxDuration at utterance k record for k+1 only, whatever ends that one.
    NextJob,
}

/// What a cut does to the session's affinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffinityStep {
    /// Cleared before the utterance's jobs are made.
    ClearBefore,
    /// The first job's node is recorded after.
    RecordAfter,
    /// The first job's node is recorded after, if affinity brought it there.
    CarryOn,
    /// Nothing.
    Keep,
}

impl AffinityRule {
    /// What a cut by `reason` does.
    pub fn step(self, reason: Reason) -> AffinityStep {
        match (self, reason) {
            (_, Reason::Timeout | Reason::MaxDuration) => AffinityStep::RecordAfter,
            (Self::AsDocumented, Reason::IsFinal | Reason::Pause) => AffinityStep::ClearBefore,
            (Self::AsDocumented, Reason::MaxLength) => AffinityStep::Keep,
            (Self::NextJob, Reason::IsFinal | Reason::Pause) => AffinityStep::Keep,
            (Self::NextJob, Reason::MaxLength) => AffinityStep::CarryOn,
        }
    }

    /// Whether a record counts for one utterance only.
    pub fn only_next(self) -> bool {
        self == Self::NextJob
    }
}
