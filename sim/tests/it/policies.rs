//! What the policies refuse at 100 nodes of 4 slots and load 0.9, on the same arrivals.

use crate::{load, run};

fn refused(overrides: &[&str]) -> f64 {
    let mut all = vec!["duration=1000s", "warmup=40s"];
    all.extend(overrides);
    let finished = run(&load("policies.toml", &all));
    assert_eq!(finished.broken, None);
    assert_eq!(finished.artifacts.run.oversold.assignments, 0);
    finished.artifacts.run.refused_ratio
}

#[test]
fn sampled_policies_refuse_what_theory_says() {
    let three = refused(&["scheduler.policy=sample-reserve", "scheduler.sample=3"]);
    let five = refused(&["scheduler.policy=sample-reserve", "scheduler.sample=5"]);
    assert!((three - 0.111).abs() < 0.003, "{three}");
    assert!((five - 0.062).abs() < 0.003, "{five}");
}

#[test]
fn policies_that_scan_refuse_no_more_than_erlang_b() {
    for policy in ["sample-scan", "power-of-d", "least-connections"] {
        let found = refused(&[&format!("scheduler.policy={policy}")]);
        assert!(found <= 0.0024 + 0.001, "{policy}: {found}");
    }
}

#[test]
fn a_uniform_choice_of_shards_overloads_the_small_one() {
    let scenario = load("shards-uneven.toml", &["scheduler.policy=two-level-random"]);
    let nodes = run(&scenario).artifacts.node_jobs;
    let jobs =
        |nodes: &[(String, u32, u64)]| nodes.iter().map(|&(.., jobs)| jobs).sum::<u64>() as f64;
    let share = jobs(&nodes[200..]) / jobs(&nodes) / (3.0 / 203.0);
    assert!((share - 22.0).abs() < 1.5, "{share}");
}

#[test]
fn the_first_online_node_gets_everything() {
    let set = ["scheduler.policy=first-online", "duration=20s", "warmup=5s"];
    let nodes = run(&load("policies.toml", &set)).artifacts.node_jobs;
    assert_eq!(nodes.iter().filter(|&&(.., jobs)| jobs > 0).count(), 1);
}

#[test]
fn a_model_on_two_of_a_hundred_nodes_is_found() {
    let finished = run(&load("rare-model.toml", &[]));
    assert_eq!(finished.broken, None);
    assert!(finished.artifacts.run.jobs.offered > 5_000);
}
