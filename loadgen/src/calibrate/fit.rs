//! Distributions that give the latencies that were measured.

use hdrhistogram::Histogram;
use lingua_scenarios::{Dist, Dur};

/// Quantiles of one latency, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl Spread {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64;
        Self { p50: at(0.5), p99: at(0.99) }
    }

    /// The same with a fixed part taken off.
    pub(super) fn less(self, fixed: f64) -> Self {
        Self { p50: (self.p50 - fixed).max(0.0), p99: (self.p99 - fixed).max(0.0) }
    }

    /// A distribution with these quantiles.
    pub(super) fn dist(self) -> Dist {
        let (median, p99) = (Dur::from_nanos_f64(self.p50), Dur::from_nanos_f64(self.p99));
        // Closer together it is as good as constant.
        if self.p50 <= 0.0 || self.p99 <= self.p50 * 1.02 {
            Dist::Constant(median)
        } else {
            Dist::Lognormal { median, p99 }
        }
    }
}

/// Widths that are tried, from none to the whole of what is to be explained.
const WIDTHS: u32 = 40;
/// Points of each distribution.
const POINTS: u32 = 400;
const PARTS: u32 = 40;

/// The uniform lateness that, added to `base`, comes nearest to `whole`.
pub(super) fn lateness(base: &Dist, whole: Spread) -> Dist {
    let points = |count: u32| (0..count).map(move |at| (f64::from(at) + 0.5) / f64::from(count));
    let of_base: Vec<f64> = points(POINTS).map(|u| base.sample(u).nanos() as f64).collect();
    let from_zero = (whole.p99 - of_base[0]).max(0.0);
    let error = |low: f64, width: f64| {
        let parts = || points(PARTS).map(move |u| low + width * u);
        let mut sums: Vec<f64> =
            of_base.iter().flat_map(|base| parts().map(move |part| base + part)).collect();
        sums.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| sums[(sums.len() as f64 * share) as usize];
        let off = |found: f64, wanted: f64| (found / wanted - 1.0).abs();
        (at(0.5), off(at(0.99), whole.p99))
    };
    let mut best = (f64::INFINITY, 0.0, 0.0);
    for step in 0..=WIDTHS {
        let width = from_zero * f64::from(step) / f64::from(WIDTHS);
        let (median, _) = error(0.0, width);
        // Never early: where even none would be too late, the median is missed.
        let low = (whole.p50 - median).max(0.0);
        let (median, tail) = error(low, width);
        let miss = tail + (median / whole.p50 - 1.0).abs();
        if miss < best.0 {
            best = (miss, low, width);
        }
    }
    let (_, low, width) = best;
    let (min, max) = (Dur::from_nanos_f64(low), Dur::from_nanos_f64(low + width));
    if min == max { Dist::Constant(min) } else { Dist::Uniform { min, max } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: f64 = 1e3;

    fn near(found: Dur, expected_us: f64) -> bool {
        (found.nanos() as f64 / US - expected_us).abs() <= 0.05 * expected_us
    }

    #[test]
    fn a_spread_becomes_a_distribution_with_its_quantiles() {
        let dist = Spread { p50: 150.0 * US, p99: 900.0 * US }.less(50.0 * US).dist();
        assert!(near(dist.sample(0.5), 100.0) && near(dist.sample(0.99), 850.0));
        let flat = Spread { p50: 100.0 * US, p99: 101.0 * US };
        assert_eq!(flat.dist(), Dist::Constant(Dur::from_nanos_f64(100.0 * US)));
        assert_eq!(flat.less(1e9).dist(), Dist::Constant(Dur::ZERO));
    }

    #[test]
    fn a_timer_of_one_millisecond_is_found_again() {
        let base = Spread { p50: 150.0 * US, p99: 400.0 * US }.dist();
        // As tokio's wheel does it: up to a millisecond late, all equally likely.
        let mut sums = Vec::new();
        for at in 0..400 {
            let base = base.sample((f64::from(at) + 0.5) / 400.0).nanos() as f64;
            sums.extend((0..100).map(|late| base + 1e4 * f64::from(late)));
        }
        sums.sort_unstable_by(f64::total_cmp);
        let whole = Spread { p50: sums[20_000], p99: sums[39_600] };
        let Dist::Uniform { min, max } = lateness(&base, whole) else { panic!("not uniform") };
        assert!(min.nanos() < 80_000, "{min:?}");
        assert!((max.nanos() as f64 / 1e6 - 1.0).abs() < 0.1, "{max:?}");
    }

    #[test]
    fn nothing_is_found_where_nothing_is_late() {
        let spread = Spread { p50: 150.0 * US, p99: 400.0 * US };
        let late = lateness(&spread.dist(), spread);
        assert!(late.sample(0.5).nanos() < 10_000, "{late:?}");
    }
}
