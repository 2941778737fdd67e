//! Latencies as a scenario wants them.

use hdrhistogram::Histogram;
use lingua_scenarios::{Dist, Dur};

/// Points that stand for a measured latency: a thousandth of all each.
pub(super) const POINTS: u32 = 1_000;
/// Widths that are tried, from none to the whole of what is to be explained.
const WIDTHS: u32 = 40;
/// Widest lateness: a timer's wheel turns once in a millisecond or so.
const MOST: f64 = 4e6;
/// Points of a uniform lateness.
const PARTS: u32 = 40;
/// Rounds of an approximation, and how far each goes. More change nothing that shows.
const ROUNDS: u32 = 40;
const STRIDE: f64 = 0.7;

/// Equally likely values, nanoseconds and sorted, that have the quantiles of a histogram less a
/// fixed part. What is measured on a shared machine has two humps, which no formula fits.
pub(super) fn points(histogram: &Histogram<u64>, fixed: f64) -> Vec<f64> {
    let at = |point| histogram.value_at_quantile((f64::from(point) + 0.5) / f64::from(POINTS));
    (0..POINTS).map(|point| (at(point) as f64 - fixed).max(0.0)).collect()
}

/// Points that, added to those of `base` by chance, have the quantiles of `whole`. All are sorted.
pub(super) fn rest(whole: &[f64], base: &[f64]) -> Vec<f64> {
    let middle = base[base.len() / 2];
    let mut rest: Vec<f64> = whole.iter().map(|point| (point - middle).max(0.0)).collect();
    for _ in 0..ROUNDS {
        rest = nearer(whole, base, &rest);
    }
    rest
}

/// Points of which two, drawn by chance, have the quantiles of `whole` together.
pub(super) fn halves(whole: &[f64]) -> Vec<f64> {
    let mut half: Vec<f64> = whole.iter().map(|point| point / 2.0).collect();
    for _ in 0..ROUNDS {
        half = nearer(whole, &half, &half);
    }
    half
}

/// `rest`, a step nearer to what `base` lacks: each point with the middle of `base` stands for a
/// sum, and what `whole` has at the sum's quantile tells how far off it is.
fn nearer(whole: &[f64], base: &[f64], rest: &[f64]) -> Vec<f64> {
    let middle = base[base.len() / 2];
    let moved = |&point: &f64| {
        let sum = point + middle;
        let wanted = at(whole, share_below(base, rest, sum));
        (point + STRIDE * (wanted - sum)).max(0.0)
    };
    let mut found: Vec<f64> = rest.iter().map(moved).collect();
    found.sort_unstable_by(f64::total_cmp);
    found
}

/// Share of all pairs, one of each, whose sum is below `sum`; those that meet it count half.
fn share_below(some: &[f64], others: &[f64], sum: f64) -> f64 {
    let (mut less, mut not_more) = (others.len(), others.len());
    let mut twice = 0;
    for point in some {
        while less > 0 && point + others[less - 1] >= sum {
            less -= 1;
        }
        while not_more > 0 && point + others[not_more - 1] > sum {
            not_more -= 1;
        }
        twice += less + not_more;
    }
    twice as f64 / (2 * some.len() * others.len()) as f64
}

/// The quantile of sorted points, between two of them by a straight line.
fn at(points: &[f64], share: f64) -> f64 {
    let last = points.len() - 1;
    let place = (share * points.len() as f64 - 0.5).clamp(0.0, last as f64);
    let low = place as usize;
    points[low] + (points[(low + 1).min(last)] - points[low]) * place.fract()
}

