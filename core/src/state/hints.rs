//! The free index on a Cluster. Home: the capability class.
//!
//! It lies in another slot than the nodes, so it is told of their state by whoever changed it,
//! and corrected with each heartbeat. It hints; the reserve at the node decides.

use crate::draws::pick;
use crate::rank_set::RankSet;
use crate::state::State;
use crate::state::op::Candidates;
use crate::state::steps::{FOUND_MAX, Find};
use crate::{ClassId, NodeNum};

/// Nodes that are said to have a free slot, by class.
#[derive(Debug, Clone, Default)]
pub(super) struct Hints {
    free: Vec<RankSet>,
    // The class in which a node stands.
    class_of: Vec<Option<ClassId>>,
}

impl Hints {
    pub(super) fn free(&self) -> &Vec<RankSet> {
        &self.free
    }
}

impl State {
    /// Takes note of whether a node has a free slot.
    pub(super) fn hint(&mut self, node: NodeNum, free: bool) {
        let class = self.directory.class_of_node(node).filter(|_| free);
        let hints = &mut self.hints;
        if node.index() >= hints.class_of.len() {
            hints.class_of.resize(node.index() + 1, None);
        }
        let stood = std::mem::replace(&mut hints.class_of[node.index()], class);
        if stood == class {
            return;
        }
        if let Some(class) = stood {
            hints.free[class.0 as usize].remove(node.0);
        }
        if let Some(class) = class {
            if class.0 as usize >= hints.free.len() {
                hints.free.resize(class.0 as usize + 1, RankSet::default());
            }
            hints.free[class.0 as usize].insert(node.0);
        }
    }

    /// Some nodes of a class that are said to be free, from a random rank on.
    pub(super) fn find(&self, find: &Find) -> Candidates {
        let mut found = Candidates::default();
        let Some(free) = self.hints.free.get(find.class.0 as usize) else { return found };
        let total = free.len();
        if total == 0 {
            return found;
        }
        let start = pick(find.word, total);
        for step in 0..total {
            let num = NodeNum(free.select((start + step) % total));
            if find.excluded.contains(num) {
                continue;
            }
            found.push(num);
            if found.as_slice().len() == FOUND_MAX {
                break;
            }
        }
        found
    }
}
