//! Two clocks: the core's, which only rises, and the wall's, for peers.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lingua_core::Micros;

/// The core's time: microseconds since the process started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Micros {
        Micros(self.start.elapsed().as_micros() as u64)
    }

    /// The core time of an instant; zero before the start.
    pub(crate) fn at(self, instant: Instant) -> Micros {
        Micros(instant.saturating_duration_since(self.start).as_micros() as u64)
    }

    /// The instant of a core time; absent where it never comes.
    pub(crate) fn instant(self, at: Micros) -> Option<Instant> {
        self.start.checked_add(Duration::from_micros(at.0))
    }
}

/// The wall's time as RFC 3339, to the millisecond.
pub(crate) fn rfc3339() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// Unix milliseconds.
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}
