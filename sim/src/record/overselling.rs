//! Overselling: how often, where, how far and for how long.

use std::collections::BTreeMap;

use lingua_core::Micros;

use super::Recorder;

/// Accounts of overselling.
#[derive(Debug, Default)]
pub(crate) struct Overselling {
    pub(crate) assignments: u64,
    pub(crate) max_excess: u64,
    pub(crate) by_excess: BTreeMap<u64, u64>,
    pub(crate) by_duration_ms: BTreeMap<u64, u64>,
    nodes: Vec<bool>,
}

impl Overselling {
    pub(crate) fn node_count(&self) -> u64 {
        self.nodes.iter().filter(|&&oversold| oversold).count() as u64
    }
}

impl Recorder {
    /// A node has got more jobs than it may have.
    pub(crate) fn oversell(&mut self, node: u32, excess: u32, counted: bool) {
        if !counted {
            return;
        }
        let overselling = &mut self.overselling;
        overselling.assignments += 1;
        overselling.max_excess = overselling.max_excess.max(u64::from(excess));
        *overselling.by_excess.entry(u64::from(excess)).or_default() += 1;
        let node = node as usize;
        if node >= overselling.nodes.len() {
            overselling.nodes.resize(node + 1, false);
        }
        overselling.nodes[node] = true;
    }

    /// A spell of overselling at one node is over.
    pub(crate) fn oversold_spell(&mut self, span: Micros) {
        let ms = (span.0 / 1_000).max(1).next_power_of_two();
        *self.overselling.by_duration_ms.entry(ms).or_default() += 1;
    }

    /// Keeps the number of jobs at a node.
    pub(crate) fn set_level(&mut self, node: u32, level: u32, max_jobs: u32) {
        let node = node as usize;
        if node >= self.node_levels.len() {
            self.node_levels.resize(node + 1, 0);
        }
        let before = std::mem::replace(&mut self.node_levels[node], level);
        self.series.level_changed(before, level, max_jobs);
    }
}
