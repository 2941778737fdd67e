//! Accounts per directed pair, and of what was offered.

use lingua_core::{Micros, Pair};

use super::Recorder;

/// Accounts of one pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairCount {
    pub(crate) pair: Pair,
    pub(crate) offered: u64,
    pub(crate) refused: u64,
}

impl Recorder {
    /// The number of a pair, given at its first mention.
    pub(crate) fn pair(&mut self, pair: Pair) -> u32 {
        if let Some(&number) = self.pair_numbers.get(&pair) {
            return number;
        }
        let number = self.pairs.len() as u32;
        self.pairs.push(PairCount { pair, offered: 0, refused: 0 });
        self.pair_numbers.insert(pair, number);
        number
    }

    pub(crate) fn offered(&mut self, now: Micros, pair: u32, counted: bool) {
        self.series.offered();
        if counted {
            self.jobs.offered += 1;
            self.pairs[pair as usize].offered += 1;
            self.batches.offered(now);
        }
    }

    /// There was no instance to send it to.
    pub(crate) fn ended_unsent(&mut self, counted: bool) {
        self.mark("no_instance_up");
        if counted {
            self.jobs.never_sent += 1;
        }
    }
}
