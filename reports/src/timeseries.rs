//! The time series as CSV, and rows put together for drawing.

use crate::facts::total;
use crate::run::Sample;
use crate::table::csv_text;

/// Columns of `timeseries.csv`, in order.
const COLUMNS: [&str; 15] = [
    "t_s",
    "offered",
    "completed",
    "refused",
    "failed",
    "running",
    "waiting",
    "utilisation",
    "oversold",
    "dispatch_p50_ms",
    "dispatch_p99_ms",
    "nodes",
    "sessions",
    "scheduler_busy",
    "store_ops",
];

/// The rows as CSV with a header.
pub fn csv(samples: &[Sample]) -> String {
    let rows: Vec<[String; 15]> = samples.iter().map(cells).collect();
    csv_text(COLUMNS.into_iter(), rows.iter().map(|row| row.iter().map(String::as_str)))
}

fn cells(s: &Sample) -> [String; 15] {
    [
        s.t_s.to_string(),
        s.offered.to_string(),
        s.completed.to_string(),
        s.refused.to_string(),
        s.failed.to_string(),
        s.running.to_string(),
        s.waiting.to_string(),
        s.utilisation.to_string(),
        s.oversold.to_string(),
        s.dispatch_p50_ms.to_string(),
        s.dispatch_p99_ms.to_string(),
        s.nodes.to_string(),
        s.sessions.to_string(),
        s.scheduler_busy.to_string(),
        s.store_ops.to_string(),
    ]
}

/// Reads rows back from `timeseries.csv`.
pub fn parse(text: &str) -> Result<Vec<Sample>, csv::Error> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect()
}

/// At most `limit` rows that say the same: counts are summed, levels averaged, and of
/// percentiles and excesses the worst is kept, so that no spike is drawn away.
pub fn thin(samples: &[Sample], limit: usize) -> Vec<Sample> {
    let size = samples.len().div_ceil(limit.max(1)).max(1);
    samples.chunks(size).map(together).collect()
}

fn together(rows: &[Sample]) -> Sample {
    let sum = |field: fn(&Sample) -> u64| total(rows.iter().map(field));
    let peak = |field: fn(&Sample) -> f64| rows.iter().map(field).fold(0.0, f64::max);
    let average =
        |field: fn(&Sample) -> f64| rows.iter().map(field).sum::<f64>() / rows.len() as f64;
    let last = rows.last().copied().unwrap_or_default();
    Sample {
        offered: sum(|s| s.offered),
        completed: sum(|s| s.completed),
        refused: sum(|s| s.refused),
        failed: sum(|s| s.failed),
        store_ops: sum(|s| s.store_ops),
        oversold: rows.iter().map(|s| s.oversold).max().unwrap_or_default(),
        utilisation: average(|s| s.utilisation),
        scheduler_busy: average(|s| s.scheduler_busy),
        dispatch_p50_ms: average(|s| s.dispatch_p50_ms),
        dispatch_p99_ms: peak(|s| s.dispatch_p99_ms),
        ..last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_csv_reads_back() {
        let samples = fixture::artifacts().timeseries;
        assert_eq!(parse(&csv(&samples)).unwrap(), samples);
    }

    #[test]
    fn thinning_keeps_counts_and_spikes() {
        let samples = fixture::artifacts().timeseries;
        let thinned = thin(&samples, 50);
        assert!(thinned.len() <= 50);
        let offered = |rows: &[Sample]| rows.iter().map(|s| s.offered).sum::<u64>();
        assert_eq!(offered(&thinned), offered(&samples));
        let worst = |rows: &[Sample]| rows.iter().map(|s| s.dispatch_p99_ms).fold(0.0, f64::max);
        assert_eq!(worst(&thinned), worst(&samples));
        assert!(thin(&[], 50).is_empty());
    }
}
