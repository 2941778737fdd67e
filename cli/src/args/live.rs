//! What is asked of a scheduler over sockets.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use crate::args::{File, Redis};
use crate::settings::Flags;

#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    /// Measure what a scheduler's work costs, for the simulation.
    Calibrate(Calibrate),
    /// Run a scenario over real sockets against a scheduler and judge it from outside.
    Load(Load),
    /// Run the scheduler: WebSockets for nodes and clients, state in this process.
    ///
    /// Dashboard at /dashboard, metrics for Prometheus at /metrics, liveness at /health, readiness
    /// at /ready. SIGTERM drains: nothing new is admitted, what is under way is finished.
    ///
    /// A value may stand in a flag, in the environment, in the file of --config: the first of them
    /// counts. Secrets are files, never values.
    Serve(Serve),
    /// Look after the Redis that several schedulers share.
    Redis(Redis),
    /// See from outside whether a scheduler shows what any Lingua scheduler must.
    Probe(Probe),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Scenario whose [scheduler] section gives the rules; absent: the defaults.
    pub(crate) file: Option<PathBuf>,
    /// Change one value, e.g. --set scheduler.policy=power-of-d.
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "file")]
    pub(crate) overrides: Vec<String>,
    /// Settings (TOML, `key = value`): any flag below without its hyphens, such as max_jobs = 4.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Calibrate {
    /// Scheduler to measure, ws://host:port; absent: one of its own is started. Processor time is
    /// read where it runs on this machine, else time on the clock stands for it.
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Measure a scheduler on another machine, which keeps it fully busy for some seconds.
    #[arg(long, requires = "target")]
    pub(crate) allow_remote: bool,
    /// File to write.
    #[arg(long, value_name = "FILE", default_value = "costs.toml")]
    pub(crate) out: PathBuf,
}

/// Opens a few nodes and sessions of its own, under private language codes, and judges what they
/// hear. Takes about two minutes.
///
/// Exit codes: 0 all passed · 2 bad usage · 3 a behaviour failed · 4 no scheduler there.
#[derive(Debug, ClapArgs)]
pub(crate) struct Probe {
    /// The scheduler, ws://host:port; absent: one of our own is started and drained.
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Only this behaviour; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Explain the behaviours and end.
    #[arg(long)]
    pub(crate) list: bool,
    /// Write verdicts and frames as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write verdicts as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Probe a target that is not this machine.
    #[arg(long, requires = "target")]
    pub(crate) allow_remote: bool,
    /// File with the token that clients show.
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) session_token: Option<PathBuf>,
    /// File with the token that nodes show.
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) node_token: Option<PathBuf>,
    /// Shell command that orders the scheduler to stop, for the behaviour `drain`.
    #[arg(long, value_name = "COMMAND", requires = "target")]
    pub(crate) drain: Option<String>,
    /// Shell command that restarts the scheduler's Redis, for the behaviour `redis-restart`.
    #[arg(long, value_name = "COMMAND", requires = "target")]
    pub(crate) redis_restart: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Load {
    #[command(flatten)]
    pub(crate) file: File,
    /// Scheduler to speak to, ws://host:port, or its instances, over which sockets are spread;
    /// absent: one of its own is started beside it.
    #[arg(long, value_name = "URL[,URL...]", value_delimiter = ',')]
    pub(crate) target: Vec<String>,
    /// Instances at which nodes register, where these are others.
    #[arg(long, value_name = "URL[,URL...]", value_delimiter = ',', requires = "target")]
    pub(crate) node_target: Vec<String>,
    /// Folder for the files of the run.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Whose known differences are allowed for.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) profile: Profile,
    /// How audio is encoded; absent: Opus where the scenario has fewer than 32 bytes per
    /// millisecond, else PCM16.
    #[arg(long, value_enum)]
    pub(crate) audio: Option<Audio>,
    /// Times faster than real that talkers talk.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,
    /// Sockets of each group of bare jobs, each with one job at a time; absent: enough for one to
    /// be free nearly always.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) sockets: Option<u32>,
    /// Load a scheduler that is not on this machine. Languages are then replaced by private codes
    /// (qaa to qtz), so that fake nodes and sessions meet nobody but each other.
    #[arg(long, requires = "target")]
    pub(crate) allow_remote: bool,
    /// Do not ask before a scheduler that is not on this machine is loaded.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Refuse to begin where the scenario wants more sockets.
    #[arg(long, value_name = "N")]
    pub(crate) max_sockets: Option<u64>,
    /// Refuse to begin where the scenario comes to more utterances per second.
    #[arg(long, value_name = "PER_SECOND")]
    pub(crate) max_rate: Option<f64>,
    /// Take the i-th of n parts of the run, i from 0; `lingua merge` puts them together.
    #[arg(long, value_name = "i/n", default_value_t)]
    pub(crate) shard: lingua_loadgen::Shard,
    /// Begin the plan at this time, in seconds since 1970, so that all shards begin together.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) start_at: Option<u64>,
    /// Tell runs of one scenario apart that load one scheduler at the same time; the same for all
    /// shards of a run.
    #[arg(long, value_name = "TEXT")]
    pub(crate) run_id: Option<String>,
    /// Void if 1 % of frames leave so many milliseconds late by the generator's own fault.
    #[arg(long, value_name = "MS", default_value_t = 50)]
    pub(crate) max_lag_ms: u64,
    /// Write the expectations as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// Schedulers with known differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// This project's.
    #[default]
    Lingua,
    /// The one that is deployed today: nodes serve after 16 s, no maximum on the wire.
    Deployed,
}

/// Encodings of audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Audio {
    /// Packets of 20 ms with their lengths, 24 kbit/s.
    Opus,
    /// Samples of 16 bits at 16 kHz.
    Pcm16,
}

/// A number of times from 0.01 to 1,000.
fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| format!("`{text}` is no number: write 10"))?;
    if (0.01..=1_000.0).contains(&speed) {
        Ok(speed)
    } else {
        Err(format!("{text}: from 0.01 to 1000"))
    }
}
