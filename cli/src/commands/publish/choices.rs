//! What each design choice costs.

use std::path::Path;

use lingua_reports::number::{count, decimal, percent};
use lingua_reports::table::{Align, Cell, Table};

use super::{Case, run_cases};
use crate::failure::Failure;

pub(super) fn table(dir: &Path, threads: usize) -> Result<String, Failure> {
    let mut table = Table::new(&[
        ("choice", Align::Left),
        ("refused", Align::Right),
        ("Erlang B", Align::Right),
        ("response p99 ms", Align::Right),
        ("oversold", Align::Right),
        ("busiest/mean", Align::Right),
        ("affinity kept", Align::Right),
        ("broken segments", Align::Right),
        ("speech lost s", Align::Right),
        ("command", Align::Left),
    ]);
    for (file, cases) in groups() {
        let runs = run_cases(&dir.join(file), &cases, threads)?;
        for (case, run) in cases.iter().zip(&runs) {
            let affinity = &run.affinity;
            let mut command = format!("`lingua sim scenarios/{file}");
            for change in &case.overrides {
                command.push_str(&format!(" --set {change}"));
            }
            let cells = [
                case.name.clone(),
                percent(run.refused_ratio),
                run.erlang_b.map_or_else(|| "n/a".to_owned(), percent),
                decimal(run.latency_ms.response.p99),
                count(run.oversold.assignments),
                decimal(run.fairness.max_over_mean),
                format!("{} of {}", count(affinity.kept), count(affinity.expected)),
                count(run.broken_segments.count),
                decimal(run.broken_segments.lost_speech_s),
                command + "`",
            ];
            table.row(cells.map(Cell::from));
        }
    }
    Ok(format!(
        "\n## What each design choice costs\n\n{}\nOne block per scenario; within a block all rows \
         met the same arrivals. Erlang B is the floor that no scheduler without a queue can beat. \
         Service times, talk patterns and costs are assumed.\n",
        table.to_markdown()
    ))
}

fn groups() -> Vec<(&'static str, Vec<Case>)> {
    let short = "duration=10m";
    let policy = |name: &str, changes: &[&str]| {
        let mut all = vec![short];
        all.extend(changes);
        Case::new(name, &all)
    };
    let mut policies = Vec::new();
    for sample in 1..=5 {
        let set = format!("scheduler.sample={sample}");
        let name = format!("sample-reserve, N = {sample}");
        policies.push(policy(&name, &["scheduler.policy=sample-reserve", &set]));
    }
    for name in ["sample-scan", "power-of-d", "least-connections", "round-robin"] {
        policies.push(policy(name, &[&format!("scheduler.policy={name}")]));
    }
    policies.extend([
        policy(
            "power-of-d without scan",
            &["scheduler.policy=power-of-d", "scheduler.fallback=refuse"],
        ),
        policy("two-level-random", &["scheduler.policy=two-level-random"]),
        policy("first-online, set order", &["scheduler.policy=first-online", "duration=2m"]),
        policy("first-online, sorted", &["scheduler.policy=first-online-sorted", "duration=2m"]),
        policy("queueing instead of refusing", &["scheduler.when_full=wait"]),
        policy("no look at capacity", &["scheduler.capacity_check=off"]),
    ]);
    for age in ["1s", "5s", "10s"] {
        let set = format!("scheduler.snapshot_age={age}");
        let name = format!("power-of-d without scan, snapshot {age} old");
        let more = [
            "scheduler.policy=power-of-d",
            "scheduler.fallback=refuse",
            "scheduler.store=redis",
            &set,
        ];
        policies.push(policy(&name, &more));
    }
    let mut affinity = Vec::new();
    for rule in ["as-documented", "next-job"] {
        for detect in ["timer", "on-chunk"] {
            let (rule_set, detect_set) = (
                format!("scheduler.affinity_rule={rule}"),
                format!("scheduler.pause_detect={detect}"),
            );
            affinity.push(Case::new(
                format!("affinity {rule}, pause by {detect}"),
                &[&rule_set, &detect_set],
            ));
        }
    }
    for life in ["10s", "60s", "2m", "5m", "30m"] {
        let set = format!("scheduler.affinity_life={life}");
        affinity.push(Case::new(
            format!("affinity life {life}"),
            &[&set, "scheduler.pause_detect=on-chunk"],
        ));
    }
    let shards = vec![
        Case::new("shards 100/100/3, uniform shard", &["scheduler.policy=two-level-random"]),
        Case::new("shards 100/100/3, weighted", &["scheduler.policy=sample-scan"]),
    ];
    let documented = [10, 12, 16]
        .map(|max| {
            let set = format!("nodes.0.max_jobs={max}");
            let name = format!("documented reservation, max_jobs {max}");
            policy(&name, &["duration=2m", "scheduler.capacity_check=as-documented", &set])
        })
        .into_iter()
        .collect();
    vec![
        ("policies.toml", policies),
        ("policies.toml", documented),
        ("shards-uneven.toml", shards),
        ("affinity-long-speech.toml", affinity),
    ]
}
