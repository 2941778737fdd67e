//! Several runs of one scenario with different seeds: means with 95 % intervals.

use crate::metrics;
use crate::number::decimal;
use crate::run::Run;
use crate::stats;
use crate::table::{Align, Cell, Table};

/// What is shown, by its path in `run.json`.
const SHOWN: [&str; 14] = [
    "carried_per_s",
    "refused_ratio",
    "utilisation",
    "latency_ms.dispatch_net.p50",
    "latency_ms.dispatch_net.p99",
    "latency_ms.response.p50",
    "latency_ms.response.p99",
    "latency_ms.wait.mean",
    "oversold.assignments",
    "jobs.failed",
    "jobs.timed_out",
    "jobs.lost",
    "broken_segments.count",
    "headroom",
];

/// One row per metric: mean, half width of the 95 % interval, smallest, largest.
pub fn summary(runs: &[&Run]) -> Table {
    let mut table = Table::new(&[
        ("metric", Align::Left),
        ("mean", Align::Right),
        ("± 95 %", Align::Right),
        ("min", Align::Right),
        ("max", Align::Right),
    ]);
    for path in SHOWN {
        let values: Vec<f64> = runs.iter().filter_map(|run| metrics::number(run, path)).collect();
        if values.is_empty() {
            continue;
        }
        let interval = stats::interval(&values);
        let half = interval.half.map_or_else(|| "n/a".to_owned(), decimal);
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        table.row([
            Cell::from(path),
            Cell::decimal(interval.mean),
            Cell::from(half),
            Cell::decimal(min),
            Cell::decimal(max),
        ]);
    }
    table
}
