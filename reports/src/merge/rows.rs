//! The time series of several shards as one.

use crate::facts::total;
use crate::run::{Artifacts, Sample};

/// Rows of the same instant together: counts and levels are added, utilisation is weighted by the
/// slots of each shard, and of percentiles the worst shard's stands.
pub(super) fn together(whole: &[&Artifacts], slots: &[f64]) -> Vec<Sample> {
    let rows = whole.iter().map(|artifacts| artifacts.timeseries.len()).max().unwrap_or_default();
    (0..rows).map(|at| row(at, whole, slots)).collect()
}

fn row(at: usize, whole: &[&Artifacts], slots: &[f64]) -> Sample {
    let found = || whole.iter().map(|artifacts| artifacts.timeseries.get(at));
    let there = || found().flatten();
    let sum = |of: fn(&Sample) -> u64| total(there().map(of));
    let worst = |of: fn(&Sample) -> f64| there().map(of).fold(0.0, f64::max);
    Sample {
        t_s: worst(|row| row.t_s),
        offered: sum(|row| row.offered),
        completed: sum(|row| row.completed),
        refused: sum(|row| row.refused),
        failed: sum(|row| row.failed),
        running: sum(|row| row.running),
        waiting: sum(|row| row.waiting),
        utilisation: weighted(found().map(|row| row.map_or(0.0, |row| row.utilisation)), slots),
        oversold: sum(|row| row.oversold),
        dispatch_p50_ms: worst(|row| row.dispatch_p50_ms),
        dispatch_p99_ms: worst(|row| row.dispatch_p99_ms),
        nodes: sum(|row| row.nodes),
        sessions: sum(|row| row.sessions),
        scheduler_busy: worst(|row| row.scheduler_busy),
        store_ops: sum(|row| row.store_ops),
    }
}

/// Mean of values by weight; zero of no weight.
pub(super) fn weighted(values: impl Iterator<Item = f64>, weights: &[f64]) -> f64 {
    let weight: f64 = weights.iter().sum();
    let sum: f64 = values.zip(weights).map(|(value, weight)| value * weight).sum();
    if weight > 0.0 { sum / weight } else { 0.0 }
}
