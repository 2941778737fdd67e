//! Nodes, sessions and bare arrivals: who works, and who wants work done.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dist, Dur, Pair, Rate};

/// A group of equal nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeGroup {
    /// How many.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub count: u32,
    /// Name prefix, unique in the file; absent: `g<index>`.
    pub name: Option<String>,
    /// Languages the node hears.
    pub asr: Vec<String>,
    /// Languages it repairs; absent: the same as `asr`.
    pub semantic: Option<Vec<String>>,
    /// Languages it speaks.
    pub tts: Vec<String>,
    /// Concurrent jobs, 1..=1024.
    #[schemars(range(min = 1, max = 1_024))]
    pub max_jobs: u32,
    /// Time to answer a job, before `speech_factor`.
    pub service_time: Dist,
    /// Seconds of extra service per second of speech.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub speech_factor: f64,
    /// Heartbeat interval.
    pub heartbeat: Dur,
    /// Share by which each interval varies up or down; 0: all nodes beat in step.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub heartbeat_jitter: f64,
    /// Region name.
    pub region: Option<String>,
    /// Feature names the node offers.
    pub features: Vec<String>,
    /// Models (`name@version`) the node has.
    pub models: Vec<String>,
    /// Time in service before a node of the group leaves (background churn); absent: never.
    pub uptime: Option<Dist>,
    /// Time away before it returns.
    pub downtime: Option<Dist>,
    /// Reported CPU share in percent; absent: unknown.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub cpu: Option<f64>,
    /// Read the nodes from this CSV instead of `count`.
    pub from: Option<PathBuf>,
}

impl NodeGroup {
    /// Its name in a file where it is the group at this index.
    pub fn name_at(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("g{index}"))
    }
}

/// A group of talking clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionGroup {
    /// Sessions present all the time (each leaver is replaced).
    #[schemars(range(min = 0, max = 10_000_000))]
    pub count: Option<u32>,
    /// Or: arrivals of sessions.
    pub rate: Option<Rate>,
    /// Length of a session; absent: to the end of the run.
    pub stay: Option<Dist>,
    /// One directed pair for all ...
    pub pair: Option<Pair>,
    /// ... or several, drawn per session with Zipf weights in this order.
    pub pairs: Vec<Pair>,
    /// Zipf exponent over `pairs`; 0 is uniform.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub zipf: f64,
    /// `one_way` or `two_way_auto` (`pair` then gives lang_a:lang_b).
    pub mode: Mode,
    /// Rooms: preferred languages of the other members; one job per distinct language.
    pub listeners: Vec<String>,
    /// Speech of one utterance.
    pub utterance: Dist,
    /// Silence between utterances.
    pub gap: Dist,
    /// Share of utterances that the client ends itself.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub manual_cut: f64,
    /// Audio per chunk.
    pub chunk: Dur,
    /// Bytes per millisecond of audio (PCM16 at 16 kHz is 32).
    #[schemars(range(min = 1, max = 100_000))]
    pub bytes_per_ms: u32,
    /// Reconnects of one session.
    pub reconnect: Option<Rate>,
    /// Changes of language of one session.
    pub switch_language: Option<Rate>,
    /// Feature names every job needs.
    pub features: Vec<String>,
    /// Model (`name@version`) every job needs.
    pub model: Option<String>,
    /// Preferred region.
    pub region: Option<String>,
}

/// Session mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One directed pair.
    OneWay,
    /// The pair in both directions, language found by the node.
    TwoWayAuto,
}

/// Bare job arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalGroup {
    /// Jobs per second (Poisson), constant or points over time ...
    pub rate: Option<Rate>,
    /// ... or offered load as a share of all slots.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub load: Option<f64>,
    /// One directed pair ...
    pub pair: Option<Pair>,
    /// ... or several with Zipf weights in this order.
    pub pairs: Vec<Pair>,
    /// Zipf exponent over `pairs`.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub zipf: f64,
    /// Feature names every job needs.
    pub features: Vec<String>,
    /// Model every job needs.
    pub model: Option<String>,
    /// Preferred region.
    pub region: Option<String>,
    /// Read arrivals from this CSV (time, session, src, tgt, speech_ms, manual), streamed.
    pub trace: Option<PathBuf>,
}
