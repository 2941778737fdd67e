//! Two levels: first a pool of nodes, by load and locality; then a node of it.

use crate::draws::pick;
use crate::select::{Choice, Chosen, Policy, View, choose};
use crate::{RegionId, Words};

/// What is known of a pool from afar. It may be stale: the pool's own atomic step decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLoad {
    /// Where it is.
    pub region: Option<RegionId>,
    /// Slots taken.
    pub busy: u32,
    /// Slots in all.
    pub slots: u32,
}

impl PoolLoad {
    fn free(self) -> u32 {
        self.slots.saturating_sub(self.busy)
    }

    fn is_below(self, permille: u32) -> bool {
        u64::from(self.busy) * 1_000 < u64::from(self.slots) * u64::from(permille)
    }
}

/// Pools by position, of the first 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolSet(u64);

impl PoolSet {
    /// Most pools.
    pub const POOLS_MAX: usize = 64;

    /// Adds a pool.
    ///
    /// # Panics
    /// When the position is 64 or more.
    pub fn insert(&mut self, pool: usize) {
        assert!(pool < Self::POOLS_MAX, "64 pools");
        self.0 |= 1 << pool;
    }

    /// Whether a pool is in it.
    pub fn contains(self, pool: usize) -> bool {
        pool < Self::POOLS_MAX && self.0 >> pool & 1 == 1
    }
}

/// Chooses a pool that was not tried yet, by chance in proportion to its free slots: one whose
/// load is known too late is not stormed by all. Pools of the region asked for come first while
/// they are below `spill_permille`; then any with a free slot.
pub fn choose_pool(
    pools: &[PoolLoad],
    region: Option<RegionId>,
    tried: PoolSet,
    spill_permille: u32,
    word: u32,
) -> Option<usize> {
    let open = |near: bool| {
        let pools = pools.iter().enumerate().take(PoolSet::POOLS_MAX);
        pools.filter(move |&(at, pool)| {
            let fits = !near || (pool.region == region && pool.is_below(spill_permille));
            fits && !tried.contains(at) && pool.free() > 0
        })
    };
    let near = region.is_some() && open(true).next().is_some();
    let free: u32 = open(near).map(|(_, pool)| pool.free()).fold(0, u32::saturating_add);
    if free == 0 {
        return None;
    }
    let mut left = pick(word, free);
    for (at, pool) in open(near) {
        if left < pool.free() {
            return Some(at);
        }
        left -= pool.free();
    }
    None
}

/// Pools: how full each is from afar, and what is known inside, in the same order.
#[derive(Debug, Clone, Copy)]
pub struct Pools<'a> {
    /// From afar.
    pub loads: &'a [PoolLoad],
    /// Inside.
    pub views: &'a [View<'a>],
    /// From which load on, in permille, a near pool is no better than a far one.
    pub spill_permille: u32,
}

/// Chooses a pool that was not tried yet and has candidates, and its candidates. Pools looked at
/// are added to `tried`, so that a refused dispatch goes on with the next one.
pub fn choose_in_pools(
    policy: Policy,
    pools: Pools<'_>,
    region: Option<RegionId>,
    tried: &mut PoolSet,
    choice: &Choice<'_>,
    word: u32,
    words: &Words,
) -> Option<(usize, Chosen)> {
    loop {
        let pool = choose_pool(pools.loads, region, *tried, pools.spill_permille, word)?;
        tried.insert(pool);
        let chosen = choose(policy, *pools.views.get(pool)?, choice, words);
        if !chosen.candidates.as_slice().is_empty() {
            return Some((pool, chosen));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(region: u16, busy: u32, slots: u32) -> PoolLoad {
        PoolLoad { region: Some(RegionId(region)), busy, slots }
    }

    fn share(pools: &[PoolLoad], region: Option<u16>, tried: PoolSet) -> Vec<u32> {
        let mut hits = vec![0; pools.len()];
        for i in 0..1_000u32 {
            let word = ((u64::from(i) << 32) / 1_000) as u32 + 1;
            if let Some(at) = choose_pool(pools, region.map(RegionId), tried, 800, word) {
                hits[at] += 1;
            }
        }
        hits
    }

    #[test]
    fn pools_are_chosen_by_free_slots_and_near_ones_first() {
        let pools = [pool(1, 0, 30), pool(1, 10, 20), pool(2, 0, 60), pool(2, 60, 60)];
        let none = PoolSet::default();
        assert_eq!(share(&pools, None, none), [300, 100, 600, 0]);
        assert_eq!(share(&pools, Some(1), none), [750, 250, 0, 0]);
        assert_eq!(share(&pools, Some(9), none), [300, 100, 600, 0], "nobody is near");
        let mut tried = none;
        tried.insert(0);
        assert_eq!(share(&pools, Some(1), tried), [0, 1_000, 0, 0]);
        tried.insert(1);
        assert_eq!(share(&pools, Some(1), tried), [0, 0, 1_000, 0], "then far ones");
        tried.insert(2);
        assert_eq!(share(&pools, Some(1), tried), [0; 4], "a full pool is never chosen");
    }

    #[test]
    fn a_near_pool_spills_over_when_it_is_nearly_full() {
        let pools = [pool(1, 80, 100), pool(2, 0, 20)];
        assert_eq!(share(&pools, Some(1), PoolSet::default()), [500, 500]);
        let pools = [pool(1, 79, 100), pool(2, 0, 20)];
        assert_eq!(share(&pools, Some(1), PoolSet::default()), [1_000, 0]);
    }
}
