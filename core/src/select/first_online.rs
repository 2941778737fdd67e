//! The first online member, as the documented dispatch script has it: nearly all jobs go to one
//! node.

use crate::select::{Choice, Chosen, SetOrder, View, visible};
use crate::{Candidates, NodeNum};

pub(super) fn choose(view: View<'_>, choice: &Choice<'_>, order: SetOrder) -> Chosen {
    let mut candidates = Candidates::default();
    let mut looked_at = 0;
    for members in visible::shards(view.directory, choice) {
        looked_at += members.len() as u32;
        let online = members.iter().filter(|&&node| view.directory.fits(node, &choice.needs));
        let first = match order {
            SetOrder::Sorted => online.min(),
            SetOrder::Set => online.min_by_key(|&&node| set_position(node)),
        };
        if let Some(&node) = first {
            candidates.push(node);
            break;
        }
    }
    Chosen { candidates, looked_at }
}

/// A stand-in for the place of a member in an unordered set: fixed and without meaning.
fn set_position(node: NodeNum) -> (u32, NodeNum) {
    // The finalizer of MurmurHash3: every bit of the number moves every bit of the place.
    let mut x = node.0.wrapping_add(0x9e37_79b9);
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    (x ^ (x >> 16), node)
}
