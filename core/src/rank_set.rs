//! A set of small numbers that answers "which is the k-th?" fast.
//!
//! Words of 64 bits with a Fenwick tree over their counts: insert, remove, rank and select cost
//! O(log(n / 64)), two steps at 100 members and eight at 10,000.
//! The order is the numeric order, never the history, so that every execution chooses alike.

/// A set of `u32`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankSet {
    words: Vec<u64>,
    // 1-based Fenwick tree: tree[i] counts the members of words (i - lowbit(i), i].
    tree: Vec<u32>,
    len: u32,
}

impl RankSet {
    /// How many members.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `n` is a member.
    pub fn contains(&self, n: u32) -> bool {
        self.words.get(n as usize / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    /// Adds `n`; tells whether it was new.
    pub fn insert(&mut self, n: u32) -> bool {
        let word = n as usize / 64;
        if word >= self.words.len() {
            self.grow(word + 1);
        }
        let bit = 1 << (n % 64);
        let new = self.words[word] & bit == 0;
        if new {
            self.words[word] |= bit;
            self.len += 1;
            self.update(word, 1);
        }
        new
    }

    /// Removes `n`; tells whether it was there.
    pub fn remove(&mut self, n: u32) -> bool {
        if !self.contains(n) {
            return false;
        }
        let word = n as usize / 64;
        self.words[word] &= !(1 << (n % 64));
        self.len -= 1;
        self.update(word, u32::MAX);
        true
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.words.clear();
        self.tree.clear();
        self.len = 0;
    }

    /// The member with `rank` members below it.
    ///
    /// # Panics
    /// When `rank` is not below the number of members.
    pub fn select(&self, rank: u32) -> u32 {
        assert!(rank < self.len, "rank {rank} of {} members", self.len);
        let mut left = rank;
        let mut pos = 0;
        let mut step = self.tree.len().next_power_of_two() / 2;
        while step > 0 {
            let next = pos + step;
            if next < self.tree.len() && self.tree[next] <= left {
                left -= self.tree[next];
                pos = next;
            }
            step /= 2;
        }
        pos as u32 * 64 + select_in_word(self.words[pos], left)
    }

    /// How many members are below `n`.
    pub fn rank(&self, n: u32) -> u32 {
        let word = (n as usize / 64).min(self.words.len());
        let mut rank = 0;
        let mut i = word;
        while i > 0 {
            rank += self.tree[i];
            i &= i - 1;
        }
        match self.words.get(word) {
            Some(bits) if (n as usize / 64) == word => {
                rank + (bits & ((1 << (n % 64)) - 1)).count_ones()
            }
            _ => rank,
        }
    }

    /// All members in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut bits = word;
            std::iter::from_fn(move || {
                (bits != 0).then(|| {
                    let bit = bits.trailing_zeros();
                    bits &= bits - 1;
                    i as u32 * 64 + bit
                })
            })
        })
    }

    fn grow(&mut self, words: usize) {
        self.words.resize(words, 0);
        self.tree.clear();
        self.tree.resize(words + 1, 0);
        for word in 0..words {
            let count = self.words[word].count_ones();
            self.update(word, count);
        }
    }

    /// Adds `delta` (wrapping, so that `u32::MAX` takes one away) to the count of a word.
    fn update(&mut self, word: usize, delta: u32) {
        let mut i = word + 1;
        while i < self.tree.len() {
            self.tree[i] = self.tree[i].wrapping_add(delta);
            i += i & i.wrapping_neg();
        }
    }
}

/// Position of the set bit with `rank` set bits below it.
fn select_in_word(word: u64, rank: u32) -> u32 {
    let mut bits = word;
    for _ in 0..rank {
        bits &= bits - 1;
    }
    bits.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(ops in prop::collection::vec((any::<bool>(), 0u32..700), 0..400)) {
            let mut set = RankSet::default();
            let mut model = BTreeSet::new();
            for (add, n) in ops {
                if add {
                    prop_assert_eq!(set.insert(n), model.insert(n));
                } else {
                    prop_assert_eq!(set.remove(n), model.remove(&n));
                }
                prop_assert_eq!(set.len() as usize, model.len());
            }
            let members: Vec<u32> = model.iter().copied().collect();
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), members.clone());
            for (rank, &member) in members.iter().enumerate() {
                prop_assert_eq!(set.select(rank as u32), member);
                prop_assert_eq!(set.rank(member), rank as u32);
            }
            for n in [0, 63, 64, 699, 5_000] {
                prop_assert_eq!(set.rank(n) as usize, model.range(..n).count());
                prop_assert_eq!(set.contains(n), model.contains(&n));
            }
        }
    }
}
