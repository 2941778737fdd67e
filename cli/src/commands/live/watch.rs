//! A run over real sockets while it goes on: one line that changes on a terminal, plain lines
//! elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use lingua_loadgen::{Snapshot, Watcher};
use lingua_reports::number::{count, decimal};

use crate::failure::tell;

/// Plain lines come so far apart.
const PLAIN: Duration = Duration::from_secs(10);

/// Shows a run on standard error.
pub(crate) struct Live {
    terminal: bool,
    last: Option<Instant>,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), last: None }
    }
}

impl Watcher for Live {
    fn at(&mut self, snapshot: &Snapshot) {
        let line = line(snapshot);
        if self.terminal {
            eprint!("\r\x1b[2K{line}");
            // A terminal that is gone shows nothing more.
            let _ = std::io::stderr().flush();
        } else if self.last.is_none_or(|last| last.elapsed() >= PLAIN) {
            self.last = Some(Instant::now());
            tell(&line);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.terminal {
            eprint!("\r\x1b[2K");
        }
    }
}

fn line(of: &Snapshot) -> String {
    let open = of.nodes + of.sessions;
    if !of.running {
        return format!("opening sockets: {} of {}", count(open), count(of.wanted));
    }
    format!(
        "{} s left · {}/s · {} open · dispatch {} / {} ms · refused {} · failed {} · sockets {} of \
         {} · lag {} ms",
        of.left.as_secs(),
        decimal(of.offered_per_s),
        count(of.open),
        decimal(of.dispatch_p50_ms),
        decimal(of.dispatch_p99_ms),
        count(of.refused),
        count(of.failed),
        count(open),
        count(of.wanted),
        decimal(of.own_lag_p99_ms),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_a_wide_terminal() {
        let mut snapshot = Snapshot { wanted: 11_000, nodes: 1_000, ..Snapshot::default() };
        assert_eq!(line(&snapshot), "opening sockets: 1,000 of 11,000");
        snapshot.running = true;
        snapshot.left = Duration::from_secs(42);
        assert!(line(&snapshot).starts_with("42 s left") && line(&snapshot).len() < 140);
    }
}
