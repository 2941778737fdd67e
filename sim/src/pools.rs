//! Pools of a scenario without running it: pairs, shards, sizes (table E).

use lingua_core::{LookupMap, Pair, PoolRule, Shards};
use lingua_scenarios::Scenario;

use crate::SimError;
use crate::setup::{self, Names};

/// Bytes of a pool's key and bookkeeping, by a rough count of a set key in Redis.
const KEY_BYTES: u64 = 96;
/// Bytes of one member of a pool.
const MEMBER_BYTES: u64 = 24;

/// A pool rule with its name in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule(PoolRule);

impl Rule {
    /// The three rules.
    pub const ALL: [Self; 3] =
        [Self(PoolRule::AsrXTts), Self(PoolRule::AsrXSemantic), Self(PoolRule::FaceToFace)];

    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        match self.0 {
            PoolRule::AsrXTts => "asr-x-tts",
            PoolRule::AsrXSemantic => "asr-x-semantic",
            PoolRule::FaceToFace => "f2f",
        }
    }
}

/// What the nodes come to. Ranges are smallest, mean, largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pools {
    /// Directed pairs with a node.
    pub pairs: u64,
    /// Nodes per pair.
    pub nodes_per_pair: (f64, f64, f64),
    /// Shards per pair.
    pub shards_per_pair: (f64, f64, f64),
    /// Pools built.
    pub pools: u64,
    /// Pools by the documents' formula: pairs × ceil(mean nodes per pair / shard size).
    pub by_formula: u64,
    /// Pairs in demand without a node.
    pub unserved: u64,
    /// Pools a node is in.
    pub pools_per_node: f64,
    /// Members of the largest pool.
    pub largest: u64,
    /// What a member of the smallest shard gets of a uniform choice of shards, 1 = fair; the
    /// largest such value of all pairs.
    pub bias: f64,
    /// Rough size of the index.
    pub bytes: u64,
}

impl Pools {
    /// Builds the pools of all nodes of a scenario.
    ///
    /// # Errors
    /// A group's languages are wrong.
    pub fn of(scenario: &Scenario, rule: Rule) -> Result<Self, SimError> {
        let names = Names::of(scenario);
        let shard_size = scenario.scheduler.shard_size as usize;
        let mut members: LookupMap<Pair, u64> = LookupMap::default();
        let mut pairs: Vec<Pair> = Vec::new();
        let (mut nodes, mut memberships) = (0u64, 0u64);
        for group in &scenario.nodes {
            let caps = setup::capabilities(&names, group, rule.0)?;
            let joined = caps.languages.pairs(rule.0);
            nodes += u64::from(group.count);
            memberships += joined.len() as u64 * u64::from(group.count);
            for pair in joined {
                if !members.contains(&pair) {
                    pairs.push(pair);
                }
                *members.entry_or_default(pair) += u64::from(group.count);
            }
        }
        let sizes: Vec<u64> = pairs.iter().filter_map(|pair| members.get(pair).copied()).collect();
        let shards: Vec<u64> =
            sizes.iter().map(|&n| n.div_ceil(shard_size as u64).min(Shards::MAX as u64)).collect();
        let pools = shards.iter().sum();
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len().max(1) as f64;
        let per_pair = libm::ceil(mean / shard_size as f64) as u64;
        let bias = sizes.iter().zip(&shards).map(|(&n, &k)| bias(n, k, shard_size as u64));
        let demand = scenario.sessions.iter().flat_map(|g| g.pair.iter().chain(&g.pairs));
        let demand =
            demand.chain(scenario.arrivals.iter().flat_map(|g| g.pair.iter().chain(&g.pairs)));
        let mut unserved = 0;
        for pair in demand {
            unserved += u64::from(!members.contains(&setup::pair(pair)?));
        }
        Ok(Self {
            pairs: pairs.len() as u64,
            nodes_per_pair: range(&sizes),
            shards_per_pair: range(&shards),
            pools,
            by_formula: pairs.len() as u64 * per_pair,
            unserved,
            pools_per_node: memberships as f64 / nodes.max(1) as f64,
            largest: sizes.iter().map(|&n| n.min(shard_size as u64)).max().unwrap_or(0),
            bias: bias.fold(1.0, f64::max),
            bytes: pools * KEY_BYTES + memberships * MEMBER_BYTES,
        })
    }
}

fn range(values: &[u64]) -> (f64, f64, f64) {
    let min = values.iter().min().copied().unwrap_or(0) as f64;
    let max = values.iter().max().copied().unwrap_or(0) as f64;
    (min, values.iter().sum::<u64>() as f64 / values.len().max(1) as f64, max)
}

/// A member's share of the smallest shard over the fair one, where full shards come first.
fn bias(nodes: u64, shards: u64, size: u64) -> f64 {
    let rest = nodes - (shards.saturating_sub(1)) * size;
    if shards == 0 || rest == 0 { 1.0 } else { nodes as f64 / (shards as f64 * rest as f64) }
}
