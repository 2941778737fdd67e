//! What a run of duties leaves: who held what, for how long nobody did, and what was refused.

use serde::{Deserialize, Serialize};

use crate::table::csv_text;

/// Accounts of duties that instances share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Duties {
    /// How many duties.
    pub count: u64,
    /// Nobody's at the end.
    pub unheld_at_end: u64,
    /// Longest span in which a duty was nobody's, after everything was held once.
    pub longest_unheld_s: f64,
    /// Longest time from a fault until all were held again.
    pub all_held_again_s: f64,
    /// Duties that went from one instance to another.
    pub moves: u64,
    /// Fullest instance over the mean at the end, of those that are up.
    pub max_over_mean: f64,
    /// Alarms: more held than the threshold.
    pub alarms: u64,
    /// What runs wrote.
    pub writes: Writes,
    /// What instances were told of changes.
    pub events: Events,
    /// Steps that the coordinator carried out, apart from writes.
    pub steps: u64,
    /// Replies that never arrived.
    pub replies_lost: u64,
    /// Memberships that began.
    pub joins: u64,
    /// Memberships that ended with their lease.
    pub lapses: u64,
    /// Each instance.
    pub instances: Vec<InstanceRow>,
    /// What happened after the start and after each fault.
    pub episodes: Vec<Episode>,
}

/// What runs wrote under their fencing tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writes {
    /// Accepted.
    pub accepted: u64,
    /// Refused: the token was not the holder's any more.
    pub stale: u64,
    /// Never arrived.
    pub lost: u64,
}

/// Events to instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// Sent, one for each instance that is told.
    pub sent: u64,
    /// Never arrived.
    pub lost: u64,
    /// Arrived after a later one.
    pub overtaken: u64,
}

/// One instance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InstanceRow {
    /// Counted from 0.
    pub instance: u64,
    /// How it stands at the end.
    pub state: String,
    /// How many deaths at once it tolerates.
    pub tolerance: u64,
    /// Duties held at the end.
    pub held: u64,
    /// Its limit at the end.
    pub limit: u64,
    /// Most duties at once.
    pub most: u64,
    /// Mean over the run.
    pub mean: f64,
    /// Times that it acquired one.
    pub acquired: u64,
    /// Alarms.
    pub alarms: u64,
}

/// From one disturbance to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Virtual seconds from the start.
    pub at_s: f64,
    /// What happened then.
    pub what: String,
    /// Most duties that were nobody's at once.
    pub unheld_most: u64,
    /// Longest span in which a duty was nobody's.
    pub longest_unheld_s: f64,
    /// Until all were held again; absent: they never were.
    pub all_held_s: Option<f64>,
    /// Duties that went from one instance to another.
    pub moves: u64,
}

/// Duties of one instance at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DutySample {
    /// Virtual seconds from the start.
    pub t_s: f64,
    /// Counted from 0.
    pub instance: u32,
    /// Duties whose runs may go on there.
    pub held: u32,
    /// Its limit.
    pub limit: u32,
}

/// `duties.csv`: a row per instance and time, of those that are up.
pub fn csv(samples: &[DutySample]) -> String {
    let cells = |s: &DutySample| {
        [s.t_s.to_string(), s.instance.to_string(), s.held.to_string(), s.limit.to_string()]
    };
    let rows: Vec<[String; 4]> = samples.iter().map(cells).collect();
    let header = ["t_s", "instance", "held", "limit"].into_iter();
    csv_text(header, rows.iter().map(|row| row.iter().map(String::as_str)))
}
