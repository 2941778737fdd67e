//! What was counted.

use std::fmt;
use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering};

use hdrhistogram::Histogram;

use crate::frames::Heard;

/// Counts of one task, from one end of a job to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Jobs whose last chunk was sent.
    offered: u64,
    translated: u64,
    refused: u64,
    /// Into the server.
    frames_in: u64,
    bytes_in: u64,
    /// Out of the server.
    frames_out: u64,
    bytes_out: u64,
    sockets_lost: u64,
}

impl Tally {
    pub(crate) fn said(&mut self, frame: &str) {
        self.frames_in += 1;
        self.bytes_in += frame.len() as u64;
    }

    pub(crate) fn heard(&mut self, frame: &str) {
        self.frames_out += 1;
        self.bytes_out += frame.len() as u64;
    }

    pub(crate) fn offered(&mut self) {
        self.offered += 1;
    }

    pub(crate) fn ended(&mut self, heard: Heard) {
        match heard {
            Heard::Progress => {}
            Heard::Translated => self.translated += 1,
            Heard::Refused => self.refused += 1,
        }
    }

    fn values(&self) -> [u64; 8] {
        let Self { offered, translated, refused, sockets_lost, .. } = *self;
        let Self { frames_in, bytes_in, frames_out, bytes_out, .. } = *self;
        [offered, translated, refused, frames_in, bytes_in, frames_out, bytes_out, sockets_lost]
    }

    fn of(values: [u64; 8]) -> Self {
        let [offered, translated, refused, frames_in, bytes_in, frames_out, bytes_out, lost] =
            values;
        let sockets_lost = lost;
        Self {
            offered,
            translated,
            refused,
            frames_in,
            bytes_in,
            frames_out,
            bytes_out,
            sockets_lost,
        }
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        let (now, before) = (self.values(), before.values());
        Self::of(std::array::from_fn(|at| now[at] - before[at]))
    }
}

/// Counts of all tasks.
#[derive(Debug, Default)]
pub(crate) struct Count([AtomicU64; 8]);

impl Count {
    pub(crate) fn add(&self, tally: &Tally) {
        for (sum, value) in self.0.iter().zip(tally.values()) {
            if value > 0 {
                sum.fetch_add(value, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn lost_socket(&self) {
        self.add(&Tally { sockets_lost: 1, ..Tally::default() });
    }

    pub(crate) fn read(&self) -> Tally {
        Tally::of(std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed)))
    }
}

/// What came of a load.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) seconds: f64,
    pub(crate) counted: Tally,
    pub(crate) server_cpu: f64,
    pub(crate) driver_cpu: f64,
    pub(crate) server_resident: u64,
    /// From last chunk to job at the node, in microseconds.
    pub(crate) dispatch: Histogram<u64>,
}

impl Figures {
    /// Translated jobs per second.
    pub(crate) fn rate(&self) -> f64 {
        self.counted.translated as f64 / self.seconds
    }

    /// Microseconds of both processes' processor time per job.
    pub(crate) fn all_us(&self) -> f64 {
        (self.server_cpu + self.driver_cpu) * 1e6 / self.counted.translated as f64
    }

    /// Microseconds of the server's processor time per job.
    pub(crate) fn server_us(&self) -> f64 {
        self.server_cpu * 1e6 / self.counted.translated as f64
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { offered, refused, sockets_lost, .. } = self.counted;
        let Tally { frames_in, bytes_in, frames_out, bytes_out, .. } = self.counted;
        let per_second = |count: u64| count as f64 / self.seconds;
        let ms = |quantile| self.dispatch.value_at_quantile(quantile) as f64 / 1e3;
        write!(
            f,
            "{:8.0} jobs/s of {:.0} offered, {refused} refused, {sockets_lost} sockets lost; in {:.0} frames/s \
             {:.1} MB/s, out {:.0} frames/s {:.1} MB/s; cpu server {:.2} s ({:.0} us/job), driver {:.2} s \
             of {:.1} s; dispatch p50 {:.1} p99 {:.1} ms; resident {} MiB",
            self.rate(),
            per_second(offered),
            per_second(frames_in),
            per_second(bytes_in) / 1e6,
            per_second(frames_out),
            per_second(bytes_out) / 1e6,
            self.server_cpu,
            self.server_us(),
            self.driver_cpu,
            self.seconds,
            ms(0.5),
            ms(0.99),
            self.server_resident >> 20,
        )
    }
}
