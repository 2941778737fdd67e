//! Virtual or real time as a plain number of microseconds.
//!
//! Microseconds since any epoch fit a double exactly until the year 2255,
//! so a store that computes in doubles (Redis Lua) agrees bit for bit.

use std::fmt;
use std::ops::{Add, Sub};

/// An instant or a span in microseconds. Arithmetic saturates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub u64);

impl Micros {
    /// The epoch; also the empty span.
    pub const ZERO: Self = Self(0);
    /// Later than every deadline: "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// A span of whole milliseconds.
    pub const fn millis(ms: u64) -> Self {
        Self(ms * 1_000)
    }

    /// A span of whole seconds.
    pub const fn secs(s: u64) -> Self {
        Self(s * 1_000_000)
    }

    /// In seconds, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Micros {
    type Output = Self;

    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Micros {
    type Output = Self;

    /// Zero where `earlier` is later: a span is never negative.
    fn sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
