//! What the server counts.

use lingua_core::finalize::Reason;
use lingua_core::instance::{Assign, Ending, Failure, Refused};
use lingua_core::{AffinityOutcome, Micros, MissCause, Refusal};
use serde::{Serialize, Serializer};

use crate::snapshot::Histogram;

/// Counts by cause. Each cause is there from the start, so that its first case is seen as a rise.
#[derive(Debug, Clone)]
pub(crate) struct Tally(Vec<(&'static str, u64)>);

impl Tally {
    pub(super) fn new(causes: impl IntoIterator<Item = &'static str>) -> Self {
        Self(causes.into_iter().map(|cause| (cause, 0)).collect())
    }

    pub(super) fn add(&mut self, cause: &'static str) {
        match self.0.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, count)) => *count += 1,
            None => self.0.push((cause, 1)),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().copied()
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

/// Why a node is no longer served.
#[derive(Debug, Clone, Copy)]
pub(super) enum NodeGone {
    /// Its socket is gone.
    Closed,
    /// It said nothing for too long.
    Silent,
    /// A newer socket registered its id.
    Replaced,
}

impl NodeGone {
    const ALL: [Self; 3] = [Self::Closed, Self::Silent, Self::Replaced];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Silent => "silent",
            Self::Replaced => "replaced",
        }
    }
}

/// Counts since the start.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// Jobs made: each owes one final message.
    pub(crate) offered: u64,
    /// Choices of a node, those of later attempts included.
    pub(crate) reservations: u64,
    /// Jobs handed to a node, later attempts included.
    pub(crate) dispatched: u64,
    pub(crate) completed: Tally,
    pub(crate) refused: Tally,
    pub(crate) failed: Tally,
    pub(crate) timed_out: u64,
    /// Results of an attempt that is no longer current, or of somebody else's job.
    pub(crate) stale_results: u64,
    /// Whole utterances that had been sent before.
    pub(crate) repeated_utterances: u64,
    /// Models that nodes lacked: the first of each in a while.
    pub(crate) model_refreshes: u64,
    /// Utterances by what ended them; whole utterances are not among them.
    pub(crate) finalized: Tally,
    pub(crate) affinity_kept: u64,
    pub(crate) affinity_missed: Tally,
    pub(crate) registered: u64,
    pub(crate) registrations_refused: u64,
    pub(crate) nodes_gone: Tally,
    pub(crate) sessions_opened: u64,
    pub(crate) audio_bytes: u64,
    /// Messages to other instances that could not be sent.
    pub(crate) not_posted: u64,
    /// Messages of other instances whose audio or result did not come.
    pub(crate) parcels_missed: u64,
    /// From the last audio, hangover taken off, until the job was handed to its node: first
    /// attempts of manual cuts and whole utterances.
    pub(crate) dispatch: Histogram,
    /// From the last audio until the translation was sent.
    pub(crate) response: Histogram,
}

impl Default for Counts {
    fn default() -> Self {
        use Refused::{Draining, Gate, NoSlot, Wait};
        let refused = [NoSlot(Refusal::NoFittingNode), NoSlot(Refusal::Full), Gate, Wait, Draining];
        let failed = [
            Failure::NodeLost,
            Failure::JobTimeout,
            Failure::NodeError,
            Failure::ModelNotAvailable,
            Failure::DependencyDown,
        ];
        let missed = [
            MissCause::Offline,
            MissCause::Full,
            MissCause::Unavailable,
            MissCause::LeftPool,
            MissCause::Excluded,
        ];
        Self {
            offered: 0,
            reservations: 0,
            dispatched: 0,
            completed: Tally::new(["answered", "silence", "merged"]),
            refused: Tally::new(refused.map(Refused::name)),
            failed: Tally::new(failed.map(Failure::name)),
            timed_out: 0,
            stale_results: 0,
            repeated_utterances: 0,
            model_refreshes: 0,
            finalized: Tally::new(Reason::ALL.map(Reason::name)),
            affinity_kept: 0,
            affinity_missed: Tally::new(missed.map(MissCause::name)),
            registered: 0,
            registrations_refused: 0,
            nodes_gone: Tally::new(NodeGone::ALL.map(NodeGone::name)),
            sessions_opened: 0,
            audio_bytes: 0,
            not_posted: 0,
            parcels_missed: 0,
            dispatch: Histogram::default(),
            response: Histogram::default(),
        }
    }
}

impl Counts {
    /// An utterance was cut.
    pub(super) fn finalized(&mut self, reason: Option<Reason>) {
        if let Some(reason) = reason {
            self.finalized.add(reason.name());
        }
    }

    /// A job was handed to its node, so long after its last audio, hangover taken off.
    pub(super) fn dispatched(&mut self, assign: &Assign, latency: Micros) {
        self.dispatched += 1;
        match assign.affinity {
            AffinityOutcome::None => {}
            AffinityOutcome::Kept => self.affinity_kept += 1,
            AffinityOutcome::Missed(cause) => self.affinity_missed.add(cause.name()),
        }
        if assign.attempt == 1 && matches!(assign.reason, None | Some(Reason::IsFinal)) {
            self.dispatch.record(latency);
        }
    }

    /// A final message went out, so long after the last audio.
    pub(super) fn ended(&mut self, ending: Ending, latency: Micros) {
        match ending {
            Ending::Answered => {
                self.completed.add("answered");
                self.response.record(latency);
            }
            Ending::Silence => self.completed.add("silence"),
            Ending::Merged => self.completed.add("merged"),
            Ending::Refused(refused) => self.refused.add(refused.name()),
            Ending::Failed(failure) => self.failed.add(failure.name()),
            Ending::TimedOut => self.timed_out += 1,
        }
    }

    pub(super) fn gone(&mut self, why: NodeGone) {
        self.nodes_gone.add(why.name());
    }
}
