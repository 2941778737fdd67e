//! The wall clock, for messages that carry one and for numbers that are not met twice. Nothing is
//! measured by it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> i64 {
    (since_1970(SystemTime::now()) / 1_000_000) as i64
}

/// Nanoseconds from 1970 until then; none before.
pub(crate) fn since_1970(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
