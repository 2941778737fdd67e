//! Sessions that come by a rate.

use lingua_scenarios::streams::{Purpose, Stream, Streams};
use lingua_scenarios::{Dur, Rate};

/// When sessions of one group come.
pub(crate) struct Comers {
    rate: Rate,
    stream: Stream,
    // Microseconds.
    at: u64,
    end: u64,
}

impl Comers {
    /// The plan of the group at an index.
    pub(crate) fn new(streams: &Streams, rate: Rate, index: usize, duration: Dur) -> Self {
        let stream = streams.stream(Purpose::Arrivals, 1 << 32 | index as u64);
        Self { rate, stream, at: 0, end: duration.micros() }
    }

    /// When the next session comes, in microseconds from the start.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let peak = self.rate.max();
        if peak <= 0.0 {
            return None;
        }
        loop {
            let gap = (self.stream.exponential() / peak * 1e6) as u64;
            self.at = self.at.saturating_add(gap);
            if self.at >= self.end {
                return None;
            }
            // A varying rate thins the arrivals of its peak.
            let now = Dur::from_micros(self.at);
            if self.rate.is_constant() || self.stream.uniform() * peak < self.rate.at(now) {
                return Some(self.at);
            }
        }
    }
}
