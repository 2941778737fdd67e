//! How late this process hears its sockets.
//!
//! A process with more to do than its processors can reads later what came in time. Nobody tells
//! how long a frame lay there; but a timer that rings late tells how long whoever is ready waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lingua_core::Micros;
use tokio::time::sleep;

use crate::clock::Clock;

/// How often it is measured.
const EVERY: Micros = Micros::millis(20);
/// How long a measure counts: twice this at most.
const WINDOW: Micros = Micros::secs(5);
/// Less is no lag.
const LEAST: Micros = Micros::millis(50);

/// The lag of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lag(Arc<Measured>);

#[derive(Debug, Default)]
struct Measured {
    // Both in microseconds.
    longest: AtomicU64,
    last_look: AtomicU64,
}

impl Lag {
    /// Measures until it is aborted.
    pub(crate) async fn measure(self, clock: Clock) {
        let every = Duration::from_micros(EVERY.0);
        let mut longest = Longest::default();
        let mut before = clock.now();
        loop {
            self.0.last_look.store(before.0, Ordering::Relaxed);
            sleep(every).await;
            let now = clock.now();
            let longest = longest.over(now, now - before - EVERY);
            self.0.longest.store(longest.0, Ordering::Relaxed);
            before = now;
        }
    }

    /// The longest lag of late, at `now`; zero while there is next to none.
    pub(crate) fn at(&self, now: Micros) -> Micros {
        let overdue = now - Micros(self.0.last_look.load(Ordering::Relaxed)) - EVERY;
        let longest = Micros(self.0.longest.load(Ordering::Relaxed)).max(overdue);
        if longest < LEAST { Micros::ZERO } else { longest }
    }
}

/// The longest of the measures of this window and the one before.
#[derive(Debug, Default)]
struct Longest {
    until: Micros,
    this: Micros,
    before: Micros,
}

impl Longest {
    fn over(&mut self, now: Micros, lag: Micros) -> Micros {
        if now >= self.until {
            self.before = if now < self.until + WINDOW { self.this } else { Micros::ZERO };
            self.this = Micros::ZERO;
            self.until = now + WINDOW;
        }
        self.this = self.this.max(lag);
        self.this.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_is_remembered_for_a_while() {
        let mut longest = Longest::default();
        let over = |longest: &mut Longest, at_s, lag_ms| {
            longest.over(Micros::secs(at_s), Micros::millis(lag_ms)).0 / 1_000
        };
        assert_eq!(over(&mut longest, 0, 3), 3);
        assert_eq!(over(&mut longest, 4, 900), 900);
        assert_eq!(over(&mut longest, 5, 1), 900);
        assert_eq!(over(&mut longest, 9, 2), 900);
        assert_eq!(over(&mut longest, 10, 0), 2);
        assert_eq!(over(&mut longest, 40, 0), 0);
    }

    #[test]
    fn whoever_does_not_look_lags() {
        let lag = Lag::default();
        assert_eq!(lag.at(Micros::millis(60)), Micros::ZERO);
        assert_eq!(lag.at(Micros::millis(4_020)), Micros::secs(4));
    }

    #[tokio::test]
    async fn a_thread_that_is_kept_busy_lags() {
        let (lag, clock) = (Lag::default(), Clock::start());
        let measuring = tokio::spawn(lag.clone().measure(clock));
        sleep(Duration::from_millis(30)).await;
        std::thread::sleep(Duration::from_millis(200));
        let held = Micros::millis(200) - EVERY;
        assert!(lag.at(clock.now()) >= held, "while it lasts");
        sleep(Duration::from_millis(30)).await;
        assert!(lag.at(clock.now()) >= held, "and afterwards");
        measuring.abort();
    }
}
