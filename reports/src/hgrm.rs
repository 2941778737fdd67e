//! The classic HdrHistogram percentile text, values in milliseconds.

use std::fmt::Write as _;

use hdrhistogram::Histogram;

use crate::summary::to_ms;

/// Lines per halving of the distance to 100 %, as the original tools have it.
const TICKS_PER_HALF: u32 = 5;

/// The percentile distribution of a histogram in nanoseconds, as `.hgrm` text.
pub fn text(histogram: &Histogram<u64>) -> String {
    let mut out = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut total = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF) {
        total += step.count_since_last_iteration();
        let quantile = step.quantile_iterated_to();
        let value = to_ms(step.value_iterated_to());
        let _ = write!(out, "{value:12.6} {quantile:.12} {total:>10}");
        if quantile < 1.0 {
            let _ = write!(out, " {:>14.2}", 1.0 / (1.0 - quantile));
        }
        out.push('\n');
    }
    let (mean, deviation) = (histogram.mean() / 1e6, histogram.stdev() / 1e6);
    let max = if histogram.is_empty() { 0.0 } else { to_ms(histogram.max()) };
    let sub_buckets = (2 * 10_u32.pow(u32::from(histogram.sigfig()))).next_power_of_two();
    let _ = write!(
        out,
        "#[Mean    = {mean:>12.6}, StdDeviation   = {deviation:>12.6}]\n\
         #[Max     = {max:>12.6}, Total count    = {:>12}]\n\
         #[Buckets = {:>12}, SubBuckets     = {sub_buckets:>12}]\n",
        histogram.len(),
        histogram.buckets(),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{latency_histogram, record_ns};

    #[test]
    fn it_is_the_classic_format() {
        let mut h = latency_histogram();
        for ms in [1_u64, 2, 2, 3, 5, 8, 13, 250] {
            record_ns(&mut h, ms * 1_000_000);
        }
        insta::assert_snapshot!(text(&h));
    }

    #[test]
    fn an_empty_histogram_is_no_reason_to_fail() {
        assert!(text(&latency_histogram()).contains("Total count    =            0]"));
    }
}
