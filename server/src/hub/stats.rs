//! What the server counts.

use lingua_core::instance::Ending;
use serde::Serialize;

use crate::hub::Hub;

/// Counts since the start.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    pub(super) dispatches: u64,
    pub(super) assigned: u64,
    pub(super) audio_bytes: u64,
    pub(super) registrations_refused: u64,
    pub(super) stale_answers: u64,
    pub(super) repeated_utterances: u64,
    answered: u64,
    silent: u64,
    refused: u64,
    failed: u64,
    timed_out: u64,
}

impl Counts {
    pub(super) fn ended(&mut self, ending: Ending) {
        let count = match ending {
            Ending::Answered => &mut self.answered,
            Ending::Silence | Ending::Merged => &mut self.silent,
            Ending::Refused(_) => &mut self.refused,
            Ending::Failed(_) => &mut self.failed,
            Ending::TimedOut => &mut self.timed_out,
        };
        *count += 1;
    }
}

/// How things are.
#[derive(Debug, Clone, Serialize)]
pub struct Stats {
    nodes: usize,
    sessions: usize,
    open_jobs: usize,
    #[serde(flatten)]
    counts: Counts,
}

impl Stats {
    /// Jobs whose final message is owed.
    pub fn open_jobs(&self) -> usize {
        self.open_jobs
    }
}

impl Hub {
    pub(super) fn stats(&self) -> Stats {
        Stats {
            nodes: self.nodes.len(),
            sessions: self.sessions.len(),
            open_jobs: self.answers.len(),
            counts: self.counts,
        }
    }
}
