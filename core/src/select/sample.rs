//! N random members, all different, uniform over the fitting nodes.

use crate::draws::pick;
use crate::select::{Choice, Chosen, View, visible};
use crate::{CANDIDATES_MAX, Candidates, ClassId, EXCLUDED_MAX, NodeNum, Words};

pub(super) fn choose(view: View<'_>, choice: &Choice<'_>, words: &Words) -> Chosen {
    if choice.quirks.bend() {
        return visible::sample(view, choice, words);
    }
    let mut sampled = Candidates::default();
    let n = choice.sample.min(CANDIDATES_MAX);
    if let Some(region) = choice.needs.region {
        let directory = view.directory;
        let near = |class| directory.class(class).caps.region == Some(region);
        sample_classes(view, choice, words, n, near, &mut sampled);
        sample_classes(view, choice, words, n, |class| !near(class), &mut sampled);
    } else {
        sample_classes(view, choice, words, n, |_| true, &mut sampled);
    }
    Chosen { looked_at: sampled.as_slice().len() as u32, candidates: sampled }
}

/// Fills the sample up to `n` from the classes wanted.
fn sample_classes(
    view: View<'_>,
    choice: &Choice<'_>,
    words: &Words,
    n: usize,
    wanted: impl Fn(ClassId) -> bool + Clone,
    sampled: &mut Candidates,
) {
    let directory = view.directory;
    let classes = directory.fitting(choice.needs).filter(|&class| wanted(class));
    let total: u32 = classes.clone().map(|class| directory.class(class).members.len()).sum();
    let mut taken = Taken::default();
    for node in choice.excluded.as_slice() {
        let mut before = 0;
        for class in classes.clone() {
            let members = &directory.class(class).members;
            if members.contains(node.0) {
                taken.insert(before + members.rank(node.0));
            }
            before += members.len();
        }
    }
    while sampled.as_slice().len() < n && taken.len < total as usize {
        let word = words.0[sampled.as_slice().len()];
        let rank = taken.nth_left(pick(word, total - taken.len as u32));
        taken.insert(rank);
        let mut left = rank;
        for class in classes.clone() {
            let members = &directory.class(class).members;
            if left < members.len() {
                sampled.push(NodeNum(members.select(left)));
                break;
            }
            left -= members.len();
        }
    }
}

/// Members in turn: the next N after as many dispatches as there were.
pub(super) fn in_turn(view: View<'_>, choice: &Choice<'_>) -> Chosen {
    let directory = view.directory;
    let classes = directory.fitting(choice.needs);
    let total: u32 = classes.clone().map(|class| directory.class(class).members.len()).sum();
    let mut candidates = Candidates::default();
    for step in 0..total.min(choice.sample as u32) {
        let mut left = (choice.turn % total + step) % total;
        for class in classes.clone() {
            let members = &directory.class(class).members;
            if left < members.len() {
                let node = NodeNum(members.select(left));
                if !choice.excluded.contains(node) {
                    candidates.push(node);
                }
                break;
            }
            left -= members.len();
        }
    }
    Chosen { looked_at: candidates.as_slice().len() as u32, candidates }
}

/// Ranks already taken, sorted.
struct Taken {
    ranks: [u32; CANDIDATES_MAX + EXCLUDED_MAX],
    len: usize,
}

impl Default for Taken {
    fn default() -> Self {
        Self { ranks: [0; CANDIDATES_MAX + EXCLUDED_MAX], len: 0 }
    }
}

impl Taken {
    fn insert(&mut self, rank: u32) {
        let mut at = self.len;
        while at > 0 && self.ranks[at - 1] > rank {
            self.ranks[at] = self.ranks[at - 1];
            at -= 1;
        }
        self.ranks[at] = rank;
        self.len += 1;
    }

    /// The `n`-th rank that is not taken.
    fn nth_left(&self, n: u32) -> u32 {
        self.ranks[..self.len].iter().fold(n, |rank, &taken| rank + u32::from(taken <= rank))
    }
}

#[cfg(test)]
mod tests {
    use super::Taken;

    #[test]
    fn nth_left_skips_what_is_taken() {
        let mut taken = Taken::default();
        for rank in [5, 0, 3] {
            taken.insert(rank);
        }
        let left: Vec<_> = (0..4).map(|n| taken.nth_left(n)).collect();
        assert_eq!(left, [1, 2, 4, 6]);
    }
}
