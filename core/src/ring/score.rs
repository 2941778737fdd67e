//! Rendezvous hashing: which instance a key prefers.
//!
//! Every instance draws a lot for the key, and the shortest time wins: `-log2(u) / weight` with `u`
//! uniform from the hash of both. So each wins in proportion to its weight, and another one's coming
//! or going changes nobody's lot. Integers alone, so that all machines agree.

use super::hash::hash_pair;
use crate::InstanceId;

/// An instance's share of the keys, relative to the others': 1 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u16);

impl Weight {
    /// One share.
    pub const ONE: Self = Self(1);
    /// Largest weight.
    pub const MAX: u16 = 1_000;

    /// A weight; absent when out of range.
    pub fn new(weight: u16) -> Option<Self> {
        (1..=Self::MAX).contains(&weight).then_some(Self(weight))
    }

    /// As a number.
    pub fn get(self) -> u16 {
        self.0
    }
}

/// An instance's lot for a key; the smallest wins.
pub(super) fn lot(key: u64, instance: InstanceId, weight: Weight) -> u64 {
    let uniform = hash_pair(key, u64::from(instance.0));
    (minus_log2(uniform) << 20) / u64::from(weight.0)
}

const TABLE_BITS: u32 = 10;
const TABLE: [u32; (1 << TABLE_BITS) + 1] = log2_table();

/// `-log2((hash + 1) / 2^64)` in 2^-32, with an error below 2^-22.
fn minus_log2(hash: u64) -> u64 {
    let hash = hash.max(1);
    let zeros = hash.leading_zeros();
    // 1.f, the leading bit shifted out.
    let fraction = (hash << zeros) << 1;
    let at = (fraction >> (64 - TABLE_BITS)) as usize;
    let within = (fraction << TABLE_BITS) >> 32;
    let (low, high) = (u64::from(TABLE[at]), table_end(at + 1));
    let log2 = low + (((high - low) * within) >> 32);
    ((u64::from(zeros) + 1) << 32) - log2
}

/// The last entry is 1, which its 32 bits cannot hold.
fn table_end(at: usize) -> u64 {
    if at == 1 << TABLE_BITS { 1 << 32 } else { u64::from(TABLE[at]) }
}

/// `log2(1 + i / 1024)` in 2^-32, bit by bit: squaring doubles the logarithm.
const fn log2_table() -> [u32; (1 << TABLE_BITS) + 1] {
    let mut table = [0; (1 << TABLE_BITS) + 1];
    let mut i = 0;
    while i < 1 << TABLE_BITS {
        let one = 1u128 << 62;
        let mut x = one + ((i as u128) << (62 - TABLE_BITS));
        let mut bit = 0;
        while bit < 32 {
            x = (x * x) >> 62;
            table[i] <<= 1;
            if x >= one << 1 {
                x >>= 1;
                table[i] |= 1;
            }
            bit += 1;
        }
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one() {
        for i in 0..10_000u64 {
            let hash = hash_pair(i, 3) >> (i % 50);
            let exact = 64.0 - (hash as f64).log2();
            let found = minus_log2(hash) as f64 / 2f64.powi(32);
            assert!((found - exact).abs() < 2f64.powi(-22), "{hash}: {found}, not {exact}");
        }
        assert!(minus_log2(u64::MAX) < 1 << 10, "nearly zero");
        assert_eq!(minus_log2(0), 64 << 32);
    }

    #[test]
    fn weights_are_shares() {
        let weights = [1, 2, 5].map(|weight| Weight::new(weight).unwrap());
        let mut wins = [0; 3];
        for key in 0..80_000 {
            let lots = (0..3).min_by_key(|&i| lot(key, InstanceId(i as u16), weights[i]));
            wins[lots.unwrap()] += 1;
        }
        // Three standard errors.
        for (wins, share) in wins.into_iter().zip([10_000i32, 20_000, 50_000]) {
            assert!((wins - share).abs() < 420, "{wins} of {share}");
        }
        assert_eq!(Weight::new(0), None);
        assert_eq!(Weight::new(1_001), None);
    }
}
