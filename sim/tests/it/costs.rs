//! What each choice of the documents costs beside the same arrivals without it.

use lingua_reports::run::{Artifacts, Run};

use crate::{load, run};

/// A bound on a figure of one variant.
struct Case {
    file: &'static str,
    /// Makes it short, or the same for both sides.
    changes: &'static [&'static str],
    /// The choice, and the same without it.
    on: &'static str,
    off: &'static str,
    figure: fn(&Artifacts) -> f64,
    /// Where the figure must lie with the choice.
    band: std::ops::RangeInclusive<f64>,
    /// What it must not exceed without.
    at_most: f64,
}

fn refused(artifacts: &Artifacts) -> f64 {
    artifacts.run.refused_ratio
}

fn oversold(artifacts: &Artifacts) -> f64 {
    artifacts.run.oversold.assignments as f64
}

/// Share of the nodes in service that no job of the counted part has reached.
fn hidden(artifacts: &Artifacts) -> f64 {
    let there = artifacts.timeseries.last().map_or(0, |row| row.nodes) as f64;
    let used = artifacts.node_jobs.iter().filter(|&&(.., jobs)| jobs > 0).count() as f64;
    1.0 - used / there
}

const CASES: [Case; 7] = [
    Case {
        file: "costs/preferred-pool.toml",
        changes: &["duration=5m"],
        on: "scheduler.preferred_pool=1h",
        off: "scheduler.preferred_pool=0s",
        figure: refused,
        band: 0.41..=0.46,
        at_most: 0.005,
    },
    // Erlang B of 200 slots at 320 jobs is 0.380: with so large a sample little is lost beyond it.
    Case {
        file: "costs/preferred-pool.toml",
        changes: &["duration=5m", "scheduler.sample=16"],
        on: "scheduler.preferred_pool=1h",
        off: "scheduler.preferred_pool=0s",
        figure: refused,
        band: 0.37..=0.4,
        at_most: 0.005,
    },
    Case {
        file: "costs/shard-hole.toml",
        changes: &["duration=2m"],
        on: "scheduler.stop_at_shard_hole=true",
        off: "scheduler.stop_at_shard_hole=false",
        figure: hidden,
        band: 0.8..=0.8,
        at_most: 0.0,
    },
    Case {
        file: "costs/shard-hole.toml",
        changes: &["duration=2m"],
        on: "scheduler.stop_at_shard_hole=true",
        off: "scheduler.stop_at_shard_hole=false",
        figure: refused,
        band: 0.57..=0.64,
        at_most: 0.005,
    },
    Case {
        file: "costs/stale-pool-members.toml",
        changes: &["duration=3m"],
        on: "scheduler.stale_pool_members=true",
        off: "scheduler.stale_pool_members=false",
        figure: refused,
        band: 0.07..=0.12,
        at_most: 0.01,
    },
    Case {
        file: "costs/missing-counter.toml",
        changes: &["duration=190s"],
        on: "scheduler.missing_counter=true",
        off: "scheduler.capacity_check=lease",
        figure: oversold,
        band: 1_500.0..=5_000.0,
        at_most: 0.0,
    },
    Case {
        file: "costs/lowered-maximum.toml",
        changes: &["duration=2m"],
        on: "scheduler.capacity_check=as-documented",
        off: "scheduler.capacity_check=lease",
        figure: oversold,
        band: 300.0..=3_000.0,
        at_most: 0.0,
    },
];

fn simulated(case: &Case, choice: &str) -> Artifacts {
    let mut all = case.changes.to_vec();
    all.push(choice);
    run(&load(case.file, &all)).artifacts
}

#[test]
fn each_choice_costs_what_the_table_says_and_nothing_without_it() {
    for case in &CASES {
        let (on, off) = (simulated(case, case.on), simulated(case, case.off));
        assert_eq!(on.run.arrivals_digest, off.run.arrivals_digest, "{}", case.file);
        let (cost, without) = ((case.figure)(&on), (case.figure)(&off));
        let named = format!("{} {}", case.file, case.on);
        assert!(case.band.contains(&cost), "{named}: {cost}");
        assert!(without <= case.at_most, "{named}: {without} without it");
    }
}

#[test]
fn a_counter_that_is_kept_oversells_a_small_part_of_what_a_missing_one_does() {
    let oversold = |missing: &str| {
        let set = ["duration=190s", &format!("scheduler.missing_counter={missing}")];
        run(&load("costs/missing-counter.toml", &set)).artifacts.run.oversold.assignments
    };
    let (kept, missing) = (oversold("false"), oversold("true"));
    assert!(kept * 10 < missing, "{kept} against {missing}");
}

#[test]
fn the_first_pool_is_not_missed_by_a_policy_that_scans() {
    let set = ["duration=4m", "scheduler.preferred_pool=1h", "scheduler.policy=sample-scan"];
    assert_eq!(run(&load("costs/preferred-pool.toml", &set)).artifacts.run.jobs.refused, 0);
}

#[test]
fn a_longer_affinity_breaks_fewer_segments_up_to_half_an_hour() {
    let lives = ["10s", "60s", "2m", "5m", "30m"];
    let broken = |life: &str| -> Run {
        let set = [&format!("scheduler.affinity_life={life}"), "duration=20m"];
        run(&load("costs/affinity-life.toml", &set)).artifacts.run
    };
    let counts = lives.map(|life| broken(life).broken_segments.count);
    assert!(counts.is_sorted_by(|a, b| a > b), "{lives:?}: {counts:?}");
    assert!(counts[4] * 2 < counts[0] && counts[4] * 10 > counts[3] * 8, "{counts:?}");
}

#[test]
fn nodes_that_beat_in_step_come_in_bursts() {
    let queue = |jitter: &str| {
        let set = [&format!("nodes.0.heartbeat_jitter={jitter}"), "faults=[]", "duration=60s"];
        run(&load("bottleneck.toml", &set)).artifacts.run.scheduler.queue_max
    };
    let (spread, in_step) = (queue("0.9"), queue("0"));
    assert!(in_step >= 90, "{in_step} messages of 100 nodes at once");
    assert!(spread <= in_step, "{spread}");
}

#[test]
fn a_raised_maximum_is_used_and_a_lowered_one_heeded_behind_a_slow_network() {
    let set = |max_jobs: u32| {
        let fault = format!(
            "faults=[{{ kind = \"max-jobs\", at = \"60s\", for = \"60s\", max_jobs = {max_jobs} }}]"
        );
        let more = ["scheduler.policy=sample-scan", "duration=3m", "nodes.0.max_jobs=10"];
        let late = "costs.node_latency={ exponential = \"100ms\" }";
        let finished =
            run(&load("costs/lowered-maximum.toml", &[&fault, late, more[0], more[1], more[2]]));
        assert_eq!(finished.broken, None);
        assert_eq!(finished.artifacts.run.oversold.assignments, 0);
        let rows = finished.artifacts.timeseries;
        let running = |from: f64, to: f64| {
            let rows = rows.iter().filter(|row| row.t_s > from && row.t_s < to);
            rows.map(|row| row.running).max().unwrap_or(0)
        };
        (running(90.0, 119.0), running(140.0, 180.0))
    };
    assert_eq!(set(4), (80, 200));
    let (during, after) = set(14);
    assert!(during > 270 && after == 200, "{during}, then {after}");
}