/// The uniform lateness that, added to `base`, comes nearest to median and 99th percentile of
/// `whole`.
pub(super) fn lateness(base: &[f64], whole: &Histogram<u64>) -> Dist {
    let whole = |quantile| whole.value_at_quantile(quantile) as f64;
    let (p50, p99) = (whole(0.5), whole(0.99));
    let from_zero = (p99 - base.first().copied().unwrap_or(0.0)).max(0.0);
    let quantiles = |low: f64, width: f64| {
        let part = |at: u32| low + width * (f64::from(at) + 0.5) / f64::from(PARTS);
        let mut sums: Vec<f64> =
            base.iter().flat_map(|base| (0..PARTS).map(move |at| base + part(at))).collect();
        sums.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| sums[(sums.len() as f64 * share) as usize];
        (at(0.5), at(0.99))
    };
    let off = |found: f64, wanted: f64| (found / wanted - 1.0).abs();
    let mut best = (f64::INFINITY, 0.0, 0.0);
    for step in 0..=WIDTHS {
        let width = from_zero.min(MOST) * f64::from(step) / f64::from(WIDTHS);
        // Never early: where even none would be too late, the median is missed.
        let low = (p50 - quantiles(0.0, width).0).max(0.0);
        let (median, tail) = quantiles(low, width);
        let miss = off(median, p50) + off(tail, p99);
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

    use lingua_reports::summary::{latency_histogram, record_ns};

    /// An exponential latency of 150 µs mean, each value with these added.
    fn late_by(more: impl Iterator<Item = u64> + Clone) -> Histogram<u64> {
        let mut histogram = latency_histogram();
        for at in 0..400 {
            let base = -150e3 * (1.0 - (f64::from(at) + 0.5) / 400.0).ln();
            more.clone().for_each(|more| record_ns(&mut histogram, base as u64 + more));
        }
        histogram
    }

    fn none() -> Histogram<u64> {
        late_by(std::iter::once(0))
    }

    #[test]
    fn points_have_the_quantiles_less_the_fixed_part() {
        let points = points(&none(), 20e3);
        assert!(points.is_sorted());
        assert!((points[500] / 84e3 - 1.0).abs() < 0.05, "{}", points[500]);
        assert!((points[990] / 671e3 - 1.0).abs() < 0.05, "{}", points[990]);
        assert_eq!(points[0], 0.0);
    }

    /// Sums of all pairs, as many points as either has.
    fn sums(some: &[f64], others: &[f64]) -> Vec<f64> {
        let pairs = some.iter().flat_map(|one| others.iter().map(move |other| one + other));
        let mut sums: Vec<f64> = pairs.collect();
        sums.sort_unstable_by(f64::total_cmp);
        let every = sums.len() / some.len();
        sums.into_iter().skip(every / 2).step_by(every).collect()
    }

    /// A step of 500 µs or so, one of fifty late by as much as ten milliseconds.
    fn steps() -> Vec<f64> {
        let point = |at: u32| match 1_000 - at {
            late @ 1..=20 => 10e6 / f64::from(late),
            _ => 300e3 + 400.0 * f64::from(at),
        };
        let mut steps: Vec<f64> = (0..1_000).map(point).collect();
        steps.sort_unstable_by(f64::total_cmp);
        steps
    }

    fn close(found: &[f64], wanted: &[f64]) {
        for at in [100, 500, 900, 990] {
            let off = found[at] / wanted[at] - 1.0;
            assert!(off.abs() < 0.05, "{at}: {} for {}", found[at], wanted[at]);
        }
    }

    #[test]
    fn two_halves_are_the_whole() {
        let half = halves(&steps());
        close(&sums(&half, &half), &steps());
    }

    #[test]
    fn base_and_rest_are_the_whole() {
        let whole = sums(&steps(), &points(&none(), 0.0));
        close(&sums(&steps(), &rest(&whole, &steps())), &whole);
        // A base of nothing leaves the whole.
        close(&rest(&whole, &[0.0]), &whole);
    }

    #[test]
    fn a_timer_of_one_millisecond_is_found_again() {
        // Up to a millisecond late, all equally likely.
        let whole = late_by((0..100).map(|late| late * 10_000));
        let Dist::Uniform { min, max } = lateness(&points(&none(), 0.0), &whole) else {
            panic!("not uniform")
        };
        assert!(min.nanos() < 80_000, "{min:?}");
        assert!((max.nanos() as f64 / 1e6 - 1.0).abs() < 0.15, "{max:?}");
    }

    #[test]
    fn nothing_is_found_where_nothing_is_late() {
        let late = lateness(&points(&none(), 0.0), &none());
        assert!(late.sample(0.5).nanos() < 10_000, "{late:?}");
    }
}
