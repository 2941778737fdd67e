//! The discrete-event world around the scheduling core.
//!
//! Time is virtual, in whole microseconds; randomness comes from named streams of one seed. The
//! scheduler that runs here is the real one: `lingua_core`'s `State` and `Instance`, many of them
//! if the scenario says so, behind a modelled network and store.
//!
//! [`simulate`] runs one scenario with one seed and gives back a [`Finished`] run.

pub mod capacity;
mod digest;
mod duties;
pub mod engine;
mod fifo;
pub mod invariants;
mod limits;
mod plant;
pub mod pools;
pub mod queue;
mod record;
mod replicate;
mod setup;
pub mod shrink;
mod slab;
pub mod streams;
pub mod swarm;
pub mod theory;
mod trace;
mod verdict;
mod world;

use lingua_core::Micros;
use lingua_reports::run::Artifacts;
use lingua_scenarios::Scenario;

pub use invariants::Broken;
pub use record::{Batch, Batches};
pub use replicate::simulate_all;
pub use setup::{instance_config, pool_rule, promises, state_config};
pub use trace::{TRACE_EVENTS_MAX, Traced};

/// Why a scenario cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The scenario asks for something that does not go together.
    #[error("{0}")]
    Scenario(String),
    /// An input file cannot be read.
    #[error(transparent)]
    Input(#[from] lingua_scenarios::Error),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}; choose another file or free some room")]
    Trace(#[source] std::io::Error),
}

/// A run that came to its end.
#[derive(Debug)]
pub struct Finished {
    /// What it leaves behind.
    pub artifacts: Artifacts,
    /// Sums per batch of the counted part, for confidence intervals.
    pub batches: Batches,
    /// The promised invariant that ended the run, if one broke.
    pub broken: Option<Broken>,
}

/// Watches a run while it goes on.
pub trait Progress: Send {
    /// Virtual time has reached `now` of `end`.
    fn at(&mut self, now: Micros, end: Micros);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn at(&mut self, _now: Micros, _end: Micros) {}
}

/// Runs a scenario with one seed.
///
/// # Errors
/// The scenario asks for something that does not go together, or an input file is broken.
pub fn simulate(
    scenario: &Scenario,
    sha256: &str,
    progress: &mut dyn Progress,
) -> Result<Finished, SimError> {
    if let Some(section) = &scenario.duties {
        let mut world = duties::World::new(scenario, section);
        world.run(progress);
        return Ok(world.finish(scenario, sha256));
    }
    let mut world = world::World::new(scenario)?;
    world.run(progress)?;
    Ok(world.finish(scenario, sha256))
}

/// Runs a scenario with one seed and writes a trace of it, of at most `events_max` events.
///
/// The trace is JSON in the Trace Event Format, to be opened in Perfetto; its times are virtual
/// microseconds. The run itself is that of [`simulate`].
///
/// # Errors
/// As [`simulate`]; or the trace cannot be written, which is told at the end of the run.
pub fn simulate_traced(
    scenario: &Scenario,
    sha256: &str,
    progress: &mut dyn Progress,
    out: Box<dyn std::io::Write>,
    events_max: u64,
) -> Result<(Finished, Traced), SimError> {
    if scenario.duties.is_some() {
        let what =
            "a run of duties has no trace: leave --trace out, duties.csv tells who held what";
        return Err(SimError::Scenario(what.into()));
    }
    let mut world = world::World::new(scenario)?;
    world.trace_to(out, events_max);
    world.run(progress)?;
    let traced = world.end_trace(scenario).map_err(SimError::Trace)?;
    Ok((world.finish(scenario, sha256), traced))
}
