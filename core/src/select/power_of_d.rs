//! The least loaded of d samples first; ties keep the random order of the sample.

use crate::Words;
use crate::select::{Choice, Chosen, View, sample};

pub(super) fn choose(view: View<'_>, choice: &Choice<'_>, words: &Words) -> Chosen {
    let mut chosen = sample::choose(view, choice, words);
    let nodes = chosen.candidates.as_mut_slice();
    // Insertion sort: stable, in place, and a sample is short.
    for i in 1..nodes.len() {
        let mut at = i;
        while at > 0 && view.load(nodes[at]) < view.load(nodes[at - 1]) {
            nodes.swap(at, at - 1);
            at -= 1;
        }
    }
    chosen
}
