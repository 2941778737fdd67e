//! The same scenario and seed give the same bytes, on any number of threads.

use lingua_reports::files;
use lingua_sim::{simulate_all, swarm};

use crate::{load, run};

fn bytes(finished: &lingua_sim::Finished) -> Vec<(String, Vec<u8>)> {
    let mut contents = files::contents(&finished.artifacts).unwrap();
    contents.retain(|(name, _)| name != "machine.json");
    assert!(contents.len() > 10);
    contents
}

#[test]
fn twice_is_the_same_and_another_seed_is_not() {
    let short = ["duration=60s", "warmup=10s"];
    let first = bytes(&run(&load("nodes-100.toml", &short)));
    assert!(first == bytes(&run(&load("nodes-100.toml", &short))));
    let other = bytes(&run(&load("nodes-100.toml", &[short[0], short[1], "seed=2"])));
    assert!(first != other);
}

#[test]
fn threads_change_nothing() {
    let swarm = load("swarm.toml", &["duration=20s"]);
    let drawn: Vec<_> = (1..=6).map(|seed| swarm::draw(&swarm, seed)).collect();
    let with = |threads| {
        let all = simulate_all(&drawn, "", threads, &mut lingua_sim::Quiet).unwrap();
        all.iter().map(bytes).collect::<Vec<_>>()
    };
    assert!(with(1) == with(2));
}

#[test]
fn policies_meet_the_same_arrivals() {
    let digest = |policy: &str| {
        let set = format!("scheduler.policy={policy}");
        let short = ["duration=30s", "warmup=5s", &set];
        run(&load("nodes-100.toml", &short)).artifacts.run.arrivals_digest
    };
    assert_eq!(digest("sample-scan"), digest("least-connections"));
}
