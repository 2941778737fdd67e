//! The time series: one row per second, or coarser in long runs.

use lingua_reports::run::Sample;

use super::End;
use crate::pacer::{NEVER, Nanos};

const SECOND: Nanos = 1_000_000_000;
/// Most rows of a run.
const ROWS_MAX: u64 = 600;

/// Rows so far and the one that is being filled.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) rows: Vec<Sample>,
    pub(crate) row: Sample,
    /// Refused in all, counted or not.
    pub(crate) refused: u64,
    /// Failed, timed out or lost in all.
    pub(crate) failed: u64,
    // Sorted when the row is closed.
    dispatches: Vec<Nanos>,
    span: Nanos,
    start: Nanos,
}

impl Series {
    pub(super) fn new(duration: Nanos) -> Self {
        let span = (duration / ROWS_MAX).div_ceil(SECOND).max(1) * SECOND;
        Self {
            rows: Vec::new(),
            row: Sample::default(),
            refused: 0,
            failed: 0,
            dispatches: Vec::new(),
            span,
            start: NEVER,
        }
    }

    pub(super) fn start(&mut self, start: Nanos) {
        self.start = start;
        self.row = Sample::default();
        self.dispatches.clear();
    }

    /// Nominal length of a row, seconds.
    pub(crate) fn span_s(&self) -> f64 {
        self.span as f64 / 1e9
    }

    /// When the row that is being filled is over.
    pub(crate) fn due(&self) -> Nanos {
        self.start.saturating_add(self.span * (self.rows.len() as u64 + 1))
    }

    pub(super) fn ended(&mut self, end: End<'_>) {
        match end {
            End::Completed => self.row.completed += 1,
            End::Refused(_) => {
                self.row.refused += 1;
                self.refused += 1;
            }
            End::Failed(_) | End::TimedOut(_) | End::Lost => {
                self.row.failed += 1;
                self.failed += 1;
            }
        }
    }

    pub(super) fn dispatched(&mut self, span: Nanos) {
        self.dispatches.push(span);
    }

    /// Closes the row; levels are filled in by the caller.
    pub(crate) fn close_row(&mut self, fill: impl FnOnce(&mut Sample)) {
        let due = self.due();
        let mut row = std::mem::take(&mut self.row);
        row.t_s = (due - self.start) as f64 / 1e9;
        self.dispatches.sort_unstable();
        let quantile = |share: f64| {
            let last = self.dispatches.len().checked_sub(1)?;
            self.dispatches.get((last as f64 * share) as usize).map(|&ns| ns as f64 / 1e6)
        };
        row.dispatch_p50_ms = quantile(0.5).unwrap_or(0.0);
        row.dispatch_p99_ms = quantile(0.99).unwrap_or(0.0);
        self.dispatches.clear();
        fill(&mut row);
        self.rows.push(row);
    }
}
