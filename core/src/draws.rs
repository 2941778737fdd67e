//! Randomness as data: words that are handed in, and one way to turn a word into a choice.

use crate::RequestId;

/// The words of one dispatch: 16 for the candidates, 1 to start a scan, 1 to break ties.
pub const WORDS: usize = 18;

/// Random words of one dispatch. Their number is fixed, so that every execution of the same step
/// (in process, in Redis, simulated) consumes alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words(pub [u32; WORDS]);

impl Words {
    /// Index of the word that starts a scan.
    pub const SCAN: usize = 16;
    /// Index of the word that breaks ties.
    pub const TIE: usize = 17;

    /// The word that starts a scan.
    pub fn scan(&self) -> u32 {
        self.0[Self::SCAN]
    }

    /// The word that breaks ties.
    pub fn tie(&self) -> u32 {
        self.0[Self::TIE]
    }
}

/// Where an instance gets its words from.
///
/// Words belong to a request and attempt, not to the order in which they are asked for:
/// two policies that meet the same requests meet the same words.
pub trait Draws {
    /// The words of one attempt of one request.
    fn words(&mut self, request: RequestId, attempt: u32) -> Words;
}

/// Uniform choice below `n` from one word: `word * n >> 32`.
///
/// Lua's doubles compute the same for `n` up to 2^21.
///
/// # Panics
/// When `n` is zero: there is nothing to choose from.
pub fn pick(word: u32, n: u32) -> u32 {
    assert!(n > 0, "a choice needs at least one member");
    ((u64::from(word) * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pick_covers_all_and_only_all() {
        for n in 1..200u32 {
            assert_eq!(pick(0, n), 0);
            assert_eq!(pick(u32::MAX, n), n - 1);
        }
    }

    #[test]
    fn pick_is_uniform_to_one_part_in_a_thousand() {
        let mut hits = [0u32; 7];
        for i in 0..70_000u32 {
            hits[pick(i.wrapping_mul(61_356), 7) as usize] += 1;
        }
        assert!(hits.iter().all(|h| h.abs_diff(10_000) < 10), "{hits:?}");
    }
}
