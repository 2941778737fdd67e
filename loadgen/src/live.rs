//! What a run shows of itself while it goes on.

use std::time::Duration;

use crate::pacer::Nanos;

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Snapshot {
    /// Whether the plan has begun; before it only sockets open.
    pub running: bool,
    /// Time of the plan that is left.
    pub left: Duration,
    /// Sockets of nodes that are open.
    pub nodes: u64,
    /// Sockets of sessions that are open.
    pub sessions: u64,
    /// Sockets that the scenario wants.
    pub wanted: u64,
    /// Utterances per second, in the last row of the time series.
    pub offered_per_s: f64,
    /// Utterances without a final message yet.
    pub open: u64,
    /// Dispatch latency in the last row, median, milliseconds.
    pub dispatch_p50_ms: f64,
    /// And 99th percentile.
    pub dispatch_p99_ms: f64,
    /// Utterances refused so far.
    pub refused: u64,
    /// Utterances failed, timed out or lost so far.
    pub failed: u64,
    /// Frames left so late by the generator's own fault: 99th percentile, milliseconds.
    pub own_lag_p99_ms: f64,
}

/// Who watches a run.
pub trait Watcher {
    /// Called about once a second.
    fn at(&mut self, snapshot: &Snapshot);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn at(&mut self, _snapshot: &Snapshot) {}
}

/// How often a watcher is told.
pub(crate) const TOLD: Nanos = 1_000_000_000;
