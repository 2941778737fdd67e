//! Pools: per pair its nodes, slots and use.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lingua_core::{Languages, NodeState, Pair, PoolRule};
use serde::{Serialize, Serializer};

use crate::hub::Sample;

/// Pools that are shown; beyond that, those most in use.
const POOLS_MAX: usize = 500;

/// Memberships that are looked at. A fleet has far fewer; a fleet in which every node names other
/// languages than the rest, a hundred each, must not keep a core busy.
const MEMBERSHIPS_MAX: usize = 1 << 18;

/// One pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Pool {
    #[serde(serialize_with = "shown")]
    pub(crate) pair: Pair,
    /// Nodes that speak it.
    pub(crate) nodes: u32,
    /// Their slots. A node that speaks several pairs lends its slots to each.
    pub(crate) slots: u32,
    /// Slots that a job of this pair could have now.
    pub(crate) free: u32,
    /// Jobs of this pair at a node.
    pub(crate) running: u32,
    pub(crate) sessions: u32,
}

fn shown<S: Serializer>(pair: &Pair, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(pair)
}

/// The pools by name. A pair without nodes is among them where somebody wants it.
pub(super) fn of(sample: &Sample, rule: PoolRule) -> Vec<Pool> {
    // Nodes with the same languages are in the same pools: one walk of their pairs for all.
    let mut alike = BTreeMap::<&Languages, [u32; 3]>::new();
    for node in &sample.nodes {
        let status = node.status;
        let free = match status.state {
            NodeState::Ready => status.max_jobs.saturating_sub(status.running),
            _ => 0,
        };
        let sums = alike.entry(&node.profile.languages).or_default();
        for (sum, more) in sums.iter_mut().zip([1, status.max_jobs, free]) {
            *sum += more;
        }
    }
    let mut pools = BTreeMap::<Pair, Pool>::new();
    let memberships = alike.into_iter().flat_map(|(languages, sums)| {
        languages.pairs(rule).into_iter().map(move |pair| (pair, sums))
    });
    for (pair, [nodes, slots, free]) in memberships.take(MEMBERSHIPS_MAX) {
        let pool = pools.entry(pair).or_insert_with(|| Pool::empty(pair));
        pool.nodes += nodes;
        pool.slots += slots;
        pool.free += free;
    }
    for (&pair, in_use) in &sample.pairs {
        let pool = pools.entry(pair).or_insert_with(|| Pool::empty(pair));
        pool.running = in_use.running;
        pool.sessions = in_use.sessions;
    }
    let mut pools: Vec<Pool> = pools.into_values().collect();
    if pools.len() > POOLS_MAX {
        pools.sort_by_key(|pool| Reverse((pool.running, pool.sessions, pool.nodes)));
        pools.truncate(POOLS_MAX);
        pools.sort_by_key(|pool| pool.pair);
    }
    pools
}

impl Pool {
    fn empty(pair: Pair) -> Self {
        Self { pair, nodes: 0, slots: 0, free: 0, running: 0, sessions: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lingua_core::{Micros, NodeStatus};

    use super::*;
    use crate::hub::NodeSample;
    use crate::profile::{Profile, Services};

    fn node(asr: &[&str], tts: &[&str], running: u32, state: NodeState) -> NodeSample {
        let langs = |tags: &[&str]| tags.iter().map(|tag| tag.parse().unwrap()).collect::<Vec<_>>();
        let (asr, tts) = (langs(asr), langs(tts));
        let languages = Languages::new(&asr, &asr, &tts, PoolRule::AsrXTts).unwrap();
        NodeSample {
            name: "n".into(),
            profile: Arc::new(Profile { languages, ..Profile::default() }),
            status: NodeStatus { running, max_jobs: 4, state },
            services: Services::default(),
            usage: [None; 3],
            heard: Micros::ZERO,
            since: Micros::ZERO,
        }
    }

    fn pair(text: &str) -> Pair {
        let (src, tgt) = text.split_once(':').unwrap();
        Pair { src: src.parse().unwrap(), tgt: tgt.parse().unwrap() }
    }

    #[test]
    fn slots_are_lent_to_every_pair_of_a_node_and_an_empty_pair_is_shown() {
        let mut sample = Sample {
            nodes: vec![
                node(&["zh"], &["en", "de"], 1, NodeState::Ready),
                node(&["zh"], &["en", "de"], 2, NodeState::Draining),
                node(&["zh"], &["en"], 4, NodeState::Full),
            ],
            ..Sample::default()
        };
        let in_use = sample.pairs.entry(pair("zh:en")).or_default();
        (in_use.sessions, in_use.running) = (7, 5);
        sample.pairs.entry(pair("ja:en")).or_default().sessions = 1;
        let pool = |text, nodes, slots, free, running, sessions| Pool {
            pair: pair(text),
            nodes,
            slots,
            free,
            running,
            sessions,
        };
        assert_eq!(
            of(&sample, PoolRule::AsrXTts),
            [
                pool("ja:en", 0, 0, 0, 0, 1),
                pool("zh:de", 2, 8, 3, 0, 0),
                pool("zh:en", 3, 12, 3, 5, 7)
            ]
        );
    }
}
