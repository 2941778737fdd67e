//! A run split over several load generators: who takes which peers and jobs.

use std::fmt;
use std::str::FromStr;

/// Most shards of one run.
const SHARDS_MAX: u32 = 10_000;

/// One part of a run, the `index`-th of `count`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Default for Shard {
    /// The whole run.
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

/// Text that names no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: write i/n with i from 0 to n - 1, such as 0/4")]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            let shard = Self { index: index.parse().ok()?, count: count.parse().ok()? };
            let fits = shard.index < shard.count && shard.count <= SHARDS_MAX;
            fits.then_some(shard)
        };
        parse().ok_or_else(|| ShardError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Shard {
    /// Whether the peer or job of this number is its own.
    pub(crate) fn has(self, number: u64) -> bool {
        number % u64::from(self.count) == u64::from(self.index)
    }

    /// The `n`-th of its own numbers.
    pub(crate) fn own(self, n: u32) -> u32 {
        n.saturating_mul(self.count).saturating_add(self.index)
    }

    /// Which of its own numbers this is, from 0; absent: it is another shard's.
    pub(crate) fn nth(self, number: u32) -> Option<u32> {
        self.has(number.into()).then_some(number / self.count)
    }

    /// Whether there are others.
    pub(crate) fn is_part(self) -> bool {
        self.count > 1
    }

    /// How many of so many are its own.
    pub(crate) fn share(self, all: u64) -> u64 {
        let (index, count) = (u64::from(self.index), u64::from(self.count));
        (all + count - 1 - index) / count
    }

    /// As the record of the run has it.
    pub(crate) fn record(self) -> lingua_reports::load::Shard {
        lingua_reports::load::Shard { index: self.index, of: self.count }
    }

    /// How many there are.
    pub(crate) fn count(self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_shard() {
        for all in [0, 1, 7, 100] {
            let shards = (0..3).map(|index| Shard { index, count: 3 });
            assert_eq!(shards.clone().map(|shard| shard.share(all)).sum::<u64>(), all);
            for number in 0..all {
                assert_eq!(shards.clone().filter(|shard| shard.has(number)).count(), 1);
            }
        }
        let shard: Shard = "1/3".parse().unwrap();
        assert!((0..5).all(|n| shard.nth(shard.own(n)) == Some(n)));
        assert_eq!(shard.nth(3), None);
        assert_eq!(shard.to_string(), "1/3");
        for text in ["", "3/3", "1", "a/b", "0/0", "-1/3", "0/99999"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
