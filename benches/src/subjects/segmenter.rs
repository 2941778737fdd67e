//! Audio of one session: utterances of two seconds, each ended by hand.

use lingua_core::Micros;
use lingua_core::finalize::{Chunk, FinalizeConfig, Segmenter};

use super::Subject;

/// Chunks of one run.
pub(super) const CHUNKS: u64 = 1_000;

/// Chunks of one utterance.
const UTTERANCE: u64 = 20;

/// Length of a chunk.
const LENGTH: Micros = Micros::millis(100);

#[derive(Default)]
pub(super) struct Speech {
    segmenter: Segmenter,
    config: FinalizeConfig,
    now: Micros,
}

impl Subject for Speech {
    fn run(&mut self) -> u64 {
        let mut sum = 0;
        for at in 1..=CHUNKS {
            self.now = self.now + LENGTH;
            let is_final = at.is_multiple_of(UTTERANCE);
            let chunk = Chunk { bytes: 400, audio: LENGTH, is_final, sent: self.now };
            let cuts = self.segmenter.chunk(self.now, chunk, &self.config);
            sum += cuts.iter().flatten().map(|cut| cut.bytes).sum::<u64>();
            sum ^= self.segmenter.deadline(&self.config).0;
        }
        sum
    }
}
