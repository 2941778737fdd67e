//! Accounts of nodes: how busy they are, and whether they were ever given too much.

use std::collections::BTreeMap;

use lingua_reports::load::Skew;
use lingua_reports::run::{Fairness, Oversold, Sample};
use lingua_reports::stats;

use super::Observer;
use crate::pacer::Nanos;

/// A node so many standard deviations above its equals has not got its jobs by chance.
const SIGMAS: f64 = 6.0;

/// One node.
#[derive(Debug)]
pub(crate) struct NodeAccount {
    pub(crate) name: String,
    pub(crate) max_jobs: u32,
    // What it told last.
    told: u32,
    /// Jobs of the counted part.
    pub(crate) jobs: u64,
    /// Jobs it has and has not answered.
    pub(crate) held: u32,
    pub(crate) connected: bool,
    /// Rises with each socket.
    pub(crate) generation: u32,
    pub(crate) since_connected: Nanos,
    /// Index of its group: nodes of one group are equal.
    pub(crate) group: u32,
    last_full: Option<Nanos>,
    window: (Nanos, Nanos),
    since: Nanos,
    // Integrals over the counted part, nanoseconds times jobs.
    busy: u64,
    excess: u64,
    // How long it was connected in the counted part, nanoseconds.
    present: u64,
    oversold_since: Option<Nanos>,
    oversold: u64,
    max_excess: u32,
    by_excess: BTreeMap<u64, u64>,
    by_duration_ms: BTreeMap<u64, u64>,
}

impl NodeAccount {
    fn new(name: String, max_jobs: u32, group: u32) -> Self {
        Self {
            name,
            max_jobs,
            told: max_jobs,
            jobs: 0,
            held: 0,
            connected: false,
            generation: 0,
            since_connected: 0,
            group,
            last_full: None,
            window: (0, 0),
            since: 0,
            busy: 0,
            excess: 0,
            present: 0,
            oversold_since: None,
            oversold: 0,
            max_excess: 0,
            by_excess: BTreeMap::new(),
            by_duration_ms: BTreeMap::new(),
        }
    }

    pub(super) fn start(&mut self, window: (Nanos, Nanos)) {
        self.window = window;
    }

    fn excess_now(&self) -> u32 {
        self.held.saturating_sub(self.max_jobs)
    }

    fn settle(&mut self, now: Nanos) {
        let (from, to) = self.window;
        let span = now.clamp(from, to) - self.since.clamp(from, to);
        self.since = now;
        self.busy += span * u64::from(self.held.min(self.max_jobs));
        self.excess += span * u64::from(self.excess_now());
        self.present += if self.connected { span } else { 0 };
    }

    /// It has so many jobs now.
    pub(crate) fn hold(&mut self, held: u32, now: Nanos) {
        self.settle(now);
        let counted = (self.window.0..self.window.1).contains(&now);
        let before = std::mem::replace(&mut self.held, held);
        if held < before {
            self.max_jobs = self.told.max(held);
        }
        self.jobs += u64::from(counted && held > before);
        if before >= self.max_jobs {
            self.last_full = Some(now);
        }
        let excess = self.excess_now();
        if excess > 0 && held > before && counted {
            self.oversold += 1;
            self.max_excess = self.max_excess.max(excess);
            *self.by_excess.entry(excess.into()).or_default() += 1;
        }
        match (excess > 0, self.oversold_since) {
            (true, None) => self.oversold_since = Some(now),
            (false, Some(since)) => {
                self.oversold_since = None;
                let ms = ((now - since) / 1_000_000).max(1).next_power_of_two();
                *self.by_duration_ms.entry(ms).or_default() += 1;
            }
            _ => {}
        }
    }

    /// It tells another maximum. What was sent before it was heard is nobody's fault, so a lower
    /// one is judged only once its jobs fit.
    pub(crate) fn limit(&mut self, max_jobs: u32, now: Nanos) {
        self.settle(now);
        self.told = max_jobs;
        self.max_jobs = max_jobs.max(self.held);
    }

