//! What only a run over real sockets has: how the load was made, and what was seen besides.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts of a measured run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Which part of the plan this process ran.
    pub shard: Shard,
    /// Sockets of nodes.
    pub nodes: Sockets,
    /// Sockets of sessions.
    pub sessions: Sockets,
    /// Where every chunk has gone.
    pub chunks: Chunks,
    /// How evenly the load came.
    pub burstiness: Burstiness,
    /// Utterances sent of those planned, 0..=1.
    pub achieved: f64,
    /// Utterances never sent because the scheduler had closed their socket.
    pub unsent_by_close: u64,
    /// Utterances per second that were planned.
    pub planned_per_s: f64,
    /// Failures by cause.
    pub failed_by_cause: BTreeMap<String, u64>,
    /// Time-outs by cause.
    pub timed_out_by_cause: BTreeMap<String, u64>,
    /// What the judge found, by name; a name that is absent was never met.
    pub findings: BTreeMap<String, u64>,
    /// Spans in which nothing came from the scheduler although answers were due.
    pub freezes: Freezes,
    /// How unevenly equal nodes got their jobs.
    pub skew: Skew,
    /// Jobs between shards.
    pub across: AcrossShards,
    /// How late 99 % of frames left by the generator's own fault, at most, in milliseconds.
    pub own_lag_p99_ms: f64,
    /// How late the latest frame left by the generator's own fault, in milliseconds.
    pub own_lag_max_ms: f64,
    /// The generator's own share of one core, time average; absent: the system does not tell.
    pub generator_cpu: Option<f64>,
    /// Share of the time that the generator waited for a core; absent: the system does not tell.
    pub generator_starved: Option<f64>,
    /// What opening the sockets added to the generator's resident memory, KiB per socket.
    pub kib_per_socket: Option<f64>,
    /// Crashes of the scheduler that the scenario planned.
    pub outages: Vec<Outage>,
    /// What the system allows, against what was needed.
    pub preflight: Preflight,
}

/// Part of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, counted from 0.
    pub index: u32,
    /// Of how many.
    pub of: u32,
}

impl Default for Shard {
    fn default() -> Self {
        Self { index: 0, of: 1 }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// Jobs between shards: the session of one at the node of another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcrossShards {
    /// Of sessions of others, that this shard's nodes got.
    pub hosted: u64,
    /// Of these, that its nodes answered.
    pub answered: u64,
    /// Answers of others' nodes that its sessions got.
    pub heard: u64,
}

/// Books of one kind of socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sockets {
    /// Tried to open.
    pub requested: u64,
    /// Opened.
    pub established: u64,
    /// Open at the end, before they were closed.
    pub held: u64,
    /// Open at once, at most.
    pub held_max: u64,
    /// Not opened, by cause.
    pub failed: BTreeMap<String, u64>,
    /// Closed by the load generator.
    pub closed_by_us: u64,
    /// Closed by the scheduler, by what it said.
    pub closed_by_scheduler: BTreeMap<String, u64>,
    /// Gone without a close frame.
    pub closed_silently: u64,
}

/// Accounts of chunks: sent = in jobs + in refused + open + lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunks {
    /// Sent.
    pub sent: u64,
    /// Bytes of audio in them.
    pub bytes: u64,
    /// That reached a node.
    pub in_jobs: u64,
    /// Of utterances that were refused or failed before a node had them.
    pub in_refused: u64,
    /// Of utterances that nobody had ended when the run stopped.
    pub open: u64,
    /// Gone.
    pub lost: u64,
}

/// Peak over mean of the frames sent, per bin: 1 is perfectly even.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Burstiness {
    /// Per millisecond.
    pub peak_over_mean_1ms: f64,
    /// Per ten milliseconds.
    pub peak_over_mean_10ms: f64,
}

/// Spans of silence although answers were due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Freezes {
    /// How many.
    pub count: u64,
    /// The longest, seconds.
    pub longest_s: f64,
}

/// Unevenness over equal nodes, beyond chance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Skew {
    /// Nodes more than six standard deviations above the mean of their equals.
    pub nodes: u64,
    /// The busiest node's distance from that mean, in standard deviations of chance.
    pub sigmas: f64,
}

/// One crash of the scheduler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Outage {
    /// When it was killed, seconds from the start.
    pub at_s: f64,
    /// Until it answered again, or until the run ended, seconds.
    pub down_s: f64,
    /// Sockets that it held.
    pub sockets: u64,
    /// From then until 99 % of these were open again, seconds; absent: they never were.
    pub back_s: Option<f64>,
}

/// Limits of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preflight {
    /// Descriptors that the run may need at once.
    pub descriptors_needed: u64,
    /// And may have.
    pub descriptors_allowed: u64,
    /// Ports to one target that the run may need at once.
    pub ports_needed: u64,
    /// And may have, over all source addresses.
    pub ports_allowed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_an_earlier_version_is_readable() {
        let read: Load = serde_json::from_str(r#"{"planned_per_s": 5.0}"#).unwrap();
        assert_eq!(read, Load { planned_per_s: 5.0, ..Load::default() });
    }
}
