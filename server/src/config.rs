//! What an operator may set.

use std::time::Duration;

use lingua_core::StateConfig;
use lingua_core::instance::InstanceConfig;

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Rules of the scheduling instance.
    pub instance: InstanceConfig,
    /// Rules of the state in this process.
    pub state: StateConfig,
    /// Concurrent jobs of a node that names no maximum, 1..=1024.
    pub max_jobs: u16,
    /// What bounds peers.
    pub limits: Limits,
}

/// Bounds on peers.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Sockets of both kinds at once.
    pub sockets: usize,
    /// Messages that wait for one peer to read; beyond it the peer is closed.
    pub outbox: usize,
    /// Messages that wait for the scheduler; beyond it peers are read more slowly.
    pub inbox: usize,
    /// Frames in a row that are no messages; beyond it the peer is closed.
    pub bad_frames: u32,
    /// How often a silent peer is pinged; two pings unanswered close it.
    pub ping: Duration,
    /// Longest wait for a socket's first message.
    pub first_message: Duration,
    /// Longest time that one write may take.
    pub write: Duration,
    /// Longest wait for what is under way when the server stops.
    pub drain: Duration,
    /// How often pages and metrics are made anew.
    pub snapshot: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: 100_000,
            outbox: 256,
            inbox: 65_536,
            bad_frames: 20,
            ping: Duration::from_secs(20),
            first_message: Duration::from_secs(30),
            write: Duration::from_secs(10),
            drain: Duration::from_secs(30),
            snapshot: Duration::from_secs(5),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            instance: InstanceConfig::default(),
            state: StateConfig::default(),
            max_jobs: 4,
            limits: Limits::default(),
        }
    }
}
