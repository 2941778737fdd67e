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
    key: u64,
}

impl Streams {
    /// The streams of a seed.
    pub fn new(seed: u64) -> Self {
        Self { root: ChaCha8Rng::seed_from_u64(seed), key: mix(seed.wrapping_add(STEP)) }
    }

    /// The stream of an entity.
    pub fn stream(&self, purpose: Purpose, entity: u64) -> Stream {
        let mut rng = self.root.clone();
        rng.set_stream(mix(entity).wrapping_add(u64::from(purpose as u8) << 56));
        rng.set_word_pos(0);
        Stream(rng)
    }

    /// A few numbers for an entity that needs no more: before its first number a stream costs a
    /// thousand instructions.
    pub fn keyed(&self, purpose: Purpose, entity: u64) -> Keyed {
        Keyed(mix(self.key ^ mix(entity).wrapping_add(u64::from(purpose as u8) << 56)))
    }

    /// One uniform number of [0, 1), keyed by entity and `n`.
    pub fn uniform(&self, purpose: Purpose, entity: u64, n: u64) -> f64 {
        exponential::uniform(self.keyed(purpose, entity ^ mix(n)).bits())
    }
}

/// Numbers made from a key (SplitMix64).
#[derive(Debug, Clone)]
pub struct Keyed(u64);

impl Keyed {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }
}

/// The increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

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

    /// Uniform in [0, 1), with 32 bits, for half the price.
    #[inline]
    pub fn uniform32(&mut self) -> f64 {
        f64::from(self.0.next_u32()) * (1.0 / (1u64 << 32) as f64)
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
    fn keyed_numbers_are_uniform_and_belong_to_their_key() {
        let streams = Streams::new(7);
        let mut cells = [0u32; 16];
        for entity in 0..20_000 {
            let mut keyed = streams.keyed(Purpose::Selection, entity);
            for _ in 0..2 {
                cells[(keyed.bits() >> 60) as usize] += 1;
            }
        }
        assert!(cells.iter().all(|n| n.abs_diff(2_500) < 250), "five sigma: {cells:?}");
        let at = |purpose, entity, n| streams.uniform(purpose, entity, n);
        assert_eq!(at(Purpose::Service, 1, 2), at(Purpose::Service, 1, 2));
        assert_ne!(at(Purpose::Service, 1, 2), at(Purpose::Service, 2, 1));
        assert_ne!(at(Purpose::Service, 1, 2), at(Purpose::Selection, 1, 2));
        assert_ne!(at(Purpose::Service, 1, 2), Streams::new(8).uniform(Purpose::Service, 1, 2));
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
