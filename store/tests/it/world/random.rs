//! Chance that a seed repeats.

use lingua_core::{Draws, Micros, RequestId, Words, draws};

/// A generator (SplitMix64); its state is all there is to it.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    pub(crate) fn permille(&mut self, chance: u32) -> bool {
        self.below(1_000) < chance as usize
    }

    /// Evenly between both.
    pub(crate) fn between(&mut self, least: Micros, most: Micros) -> Micros {
        Micros(least.0 + self.below((most.0 - least.0) as usize + 1) as u64)
    }

    /// Exponential, with this mean.
    pub(crate) fn about(&mut self, mean: Micros) -> Micros {
        let share = (self.word() >> 11) as f64 / (1u64 << 53) as f64;
        Micros((-(1.0 - share).ln() * mean.0 as f64) as u64)
    }
}

/// The words of a request and attempt, whoever asks for them and when.
pub(crate) struct OfRequest;

impl Draws for OfRequest {
    fn words(&mut self, request: RequestId, attempt: u32) -> Words {
        let mut random = Random(request.session.0 << 8 ^ u64::from(attempt));
        Words(std::array::from_fn::<u32, { draws::WORDS }, _>(|_| random.word() as u32))
    }
}
