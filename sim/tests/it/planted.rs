//! Each invariant is seen to break when a defect is planted, and only then.

use lingua_sim::{shrink, swarm};

use crate::{load, run};

/// A scenario in which the defect has its chance: replies are lost, nodes die, speech is long.
fn chance(plant: &str) -> lingua_scenarios::Scenario {
    let plant = format!("plant={plant}");
    let store = "scheduler.store=redis";
    let (file, more) = match plant.as_str() {
        "plant=I3" => ("faults/reply-loss.toml", store),
        "plant=I4" => ("faults/node-crash.toml", "faults.0.nodes=15"),
        "plant=I5" => ("affinity-long-speech.toml", "scheduler.affinity_rule=next-job"),
        _ => ("faults/slow-node.toml", "faults.0.nodes=25"),
    };
    load(file, &[&plant, more])
}

#[test]
fn every_planted_defect_is_found() {
    for plant in ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I9"] {
        let finished = run_unbalanced(&chance(plant));
        let broken = finished.broken.unwrap_or_else(|| panic!("{plant} was not found"));
        assert_eq!(broken.invariant, plant, "{broken:?}");
    }
}

/// An instance fences its own former attempt even where the intent is forgotten; another instance,
/// which only has the intent, cannot.
#[test]
fn a_planted_second_attempt_is_found_on_a_cluster() {
    let drawn = swarm::draw(&load("swarm.toml", &["plant=I4"]), 18);
    assert_eq!(drawn.scheduler.store, lingua_scenarios::StoreKind::RedisCluster);
    let broken = run_unbalanced(&drawn).broken;
    assert_eq!(broken.expect("the plant strikes").invariant, "I4");
}

/// A planted defect may well spoil the accounts.
fn run_unbalanced(scenario: &lingua_scenarios::Scenario) -> lingua_sim::Finished {
    lingua_sim::simulate(scenario, "", &mut lingua_sim::Quiet).unwrap()
}

#[test]
fn without_a_defect_nothing_is_found() {
    for file in ["faults/reply-loss.toml", "faults/node-crash.toml", "faults/slow-node.toml"] {
        assert_eq!(run(&load(file, &[])).broken, None, "{file}");
    }
}

/// Jobs and sessions that a scenario plans, whether or not a defect ends the run before.
fn planned(scenario: &lingua_scenarios::Scenario) -> (u64, u32) {
    let whole = lingua_scenarios::Scenario { plant: None, ..scenario.clone() };
    let finished = run_unbalanced(&whole);
    assert_eq!(finished.broken, None, "only the plant breaks anything");
    let jobs = finished.artifacts.timeseries.iter().map(|row| row.offered).sum();
    (jobs, scenario.sessions.iter().filter_map(|group| group.count).sum())
}

#[test]
fn a_failing_swarm_seed_shrinks_to_a_tenth_and_still_fails() {
    for (plant, seed) in [("I6", 4), ("I7", 9), ("I9", 6)] {
        let swarm = load("swarm.toml", &[&format!("plant={plant}")]);
        let failing = swarm::draw(&swarm, seed);
        let before = run_unbalanced(&failing).broken.expect("the plant strikes");
        let shrunk = shrink::shrink(&failing, &before, &mut lingua_sim::Quiet);
        let small = shrunk.scenario;
        let told = format!("{plant}, seed {seed}: {} tries\n{}", shrunk.tries, small.to_toml());
        let nodes = |s: &lingua_scenarios::Scenario| s.nodes.iter().map(|g| g.count).sum::<u32>();
        assert!(nodes(&small) * 10 <= nodes(&failing), "{} nodes: {told}", nodes(&small));
        assert!(small.faults.len() * 10 <= failing.faults.len(), "{told}");
        let ((jobs, sessions), (jobs_before, sessions_before)) =
            (planned(&small), planned(&failing));
        assert!(jobs * 10 <= jobs_before, "{jobs} of {jobs_before} jobs: {told}");
        assert!(sessions * 10 <= sessions_before, "{sessions} of {sessions_before}: {told}");
        let again: lingua_scenarios::Scenario = small.to_toml().parse().unwrap();
        let after = run_unbalanced(&again).broken.expect("it still fails");
        assert_eq!(after.invariant, before.invariant);
    }
}

#[test]
fn what_shrinking_leaves_is_a_file_that_loads() {
    // Few nodes and one instance are left, so faults that were planned for more must fit them.
    for seed in 1..=12 {
        let failing = swarm::draw(&load("swarm.toml", &["plant=I1"]), seed);
        let Some(broken) = run_unbalanced(&failing).broken else { continue };
        let small = shrink::shrink(&failing, &broken, &mut lingua_sim::Quiet).scenario;
        let text = small.to_toml();
        let again = text.parse::<lingua_scenarios::Scenario>();
        let again = again.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(again, small, "seed {seed}");
    }
}
