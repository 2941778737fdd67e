//! Latency histograms and their summaries.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::run::{Latencies, Summary};

/// Smallest value told apart, nanoseconds: virtual time may be exactly zero.
const LOWEST_NS: u64 = 1;
/// Largest value told apart, nanoseconds: one hour.
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant digits kept.
const DIGITS: u8 = 3;

/// The histogram everyone records latencies in: nanoseconds, up to 1 h, three digits.
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
        .expect("constant bounds are within what the histogram allows")
}

/// Records one value; beyond an hour it counts as an hour.
pub fn record_ns(histogram: &mut Histogram<u64>, ns: u64) {
    histogram.saturating_record(ns);
}

/// Summary in milliseconds of a histogram in nanoseconds.
pub fn summarize(histogram: &Histogram<u64>) -> Summary {
    if histogram.is_empty() {
        return Summary::default();
    }
    let at = |quantile| to_ms(histogram.value_at_quantile(quantile));
    Summary {
        count: histogram.len(),
        mean: histogram.mean() / 1e6,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: to_ms(histogram.max()),
    }
}

/// The summaries of histograms by name; a name that is absent has an empty one.
pub fn latencies(histograms: &BTreeMap<&'static str, Histogram<u64>>) -> Latencies {
    let of = |name: &str| histograms.get(name).map(summarize).unwrap_or_default();
    Latencies {
        dispatch: of("dispatch"),
        dispatch_net: of("dispatch_net"),
        response: of("response"),
        service: of("service"),
        send_lag: of("send_lag"),
        wait: of("wait"),
        store: of("store"),
    }
}

/// Nanoseconds as milliseconds.
pub(crate) fn to_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_known_values() {
        let mut h = latency_histogram();
        for ms in 1..=1000_u64 {
            record_ns(&mut h, ms * 1_000_000);
        }
        let s = summarize(&h);
        assert_eq!(s.count, 1000);
        for (found, expected) in [(s.p50, 500.0), (s.p90, 900.0), (s.p99, 990.0), (s.max, 1000.0)] {
            assert!((found - expected).abs() / expected < 0.001, "{found} {expected}");
        }
    }

    #[test]
    fn nothing_and_too_much() {
        assert_eq!(summarize(&latency_histogram()), Summary::default());
        let mut h = latency_histogram();
        record_ns(&mut h, u64::MAX);
        assert_eq!(h.len(), 1);
    }
}
