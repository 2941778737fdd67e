//! A whole simulated run, from scenario to record.

use lingua_scenarios::Scenario;
use lingua_sim::{Quiet, simulate};

use super::Subject;

pub(super) struct Simulation {
    scenario: Scenario,
}

impl Simulation {
    pub(super) fn new() -> Self {
        let scenario = include_str!("simulation.toml").parse();
        Self { scenario: scenario.unwrap_or_else(|error| panic!("{error}")) }
    }
}

impl Subject for Simulation {
    fn run(&mut self) -> u64 {
        let finished = simulate(&self.scenario, "", &mut Quiet);
        let finished = finished.unwrap_or_else(|error| panic!("{error}"));
        finished.artifacts.run.events
    }
}
