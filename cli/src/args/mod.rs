//! The command line.

#[cfg(feature = "live")]
mod live;
#[cfg(feature = "live")]
mod redis;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use lingua_core::claim::Tolerance;
use lingua_scenarios::{Loaded, Scenario, costs_of};
use lingua_sim::TRACE_EVENTS_MAX;

use crate::failure::Failure;

#[cfg(feature = "live")]
pub(crate) use live::{Audio, Calibrate, LiveCommand, Load, Probe, Profile, Serve};
#[cfg(feature = "live")]
pub(crate) use redis::{Redis, RedisCommand};

/// What a build without the feature says.
#[cfg(not(feature = "live"))]
pub(crate) const SIMULATES_ONLY: &str = "This build only simulates; `cargo build --release` makes \
    one that also has serve, load, probe, calibrate and redis.";

/// How many nodes, sessions and schedulers does a Lingua deployment need, and what breaks first?
///
/// Start with:  lingua sim scenarios/nodes-100.toml
///
/// Exit codes: 0 fine · 2 bad input or usage · 3 an expectation failed · 4 run void ·
/// 5 a promised invariant broke.
#[derive(Debug, Parser)]
#[command(name = "lingua", version, max_term_width = 100)]
#[cfg_attr(not(feature = "live"), command(after_help = SIMULATES_ONLY))]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a scenario and say what it carries, refuses and costs.
    Sim(Sim),
    /// Search the largest rate that meets a scenario's expectations, or the fewest nodes.
    Capacity(Capacity),
    /// Show the pools of a scenario: pairs, shards, keys, bias.
    Pools(File),
    /// Check a scenario file without running it.
    Check(File),
    /// Print the JSON Schema of scenario files.
    Schema,
    /// Make the capacity tables of the documentation anew.
    Publish(Publish),
    /// Print the summary of a finished run again.
    Report(Report),
    /// Compare two runs, or two sets of runs seed by seed, that met the same arrivals; or a
    /// simulated run with the same scenario over real sockets.
    Compare(Compare),
    /// Put the shards of one run over real sockets together.
    Merge(Merge),
    /// Run the simulator against queueing theory and show the z-scores.
    Theory(Theory),
    /// Show how many duties each scheduler instance may hold, and which deaths that survives.
    ClaimPlan(ClaimPlan),
    /// Turn a recorded wire exchange into CSV files and a scenario.
    Import(Import),
    #[cfg(feature = "live")]
    #[command(flatten)]
    Live(LiveCommand),
    /// Not in this build.
    #[cfg(not(feature = "live"))]
    #[command(hide = true, name = "serve", aliases = ["load", "probe", "calibrate", "redis"])]
    NotBuilt(NotBuilt),
    /// Time the event queue on the M/M/c model (for benches/peers).
    #[command(hide = true)]
    EngineBench(EngineBench),
}

/// The words after a command that this build lacks.
#[cfg(not(feature = "live"))]
#[derive(Debug, ClapArgs)]
#[command(disable_help_flag = true)]
pub(crate) struct NotBuilt {
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<String>,
}

/// A scenario and changes to it.
#[derive(Debug, ClapArgs)]
pub(crate) struct File {
    /// Scenario file (TOML).
    pub(crate) file: PathBuf,
    /// Change one value, e.g. --set scheduler.sample=3 or --set nodes.0.count=200.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Take the [costs] of this file, which `lingua calibrate` has measured.
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
}

impl File {
    /// Loads the scenario with all changes.
    pub(crate) fn load(&self) -> Result<Loaded, lingua_scenarios::Error> {
        Scenario::load(&self.file, &self.changes()?)
    }

    /// Loads a scenario that is to have nodes.
    pub(crate) fn load_with_nodes(&self) -> Result<Loaded, Failure> {
        let loaded = self.load()?;
        if loaded.scenario.duties.is_some() {
            let file = self.file.display();
            return Err(Failure::Usage(format!(
                "{file}: a scenario of duties has no nodes: play it with lingua sim {file}"
            )));
        }
        Ok(loaded)
    }

