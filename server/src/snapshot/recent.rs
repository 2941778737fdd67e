//! The last minute, and points of the last quarter of an hour.

use std::collections::VecDeque;

use lingua_core::Micros;
use serde::Serialize;

use crate::hub::Sample;
use crate::snapshot::Histogram;

/// Rates and percentiles look back so far.
const WINDOW: Micros = Micros::secs(60);

/// Points that are kept: a quarter of an hour at five seconds each.
const POINTS_MAX: usize = 180;

/// Rates and percentiles of the last minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Recent {
    /// How long it was in truth, in seconds.
    pub(crate) seconds: f64,
    pub(crate) offered_per_s: f64,
    pub(crate) completed_per_s: f64,
    /// Refused of those offered; absent where nothing was.
    pub(crate) refused_ratio: Option<f64>,
    pub(crate) dispatch_ms: Percentiles,
    pub(crate) response_ms: Percentiles,
}

/// Percentiles in milliseconds; absent without values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) p50: Option<f64>,
    pub(crate) p90: Option<f64>,
    pub(crate) p99: Option<f64>,
}

impl Percentiles {
    fn of(histogram: &Histogram) -> Self {
        let at = |share| histogram.quantile_ms(share);
        Self { count: histogram.count(), p50: at(0.5), p90: at(0.9), p99: at(0.99) }
    }
}

/// One interval, for the lines of the page. Rates are those of the interval alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Point {
    pub(crate) at_ms: i64,
    pub(crate) offered_per_s: f64,
    pub(crate) refused_per_s: f64,
    pub(crate) failed_per_s: f64,
    pub(crate) running: u64,
    pub(crate) slots: u64,
    pub(crate) sessions: u64,
    pub(crate) dispatch_p99_ms: Option<f64>,
}

/// Counts at the end of an interval.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at: Micros,
    offered: u64,
    completed: u64,
    refused: u64,
    failed: u64,
    dispatch: Histogram,
    response: Histogram,
}

impl Mark {
    fn of(sample: &Sample) -> Self {
        let counts = &sample.counts;
        Self {
            at: sample.at,
            offered: counts.offered,
            completed: counts.completed.total(),
            refused: counts.refused.total(),
            failed: counts.failed.total() + counts.timed_out,
            dispatch: counts.dispatch,
            response: counts.response,
        }
    }
}

/// Remembers what rates need.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    // The oldest is the last one that is not younger than the window.
    marks: VecDeque<Mark>,
    points: VecDeque<Point>,
}

impl Recorder {
    pub(super) fn take(&mut self, sample: &Sample, at_ms: i64) {
        let mark = Mark::of(sample);
        let before = self.marks.back().copied().unwrap_or_default();
        self.marks.push_back(mark);
        while self.marks.get(1).is_some_and(|second| mark.at - second.at >= WINDOW) {
            self.marks.pop_front();
        }
        let per_s = per_s(mark.at - before.at);
        let status = sample.nodes.iter().map(|node| node.status);
        if self.points.len() == POINTS_MAX {
            self.points.pop_front();
        }
        self.points.push_back(Point {
            at_ms,
            offered_per_s: per_s(mark.offered - before.offered),
            refused_per_s: per_s(mark.refused - before.refused),
            failed_per_s: per_s(mark.failed - before.failed),
            running: status.clone().map(|status| u64::from(status.running)).sum(),
            slots: status.map(|status| u64::from(status.max_jobs)).sum(),
            sessions: sample.sessions as u64,
            dispatch_p99_ms: mark.dispatch.since(&before.dispatch).quantile_ms(0.99),
        });
    }

    pub(super) fn recent(&self) -> Recent {
        let last = self.marks.back().copied().unwrap_or_default();
        // A server younger than the window has counted from zero.
        let first = self.marks.front().filter(|mark| last.at - mark.at >= WINDOW);
        let first = first.copied().unwrap_or_default();
        let per_s = per_s(last.at - first.at);
        let offered = last.offered - first.offered;
        let refused = (last.refused - first.refused) as f64;
        Recent {
            seconds: (last.at - first.at).as_secs_f64(),
            offered_per_s: per_s(offered),
            completed_per_s: per_s(last.completed - first.completed),
            refused_ratio: (offered > 0).then(|| refused / offered as f64),
            dispatch_ms: Percentiles::of(&last.dispatch.since(&first.dispatch)),
            response_ms: Percentiles::of(&last.response.since(&first.response)),
        }
    }

    pub(super) fn history(&self) -> Vec<Point> {
        self.points.iter().copied().collect()
    }
}

/// Counts in so much time, as a rate; zero where no time has passed.
fn per_s(span: Micros) -> impl Fn(u64) -> f64 {
    let seconds = span.as_secs_f64();
    move |count| if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(second: u64, offered: u64) -> Sample {
        let mut sample = Sample { at: Micros::secs(second), ..Sample::default() };
        sample.counts.offered = offered;
        sample
    }

    #[test]
    fn rates_are_those_of_the_last_minute() {
        let mut recorder = Recorder::default();
        for second in (5_u64..=200).step_by(5) {
            // 2/s until 100 s, 10/s after.
            let offered = second * 2 + 8 * second.saturating_sub(100);
            recorder.take(&sample(second, offered), 0);
            if second == 30 {
                assert_eq!(
                    (recorder.recent().seconds, recorder.recent().offered_per_s),
                    (30.0, 2.0)
                );
            }
        }
        assert_eq!((recorder.recent().seconds, recorder.recent().offered_per_s), (60.0, 10.0));
        assert_eq!(recorder.history().last().unwrap().offered_per_s, 10.0);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut recorder = Recorder::default();
        for second in 1..=1_000 {
            recorder.take(&sample(second, 0), 0);
        }
        assert_eq!((recorder.marks.len(), recorder.points.len()), (61, POINTS_MAX));
        assert_eq!(recorder.recent().refused_ratio, None);
    }
}
