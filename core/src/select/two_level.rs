//! A uniform shard, then a uniform member of it, as v3.0 writes it: members of small shards get
//! more than their share.

use crate::draws::pick;
use crate::select::{Choice, Chosen, View, visible};
use crate::{Candidates, Words};

pub(super) fn choose(view: View<'_>, choice: &Choice<'_>, words: &Words) -> Chosen {
    let mut candidates = Candidates::default();
    let shards = visible::shards(view.directory, choice);
    let count = shards.clone().count() as u32;
    if count > 0 {
        let shard = pick(words.0[0], count) as usize;
        if let Some(members) = shards.clone().nth(shard) {
            candidates.push(members[pick(words.0[1], members.len() as u32) as usize]);
        }
    }
    Chosen { candidates, looked_at: 1 }
}
