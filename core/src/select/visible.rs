//! Which shards a documented scan gets to see.

use crate::draws::pick;
use crate::select::{Choice, Chosen, View};
use crate::{Candidates, Directory, NodeNum, Words};

/// How the documents' shard handling bends a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShardQuirks {
    /// Only this shard (`preferred_pool` pinning).
    pub pinned: Option<u16>,
    /// The search ends at the first empty shard after one with members.
    pub stop_at_hole: bool,
}

impl ShardQuirks {
    /// No bending.
    pub const NONE: Self = Self { pinned: None, stop_at_hole: false };

    pub(super) fn bend(self) -> bool {
        self != Self::NONE
    }
}

/// The shards with members that the search gets to see.
pub(super) fn shards<'a>(
    directory: &'a Directory,
    choice: &Choice<'_>,
) -> impl Iterator<Item = &'a [NodeNum]> + Clone + 'a {
    let quirks = choice.quirks;
    let all = directory.shards(choice.needs.pair).map_or(&[][..], |shards| shards.all());
    let mut seen = false;
    let mut closed = false;
    all.iter()
        .enumerate()
        .filter(move |&(at, _)| quirks.pinned.is_none_or(|pinned| usize::from(pinned) == at))
        .map(move |(_, members)| {
            closed |= quirks.stop_at_hole && seen && members.is_empty();
            seen |= !members.is_empty();
            if closed { &[][..] } else { members.as_slice() }
        })
        .filter(|members| !members.is_empty())
}

/// N random members of the visible shards. Unlike the clean sample it meets nodes that do not fit.
pub(super) fn sample(view: View<'_>, choice: &Choice<'_>, words: &Words) -> Chosen {
    let shards = shards(view.directory, choice);
    let total: u32 = shards.clone().map(|members| members.len() as u32).sum();
    let mut candidates = Candidates::default();
    for &word in words.0.iter().take(choice.sample) {
        if total == 0 {
            break;
        }
        let mut left = pick(word, total) as usize;
        for members in shards.clone() {
            if left < members.len() {
                if !candidates.contains(members[left]) && !choice.excluded.contains(members[left]) {
                    candidates.push(members[left]);
                }
                break;
            }
            left -= members.len();
        }
    }
    Chosen { looked_at: candidates.as_slice().len() as u32, candidates }
}
