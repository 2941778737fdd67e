//! What an instance may believe, reckoned from what it was shown: the bound of its limit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lingua_core::InstanceId;
use lingua_core::claim::{DutyId, Tolerance, View, limit};

/// The members that acquire.
pub(super) fn acquiring(view: &View) -> BTreeSet<InstanceId> {
    let members = view.members.iter().filter(|member| !member.draining);
    members.map(|member| member.membership.instance).collect()
}

/// Since a recount, by its number.
#[derive(Debug)]
struct Since {
    recount: u32,
    /// Those that acquired all the time. Whatever events an instance hears, misses, or hears in
    /// another order, it counts these.
    stayed: BTreeSet<InstanceId>,
}

/// Of one instance.
#[derive(Debug, Default)]
pub(super) struct Belief {
    recounts: u32,
    since: VecDeque<Since>,
    ages: BTreeMap<DutyId, u32>,
    raise: usize,
}

impl Belief {
    pub(super) fn recounts(&self) -> u32 {
        self.recounts
    }

    /// Something has changed at the coordinator.
    pub(super) fn note(&mut self, acquiring: &BTreeSet<InstanceId>) {
        for since in &mut self.since {
            since.stayed.retain(|instance| acquiring.contains(instance));
        }
    }

    /// The coordinator has answered a recount.
    pub(super) fn looked(&mut self, stayed: BTreeSet<InstanceId>) {
        self.recounts += 1;
        self.since.push_back(Since { recount: self.recounts, stayed });
    }

    /// A membership has begun: what was seen before is forgotten.
    pub(super) fn joined(&mut self) {
        self.ages.clear();
        self.raise = 0;
    }

    /// The answer to a recount has arrived: duties that lie unclaimed age.
    pub(super) fn recounted(&mut self, recount: u32, view: &View, patience: u32) {
        self.since.retain(|since| since.recount >= recount);
        let before = std::mem::take(&mut self.ages);
        let free = view.duties.iter().filter(|(_, holder)| holder.is_none());
        self.ages =
            free.map(|&(duty, _)| (duty, before.get(&duty).map_or(1, |age| age + 1))).collect();
        let oldest = self.ages.values().max().copied().unwrap_or(0);
        self.raise = oldest
            .checked_sub(patience)
            .map_or(0, |beyond| 1usize.checked_shl(beyond).unwrap_or(usize::MAX));
    }

    /// The most that it may acquire by the number of instances alone, and what ageing adds.
    pub(super) fn bound(&self, duties: u32, tolerance: Tolerance) -> (usize, usize) {
        let fewest = self.since.iter().map(|since| since.stayed.len()).min().unwrap_or(0);
        (limit(duties as usize, fewest, tolerance), self.raise)
    }
}
