//! The simulator against theory, against itself, and against defects planted on purpose.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod costs;
mod determinism;
mod documents;
mod duties;
mod measures;
mod planted;
mod policies;
mod swarm;
mod theory;
mod trace;

use std::path::Path;

use lingua_scenarios::Scenario;
use lingua_sim::{Finished, Quiet, simulate};

/// A scenario file of the project with changes.
fn load(name: &str, overrides: &[&str]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name);
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::load(&path, &overrides).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn run(scenario: &Scenario) -> Finished {
    let finished = simulate(scenario, "", &mut Quiet).unwrap_or_else(|error| panic!("{error}"));
    let run = &finished.artifacts.run;
    assert_eq!(run.jobs.balance(), 0, "{:?}", run.jobs);
    finished
}