    /// All changes, those that were written out last.
    pub(crate) fn changes(&self) -> Result<Vec<String>, lingua_scenarios::Error> {
        let mut changes = self.costs.as_deref().map_or(Ok(Vec::new()), costs_of)?;
        changes.extend(self.overrides.iter().cloned());
        Ok(changes)
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Sim {
    #[command(flatten)]
    pub(crate) file: File,
    /// Seed of every random stream; absent: the file's.
    #[arg(long, conflicts_with = "seeds")]
    pub(crate) seed: Option<u64>,
    /// Run every seed of a range, e.g. 1..20, and give 95 % intervals.
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub(crate) seeds: Option<std::ops::RangeInclusive<u64>>,
    /// Threads for several runs; one run always stays on one thread.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: u8,
    /// Folder for the files of the run.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run one of the file's [variants] instead of all of them.
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Make a failing scenario small and write it to this file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "shrunk.toml")]
    pub(crate) shrink: Option<PathBuf>,
    /// Write a trace of the run, to be opened at ui.perfetto.dev: nodes with their slots,
    /// instances, shared store and faults. One run only: not with --seeds, and of a file with
    /// [variants] name one by --variant.
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    pub(crate) trace: Option<PathBuf>,
    /// Most events of the trace (a thousand are about 100 kB); later ones are left out.
    #[arg(long, value_name = "EVENTS", requires = "trace", default_value_t = TRACE_EVENTS_MAX)]
    pub(crate) trace_limit: u64,
    /// Write the expectations as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Capacity {
    #[command(flatten)]
    pub(crate) file: File,
    /// Fewest nodes and instances for so much, e.g. --need sessions=1000, with the largest node
    /// and one instance dead.
    #[arg(long, value_name = "sessions=N")]
    #[cfg_attr(feature = "live", arg(conflicts_with = "live"))]
    pub(crate) need: Option<String>,
    #[cfg(feature = "live")]
    /// Search over real sockets too, one run after the other, and show both side by side.
    #[arg(long)]
    pub(crate) live: bool,
    #[cfg(feature = "live")]
    /// Scheduler to search at, ws://host:port; absent: one of its own for each run.
    #[arg(long, value_name = "URL", requires = "live")]
    pub(crate) target: Option<String>,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: u8,
    /// Folder for capacity.csv, the table and the heat map.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Publish {
    /// Folder of the project's scenarios.
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    pub(crate) scenarios: PathBuf,
    /// File to write.
    #[arg(long, value_name = "FILE", default_value = "docs/capacity.md")]
    pub(crate) out: PathBuf,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: u8,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Report {
    /// Folder of a finished run.
    pub(crate) dir: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Compare {
    /// Folder of the first run, or of its runs with several --seeds.
    pub(crate) a: PathBuf,
    /// Folder of the second, with the same seeds.
    pub(crate) b: PathBuf,
    /// Exit with 3 when a metric of B is worse than A's by more, e.g. p99=10%; of several seeds
    /// the means count.
    #[arg(long = "max-regress", value_name = "METRIC=PERCENT")]
    pub(crate) max_regress: Vec<String>,
    /// Folder for the page, the table and the curves of a simulated run A and a measured run B.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Merge {
    /// Folders of all shards of the run, in any order.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Folder for the files of the whole.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Theory {
    /// Rows whose model or parameters contain this text; absent: all that tests use.
    pub(crate) filter: Option<String>,
    /// Also rows that tests leave out.
    #[arg(long)]
    pub(crate) all: bool,
    /// Jobs per row.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) jobs: u64,
    /// Base seed; each row adds its line, so that rows do not meet the same arrivals.
    #[arg(long, default_value_t = 300)]
    pub(crate) seed: u64,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: u8,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClaimPlan {
    /// Duties: shards of rooms and tenants, and background tasks.
    #[arg(long, value_name = "K", allow_hyphen_values = true, value_parser = count)]
    pub(crate) jobs: usize,
    /// Instances.
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = count)]
    pub(crate) instances: usize,
    /// Deaths at once that the limits leave room for, from 1: one number for all instances, or one
    /// for each.
    #[arg(
        long,
        value_name = "N,N,...",
        allow_hyphen_values = true,
        value_delimiter = ',',
        default_value = "1",
        value_parser = tolerance
    )]
    pub(crate) tolerance: Vec<Tolerance>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Import {
    /// Recorded exchange, one JSON object a line.
    pub(crate) file: PathBuf,
    /// Folder for calls.csv, nodes.csv and scenario.toml.
    #[arg(long, value_name = "DIR", default_value = "imported")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EngineBench {
    /// Customers to serve.
    #[arg(long, default_value_t = 10_000_000)]
    pub(crate) customers: u64,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// A whole number that is not negative.
fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give a whole number from 0".to_owned())
}

/// A whole number from 1.
fn tolerance(text: &str) -> Result<Tolerance, String> {
    let n = text.trim().parse().map_err(|_| "give a whole number from 1".to_owned())?;
    Tolerance::new(n).map_err(|error| error.to_string())
}

/// `A..B`, both included.
fn seeds(text: &str) -> Result<std::ops::RangeInclusive<u64>, String> {
    let mend = || format!("`{text}` is no range of seeds: write 1..20");
    let (a, b) = text.split_once("..").ok_or_else(mend)?;
    let a: u64 = a.parse().map_err(|_| mend())?;
    let b: u64 = b.trim_start_matches('=').parse().map_err(|_| mend())?;
    if a > b || b - a >= 1_000_000 {
        return Err(format!("`{text}`: 1 to 1,000,000 seeds, the smaller one first"));
    }
    Ok(a..=b)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_commands_of_the_sample_workflow_are_understood() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ci-example.yml");
        let text = std::fs::read_to_string(path).unwrap();
        let runs = text.lines().filter_map(|line| line.trim().strip_prefix("bin/"));
        let commands: Vec<_> = runs.filter_map(|line| line.split_once("/lingua ")).collect();
        assert!(commands.len() >= 6, "{commands:?}");
        for (_, command) in commands {
            let command = command.split(" | ").next().unwrap();
            let words = std::iter::once("lingua").chain(command.split_whitespace());
            Args::try_parse_from(words).unwrap_or_else(|error| panic!("{command}: {error}"));
        }
    }
}
