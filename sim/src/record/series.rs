//! The time series: one row per second, or coarser in long runs.

use lingua_core::Micros;
use lingua_core::instance::Ending;
use lingua_reports::run::Sample;

/// Most rows of a run.
const ROWS_MAX: u64 = 600;

/// Rows so far and the one that is being filled.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) span: Micros,
    pub(crate) rows: Vec<Sample>,
    row: Sample,
    // Microseconds; sorted when the row is closed.
    dispatches: Vec<u64>,
    running: i64,
    excess: i64,
}

impl Series {
    pub(super) fn new(end: Micros) -> Self {
        let second = Micros::secs(1);
        let span = Micros((end.0 / ROWS_MAX).div_ceil(second.0).max(1) * second.0);
        Self {
            span,
            rows: Vec::new(),
            row: Sample::default(),
            dispatches: Vec::new(),
            running: 0,
            excess: 0,
        }
    }

    pub(super) fn next_row(&self) -> Micros {
        Micros(self.span.0 * (self.rows.len() as u64 + 1))
    }

    pub(super) fn offered(&mut self) {
        self.row.offered += 1;
    }

    pub(super) fn ended(&mut self, ending: &Ending) {
        match ending {
            Ending::Answered | Ending::Silence | Ending::Merged => self.row.completed += 1,
            Ending::Refused(_) => self.row.refused += 1,
            Ending::Failed(_) | Ending::TimedOut => self.row.failed += 1,
        }
    }

    pub(super) fn dispatched(&mut self, span: Micros) {
        self.dispatches.push(span.0);
    }

    pub(super) fn level_changed(&mut self, before: u32, level: u32, max_jobs: u32) {
        let over = |level: u32| i64::from(level.saturating_sub(max_jobs));
        self.running += i64::from(level) - i64::from(before);
        self.excess += over(level) - over(before);
    }

    /// Closes the row; what the recorder cannot know is filled in by the caller.
    pub(crate) fn close_row(&mut self, now: Micros, fill: impl FnOnce(&mut Sample)) {
        let mut row = std::mem::take(&mut self.row);
        row.t_s = now.as_secs_f64();
        row.running = self.running.max(0) as u64;
        row.oversold = self.excess.max(0) as u64;
        self.dispatches.sort_unstable();
        let quantile = |share: f64| {
            let last = self.dispatches.len().checked_sub(1)?;
            self.dispatches.get((last as f64 * share) as usize).map(|&us| us as f64 / 1e3)
        };
        row.dispatch_p50_ms = quantile(0.5).unwrap_or(0.0);
        row.dispatch_p99_ms = quantile(0.99).unwrap_or(0.0);
        self.dispatches.clear();
        fill(&mut row);
        self.rows.push(row);
    }
}
