//! Named random streams.
//!
//! A stream belongs to a purpose and an entity, never to the order of events: two policies that
//! meet the same arrivals draw the same numbers (common random numbers).

mod exponential;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// What a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// When jobs and sessions arrive, and what is said.
    Arrivals = 1,
    /// How long nodes work.
    Service = 2,
    /// Which nodes a policy samples.
    Selection = 3,
    /// How long messages travel.
    Network = 4,
    /// What goes wrong, and where.
    Faults = 5,
    /// Heartbeats and other clocks of nodes.
    Nodes = 6,
}

/// All streams of one seed.
#[derive(Debug, Clone)]
pub struct Streams {
    root: ChaCha8Rng,
}

impl Streams {
    /// The streams of a seed.
    pub fn new(seed: u64) -> Self {
        Self { root: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The stream of an entity.
    pub fn stream(&self, purpose: Purpose, entity: u64) -> Stream {
        let mut rng = self.root.clone();
        rng.set_stream(mix(entity).wrapping_add(u64::from(purpose as u8) << 56));
        rng.set_word_pos(0);
        Stream(rng)
    }

    /// One uniform number of [0, 1), keyed by entity and `n`.
    pub fn uniform(&self, purpose: Purpose, entity: u64, n: u64) -> f64 {
        self.stream(purpose, entity ^ mix(n)).uniform()
    }
}

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// 32 random bits.
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Uniform in [0, 1), with 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        exponential::uniform(self.0.next_u64())
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        exponential::exponential(|| self.0.next_u64())
    }
}

/// The uniform number of [0, 1) after this one, for work that is done anew: the same wherever the
/// first was the same.
pub fn again(uniform: f64) -> f64 {
    exponential::uniform(mix(uniform.to_bits()))
}

/// Spreads the bits of a number (the finalizer of SplitMix64).
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Cumulative Zipf weights: the k-th of n has weight 1 / k^exponent.
pub fn cumulative_zipf(n: usize, exponent: f64) -> Vec<f64> {
    let mut sum = 0.0;
    (1..=n)
        .map(|k| {
            sum += libm::pow(k as f64, -exponent);
            sum
        })
        .collect()
}

/// An index drawn by cumulative weights.
pub fn choose(stream: &mut Stream, cumulative: &[f64]) -> usize {
    if cumulative.len() <= 1 {
        return 0;
    }
    let target = stream.uniform() * cumulative[cumulative.len() - 1];
    cumulative.partition_point(|&sum| sum <= target).min(cumulative.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_drawn_again_are_uniform_too() {
        let mut sum = 0.0;
        let mut at = 0.5;
        for _ in 0..10_000 {
            at = again(at);
            assert!((0.0..1.0).contains(&at));
            sum += at;
        }
        assert!((sum / 10_000.0 - 0.5).abs() < 0.02, "{sum}");
    }

    #[test]
    fn streams_do_not_depend_on_the_order_of_draws() {
        let streams = Streams::new(7);
        let mut a = streams.stream(Purpose::Arrivals, 1);
        let first: Vec<u32> = (0..4).map(|_| a.word()).collect();
        let mut other = streams.stream(Purpose::Arrivals, 2);
        other.word();
        let mut again = streams.stream(Purpose::Arrivals, 1);
        assert_eq!(first, (0..4).map(|_| again.word()).collect::<Vec<_>>());
        assert_ne!(first[0], streams.stream(Purpose::Service, 1).word());
    }

    #[test]
    fn the_first_numbers_are_fixed_for_good() {
        let mut stream = Streams::new(1).stream(Purpose::Arrivals, 0);
        let words: Vec<u32> = (0..8).map(|_| stream.word()).collect();
        assert_eq!(words, FIRST_WORDS, "seeded runs would no longer be comparable: {words:?}");
    }

    const FIRST_WORDS: [u32; 8] = [
        4_045_442_246,
        2_514_602_550,
        1_841_521_813,
        3_673_886_463,
        974_568_072,
        2_380_311_271,
        1_538_823_674,
        978_274_401,
    ];
}
