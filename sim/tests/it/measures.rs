//! One word, one measure: what the report says twice must agree.

use crate::{load, run};

/// Automatic cuts come seconds after the last chunk; they count in neither place.
#[test]
fn the_series_shows_the_dispatches_that_the_histogram_counts() {
    let artifacts = run(&load("nodes-100.toml", &["duration=2m", "warmup=20s"])).artifacts;
    let rows = artifacts.timeseries.iter().map(|row| row.dispatch_p99_ms);
    let longest = rows.fold(0.0, f64::max);
    let max = artifacts.run.latency_ms.dispatch.max;
    assert!(longest > max / 2.0, "{longest} ms in the series, {max} ms in the histogram");
    assert!(longest <= max * 1.001, "{longest} ms in the series, {max} ms in the histogram");
}