    /// Its socket is open.
    pub(crate) fn connect(&mut self, now: Nanos) {
        self.settle(now);
        self.connected = true;
        self.generation += 1;
        self.since_connected = now;
    }

    /// Its socket is gone, and its work with it.
    pub(crate) fn disconnect(&mut self, now: Nanos) {
        self.settle(now);
        self.connected = false;
        self.hold(0, now);
    }

    /// Whether it had no free slot at any time since then.
    pub(super) fn was_full_since(&self, from: Nanos) -> bool {
        self.held >= self.max_jobs || self.last_full.is_some_and(|last| last >= from)
    }

    /// Busy slot-seconds of the counted part.
    pub(crate) fn busy_s(&self) -> f64 {
        self.busy as f64 / 1e9
    }
}

impl Observer {
    /// A node of the fleet; its number.
    pub(crate) fn add_node(&mut self, name: String, max_jobs: u32, group: u32) -> u32 {
        self.nodes.push(NodeAccount::new(name, max_jobs, group));
        self.nodes.len() as u32 - 1
    }

    pub(crate) fn settle_nodes(&mut self, now: Nanos) {
        for node in &mut self.nodes {
            node.hold(node.held, now);
        }
    }

    pub(crate) fn oversold(&self) -> Oversold {
        let mut all = Oversold::default();
        for node in &self.nodes {
            all.assignments += node.oversold;
            all.nodes += u64::from(node.oversold > 0);
            all.max_excess = all.max_excess.max(node.max_excess.into());
            all.excess_seconds += node.excess as f64 / 1e9;
            for (&size, &count) in &node.by_excess {
                *all.excess_histogram.entry(size).or_default() += count;
            }
            for (&ms, &count) in &node.by_duration_ms {
                *all.duration_histogram_ms.entry(ms).or_default() += count;
            }
        }
        all
    }

    pub(crate) fn fairness(&self) -> Fairness {
        let per_slot = |node: &NodeAccount| node.jobs as f64 / f64::from(node.max_jobs);
        let per_slot: Vec<f64> = self.nodes.iter().map(per_slot).collect();
        let mean = stats::mean(&per_slot);
        let max = per_slot.iter().copied().fold(0.0, f64::max);
        let max_over_mean = if mean > 0.0 { max / mean } else { 1.0 };
        Fairness { max_over_mean, jain: stats::jain(&per_slot) }
    }

    /// How uneven equal nodes are, against chance and for the time that each was there.
    pub(crate) fn skew(&self) -> Skew {
        let mut skew = Skew::default();
        for group in self.nodes.chunk_by(|a, b| a.group == b.group) {
            let jobs: u64 = group.iter().map(|node| node.jobs).sum();
            let present: u64 = group.iter().map(|node| node.present).sum();
            if group.len() < 2 || jobs == 0 || present == 0 {
                continue;
            }
            for node in group.iter().filter(|node| node.present > 0) {
                // Jobs that are spread by chance vary as much as their mean.
                let fair = jobs as f64 * node.present as f64 / present as f64;
                let sigmas = (node.jobs as f64 - fair) / fair.sqrt();
                skew.nodes += u64::from(sigmas > SIGMAS);
                skew.sigmas = skew.sigmas.max(sigmas);
            }
        }
        skew
    }

    /// Levels of nodes for a row of the time series.
    pub(crate) fn fill_levels(&self, row: &mut Sample) {
        let here = || self.nodes.iter().filter(|node| node.connected);
        row.nodes = here().count() as u64;
        row.running = self.nodes.iter().map(|node| u64::from(node.held)).sum();
        row.oversold = self.nodes.iter().map(|node| u64::from(node.excess_now())).sum();
        let slots: u64 = here().map(|node| u64::from(node.max_jobs)).sum();
        row.utilisation = if slots == 0 { 0.0 } else { row.running as f64 / slots as f64 };
    }
}
