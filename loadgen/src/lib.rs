//! The load generator: thousands of real sockets against a scheduler, judged from outside.
//!
//! It never shares a rule with the scheduler that it judges: it knows the wire contract, the
//! scenario and the report, and relies on nothing that the deployed scheduler does not do.

#![forbid(unsafe_code)]

mod audio;
pub mod calibrate;
mod child;
mod clock;
mod context;
mod fleet;
mod gauge;
mod http;
mod judge;
mod ledger;
mod live;
mod observer;
mod outages;
pub mod pacer;
mod plan;
mod preflight;
mod private;
pub mod probe;
mod process;
mod report;
mod run;
mod run_id;
mod shard;
pub mod socket;
mod tag;
mod talkers;
mod target;
mod wire;

use std::time::{Duration, SystemTime};

use lingua_reports::run::Artifacts;
use lingua_scenarios::{Fault, FaultKind, Loaded, Scenario, name_of};

pub use audio::Codec;
pub use child::{ChildError, Program};
pub use live::{Snapshot, Unwatched, Watcher};
pub use run::Wanted;
pub use shard::{Shard, ShardError};
pub use target::{Address, TargetError};

/// Which scheduler is spoken to.
#[derive(Debug, Clone)]
pub enum Target {
    /// One of the run's own, started beside it.
    Own(Program),
    /// A running one.
    Running(Urls),
}

/// Where a running scheduler is reached: `ws://host:port` of each of its instances. A peer has its
/// own by its number; where that one cannot be reached it takes the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Urls {
    /// For sessions.
    pub sessions: Vec<String>,
    /// For nodes; empty: where sessions go.
    pub nodes: Vec<String>,
}

impl Urls {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.sessions.iter().chain(&self.nodes)
    }
}

impl From<&str> for Urls {
    /// One instance, or several separated by commas.
    fn from(urls: &str) -> Self {
        Self { sessions: urls.split(',').map(str::to_owned).collect(), nodes: Vec::new() }
    }
}

/// Which scheduler's known differences are allowed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Ours: it knows `max_jobs`, and a node serves at once.
    #[default]
    Lingua,
    /// The one that is deployed today.
    Deployed,
}

impl Profile {
    /// Whether a node tells its maximum.
    pub(crate) fn tells_max_jobs(self) -> bool {
        self == Self::Lingua
    }

    /// Whether all results of a room go to who speaks, and none to its listeners.
    pub(crate) fn tells_speaker(self) -> bool {
        self == Self::Deployed
    }

    /// How long after the last registration the plan begins.
    pub(crate) fn warm_up(self) -> Duration {
        match self {
            Self::Lingua => Duration::from_millis(200),
            // A node is reachable only after the next tick of 15 s.
            Self::Deployed => Duration::from_secs(16),
        }
    }
}

/// How a run is made, beside its scenario.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which scheduler.
    pub target: Target,
    /// Its known differences.
    pub profile: Profile,
    /// How audio is encoded; absent: as the scenario's bytes per millisecond tell.
    pub codec: Option<Codec>,
    /// Times faster than real that talkers talk.
    pub speed: f64,
    /// Sockets of each group of bare jobs; absent: enough for one to be free nearly always.
    pub sockets: Option<u32>,
    /// Latest that 99 % of frames may leave by the generator's own fault; beyond it the run is void.
    pub lag_max: Duration,
    /// Which part of the run is this one's.
    pub shard: Shard,
    /// When the plan begins, so that all shards begin together; absent or past: at once.
    pub start_at: Option<SystemTime>,
    /// Tells runs of one plan apart that load one scheduler at the same time; all shards of a run
    /// have the same.
    pub run_id: Option<String>,
    /// Whether languages are replaced by private codes, so that fake peers meet only each other.
    pub private_languages: bool,
}

impl Options {
    /// The usual way of running against a target.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            profile: Profile::default(),
            codec: None,
            speed: 1.0,
            sockets: None,
            lag_max: Duration::from_millis(50),
            shard: Shard::default(),
            start_at: None,
            run_id: None,
            private_languages: false,
        }
    }
}

/// Why a run could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file of the scenario.
    #[error(transparent)]
    Scenario(#[from] lingua_scenarios::Error),
    /// The scheduler's address.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The run's own scheduler.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The operating system.
    #[error("cannot start the load generator: {0}")]
    System(#[from] std::io::Error),
}

/// Whether a fault of a scenario is played over real sockets: those of nodes are, and crashes of a
/// scheduler of the run's own.
fn plays(fault: &Fault, options: &Options) -> bool {
    let own = matches!(options.target, Target::Own(_));
    fleet::strikes_nodes(fault) || fault.kind == FaultKind::InstanceCrash && own
}

/// What a run leaves out of a scenario, one sentence each.
pub fn left_out(scenario: &Scenario, options: &Options) -> Vec<String> {
    let faults = scenario.faults.iter().enumerate();
    let faults = faults.filter(|(_, fault)| !plays(fault, options));
    faults
        .map(|(at, fault)| {
            format!("faults.{at}: {} cannot be played over real sockets here", name_of(fault.kind))
        })
        .collect()
}

/// Runs a scenario against a scheduler and judges it.
///
/// # Errors
/// The run cannot begin. Whatever happens later is part of the report.
pub fn run(
    loaded: &Loaded,
    options: &Options,
    watcher: &mut dyn Watcher,
) -> Result<Artifacts, LoadError> {
    // One thread: it can drive thousands of jobs a second, and leaves the rest to the scheduler.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run::run(loaded, options, watcher))
}
