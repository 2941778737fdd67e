//! A histogram with fixed buckets: one addition per value, and the same buckets for the page and
//! for Prometheus, so that both tell the same percentiles.

use lingua_core::Micros;

/// Upper bounds of the buckets in microseconds, both sides of 50 ms among them: the goal of
/// dispatch is a bound, so what meets it is counted, not estimated.
pub(crate) const BOUNDS: [u64; 35] = [
    100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000,
    30_000, 50_000, 70_000, 100_000, 150_000, 200_000, 300_000, 500_000, 700_000, 1_000_000,
    1_500_000, 2_000_000, 3_000_000, 5_000_000, 7_000_000, 10_000_000, 15_000_000, 20_000_000,
    30_000_000, 60_000_000,
];

/// How often values fell between two bounds; the last bucket has no upper one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    buckets: Buckets,
    sum_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Buckets([u64; BOUNDS.len() + 1]);

impl Default for Buckets {
    fn default() -> Self {
        Self([0; BOUNDS.len() + 1])
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, value: Micros) {
        self.buckets.0[BOUNDS.partition_point(|&bound| bound < value.0)] += 1;
        self.sum_us += value.0;
    }

    /// What came after an earlier state of the same histogram.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut later = *self;
        for (count, before) in later.buckets.0.iter_mut().zip(earlier.buckets.0) {
            *count -= before;
        }
        later.sum_us -= earlier.sum_us;
        later
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.0.iter().sum()
    }

    /// The sum of all values, in seconds.
    pub(crate) fn sum_s(&self) -> f64 {
        self.sum_us as f64 / 1e6
    }

    /// Bounds in seconds, and how many values are not above them.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut total = 0;
        BOUNDS.iter().zip(self.buckets.0).map(move |(&bound, count)| {
            total += count;
            (bound as f64 / 1e6, total)
        })
    }

    /// The value in milliseconds that a share of the values does not exceed: between two bounds in
    /// proportion, above the last one that bound. Absent without values.
    pub(crate) fn quantile_ms(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = share * count as f64;
        let (mut below, mut lower) = (0.0, 0.0);
        for (bound, here) in BOUNDS.iter().zip(self.buckets.0) {
            let (upper, here) = (*bound as f64 / 1e3, here as f64);
            if here > 0.0 && below + here >= rank {
                return Some(lower + (upper - lower) * ((rank - below) / here).clamp(0.0, 1.0));
            }
            below += here;
            lower = upper;
        }
        Some(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for &value in values {
            histogram.record(Micros(value));
        }
        histogram
    }

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        let at = |seconds: f64| {
            let histogram = of(&[50_000, 50_001]);
            histogram.cumulative().find(|(bound, _)| *bound == seconds).unwrap().1
        };
        assert_eq!((at(0.03), at(0.05), at(0.07)), (0, 1, 2));
    }

    #[test]
    fn quantiles_lie_in_their_buckets() {
        let mut values = vec![1_200; 99];
        values.push(40_000);
        let histogram = of(&values);
        let p50 = histogram.quantile_ms(0.5).unwrap();
        assert!((1.0..=1.5).contains(&p50), "{p50}");
        let last = histogram.quantile_ms(1.0).unwrap();
        assert_eq!(last, 50.0);
        assert_eq!(Histogram::default().quantile_ms(0.5), None);
        assert_eq!(of(&[90_000_000]).quantile_ms(0.5), Some(60_000.0), "the last bound");
    }

    #[test]
    fn what_came_later_is_the_difference() {
        let mut histogram = of(&[200, 900]);
        let before = histogram;
        histogram.record(Micros(7_000_000));
        assert_eq!(histogram.since(&before), of(&[7_000_000]));
    }
}
