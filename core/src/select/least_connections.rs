//! The least loaded of all fitting nodes, by looking at each: O(n), as Phase 0 does it.

use crate::draws::pick;
use crate::select::{Choice, Chosen, View};
use crate::{Candidates, NodeNum, Words};

pub(super) fn choose(view: View<'_>, choice: &Choice<'_>, words: &Words) -> Chosen {
    let nodes = || {
        let classes = view.directory.fitting(choice.needs);
        classes
            .flat_map(|class| view.directory.class(class).members.iter())
            .map(NodeNum)
            .filter(|&node| !choice.excluded.contains(node))
    };
    let mut looked_at = 0;
    let mut least = u32::MAX;
    let mut ties = 0;
    for node in nodes() {
        looked_at += 1;
        let load = view.load(node);
        if load < least {
            (least, ties) = (load, 1);
        } else if load == least {
            ties += 1;
        }
    }
    let mut candidates = Candidates::default();
    if ties > 0 {
        let chosen = pick(words.tie(), ties) as usize;
        if let Some(node) = nodes().filter(|&node| view.load(node) == least).nth(chosen) {
            candidates.push(node);
        }
    }
    Chosen { candidates, looked_at }
}
