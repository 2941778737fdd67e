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

#[test]
fn a_planted_second_attempt_is_found_on_a_cluster() {
    let set = ["plant=I4", "scheduler.store=redis-cluster", "faults.0.nodes=15"];
    let broken = run_unbalanced(&load("faults/node-crash.toml", &set)).broken;
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

#[test]
fn a_failing_swarm_seed_shrinks_to_a_tenth_and_still_fails() {
    let swarm = load("swarm.toml", &["plant=I6"]);
    let failing = swarm::draw(&swarm, 4);
    let before = run_unbalanced(&failing).broken.expect("the plant strikes");
    let shrunk = shrink::shrink(&failing, before.invariant, &mut lingua_sim::Quiet);
    let small = shrunk.scenario;
    let nodes = |s: &lingua_scenarios::Scenario| s.nodes.iter().map(|g| g.count).sum::<u32>();
    assert!(nodes(&small) * 10 <= nodes(&failing), "{} nodes", nodes(&small));
    assert!(small.faults.len() * 10 <= failing.faults.len(), "{} faults", small.faults.len());
    let again: lingua_scenarios::Scenario = small.to_toml().parse().unwrap();
    let after = run_unbalanced(&again).broken.expect("it still fails");
    assert_eq!(after.invariant, before.invariant);
}
