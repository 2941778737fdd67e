//! Steps at a store that the scheduler shares with others, as it tells of them.

use crate::http::ask;
use crate::target::Address;

/// The time from sending a step until its reply: how many took no longer than each bound, their
/// sum and their count.
const BUCKET: &str = "scheduler_store_round_trip_seconds_bucket{le=\"";
const SUM: &str = "scheduler_store_round_trip_seconds_sum ";
const COUNT: &str = "scheduler_store_round_trip_seconds_count ";
/// Buckets that are read at most.
const BUCKETS: usize = 200;

/// Steps so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    // Bound in seconds, steps not above it.
    buckets: Vec<(f64, u64)>,
    seconds: f64,
    count: u64,
}

impl Steps {
    /// Those of a scheduler; absent where it has no such store, or does not tell.
    pub(super) async fn at(address: &Address) -> Option<Self> {
        let host = address.base.strip_prefix("ws://").unwrap_or(&address.base);
        let page = ask(address.socket, host, "GET", "/metrics").await.ok()?;
        if page.status == 200 { Self::read(&page.body) } else { None }
    }

    fn read(page: &str) -> Option<Self> {
        let after = |name| page.lines().filter_map(move |line: &str| line.strip_prefix(name));
        let bucket = |line: &str| {
            let (bound, count) = line.split_once("\"} ")?;
            Some((bound.parse().ok()?, count.parse().ok()?))
        };
        Some(Self {
            buckets: after(BUCKET).take(BUCKETS).map(bucket).collect::<Option<_>>()?,
            seconds: after(SUM).next()?.parse().ok()?,
            count: after(COUNT).next()?.parse().ok()?,
        })
    }

    /// The steps since then: so many equally likely times, nanoseconds and sorted, spread as in their
    /// buckets and scaled to their mean, and how many steps there were.
    pub(super) fn since(&self, before: &Self, points: u32) -> Option<(Vec<f64>, u64)> {
        let count = self.count.checked_sub(before.count).filter(|&count| count > 0)?;
        let mean = (self.seconds - before.seconds) / count as f64 * 1e9;
        let new = |(&(bound, now), &(_, then)): (&(f64, u64), &(f64, u64))| {
            Some((bound, now.checked_sub(then)?))
        };
        let buckets: Vec<(f64, u64)> =
            self.buckets.iter().zip(&before.buckets).map(new).collect::<Option<_>>()?;
        let rank = |point| (f64::from(point) + 0.5) / f64::from(points) * count as f64;
        let times: Vec<f64> = (0..points).map(|point| time(&buckets, rank(point))).collect();
        let found = times.iter().sum::<f64>() / f64::from(points);
        let scale = Some(mean / found).filter(|scale| scale.is_finite() && *scale > 0.0)?;
        Some((times.into_iter().map(|time| time * scale).collect(), count))
    }
}

/// The time that so many are not above: by a straight line through its bucket, and what is above
/// all bounds at the last one.
fn time(buckets: &[(f64, u64)], rank: f64) -> f64 {
    let (mut low, mut below) = (0.0, 0);
    for &(bound, count) in buckets.iter().filter(|(bound, _)| bound.is_finite()) {
        if count as f64 >= rank {
            return low + (bound - low) * (rank - below as f64) / (count - below) as f64;
        }
        (low, below) = (bound, count);
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(buckets: [u64; 3], sum: f64) -> Steps {
        let [half, one, all] = buckets;
        let page = format!(
            "# HELP x\n{BUCKET}0.0005\"}} {half}\n{BUCKET}0.001\"}} {one}\n{BUCKET}+Inf\"}} {all}\n\
             {SUM}{sum}\n{COUNT}{all}\n"
        );
        Steps::read(&page).unwrap()
    }

    #[test]
    fn times_are_those_of_the_steps_between() {
        let (before, after) = (page([10, 10, 10], 1.0), page([510, 910, 1_010], 1.5));
        let (times, count) = after.since(&before, 100).unwrap();
        assert_eq!(count, 1_000);
        // Half of them up to half a millisecond, a tenth above the last bound.
        let mean = times.iter().sum::<f64>() / 100.0;
        assert!((mean / 500e3 - 1.0).abs() < 1e-9, "{mean}");
        assert!(times.is_sorted());
        let off = times[49] / times[99] / 0.495 - 1.0;
        assert!(off.abs() < 1e-9, "{off}");
        assert_eq!(times[90], times[99]);
    }

    #[test]
    fn nothing_between_or_no_store_is_no_time() {
        let (before, after) = (page([10, 10, 10], 1.0), page([510, 910, 1_010], 1.5));
        assert_eq!(before.since(&after, 100), None);
        assert_eq!(before.since(&before, 100), None);
        assert_eq!(Steps::read("scheduler_up 1\n"), None);
    }
}
