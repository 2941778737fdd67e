//! Progress and time left on a terminal; nothing anywhere else.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lingua_core::Micros;
use lingua_sim::Progress;

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears when the work takes a while.
pub(crate) struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl Bar {
    pub(crate) fn new(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1_000), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}%  {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self { bar, started: Instant::now(), shown: false }
    }
}

impl Progress for Bar {
    fn at(&mut self, now: Micros, end: Micros) {
        if !self.shown && std::io::stderr().is_terminal() && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        let share = u128::from(now.0) * 1_000 / u128::from(end.0.max(1));
        self.bar.set_position(share as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
