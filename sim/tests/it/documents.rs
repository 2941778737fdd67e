//! What the documents' own rules cost, reproduced by name.

use crate::{load, run};

#[test]
fn the_documented_reservation_grants_two_of_ten() {
    let set = |max: u32| {
        let max = format!("nodes.0.max_jobs={max}");
        let finished = run(&load(
            "policies.toml",
            &[
                "nodes.0.count=1",
                &max,
                "scheduler.capacity_check=as-documented",
                "arrivals.0.load=20",
                "duration=60s",
                "warmup=10s",
            ],
        ));
        let levels = finished.artifacts.timeseries;
        levels.iter().map(|row| row.running).max().unwrap()
    };
    assert_eq!([10, 12, 16].map(set), [2, 2, 2]);
    assert_eq!([4, 9].map(set), [4, 9]);
}

#[test]
fn affinity_for_the_next_job_loses_less_speech_than_the_documented_rule() {
    let lost = |rule: &str| {
        let rule = format!("scheduler.affinity_rule={rule}");
        let set = ["duration=3m", "warmup=30s", rule.as_str()];
        let run = run(&load("affinity-long-speech.toml", &set)).artifacts.run;
        let affinity = &run.affinity;
        let misses: u64 = affinity.fallback.values().sum();
        assert_eq!(affinity.expected, affinity.kept + misses, "{affinity:?}");
        run.broken_segments.count
    };
    let (documented, next_job) = (lost("as-documented"), lost("next-job"));
    assert!(next_job * 3 < documented, "{next_job} against {documented}");
}

#[test]
fn the_deployed_scheduler_oversells_and_it_is_counted() {
    let run = run(&load("deployed.toml", &[])).artifacts.run;
    assert!(run.oversold.assignments > 0);
    assert!(run.invariants.get("I1").is_some_and(|&count| count > 0), "{:?}", run.invariants);
}

#[test]
fn a_slow_scheduler_is_named_as_the_limit() {
    assert_eq!(run(&load("scheduler-bound.toml", &[])).artifacts.run.first_limit, "scheduler CPU");
}

#[test]
fn a_model_that_is_missing_is_lost_once_per_node_and_comes_back() {
    // The model of the storm is the second one that the file names.
    let set = ["nodes.0.models=[\"other@1\",\"asr@1\"]", "faults.0.nodes=30"];
    let run = run(&load("faults/model-storm.toml", &set)).artifacts;
    let losses = run.run.sometimes["model_not_available"];
    assert!((1..=60).contains(&losses), "{losses} losses on 30 nodes");
    let failed: u64 =
        run.timeseries.iter().filter(|row| row.t_s > 95.0).map(|row| row.failed).sum();
    let refused: u64 =
        run.timeseries.iter().filter(|row| row.t_s > 95.0).map(|row| row.refused).sum();
    assert_eq!((failed, refused), (0, 0), "after the storm every node has the model again");
}
