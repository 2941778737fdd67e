//! Table B: when one scheduler becomes the bottleneck.

use std::path::Path;

use lingua_reports::number::{decimal, percent};
use lingua_reports::table::{Align, Cell, Table};

use super::Case;
use super::replicated::{Replicated, command, replicate};
use crate::failure::Failure;

const FILE: &str = "bottleneck.toml";

/// Table B: one factor at a time.
pub(super) fn table(dir: &Path, threads: usize) -> Result<String, Failure> {
    let mut cases = Vec::new();
    for nodes in [10, 50, 100, 200, 500, 1_000, 2_000] {
        cases.push(Case::new(format!("nodes {nodes}"), &[&format!("nodes.0.count={nodes}")]));
    }
    for (name, count) in [("100", 100), ("300", 300), ("1k", 1_000), ("3k", 3_000), ("10k", 10_000)]
    {
        let set = format!("sessions.0.count={count}");
        cases.push(Case::new(format!("sessions {name}"), &[&set]));
    }
    for (name, rate) in [("500", 500), ("1k", 1_000), ("2k", 2_000), ("5k", 5_000), ("10k", 10_000)]
    {
        let set = format!("arrivals.0.rate=\"{rate}/s\"");
        cases.push(Case::new(format!("dispatch/s {name}"), &[&set]));
    }
    for seconds in [1, 2, 5, 10, 15, 30, 60] {
        let set = format!("nodes.0.heartbeat={seconds}s");
        // A silent node is noticed after three heartbeats, or 45 s before one is known.
        let long = ["duration=5m", "faults.0.for=4m"];
        cases.push(Case::new(format!("heartbeat {seconds} s"), &[&set, long[0], long[1]]));
    }
    let none = "scheduler.style=phase1";
    cases.push(Case::new("duties: none", &[none]));
    let (lock, scan, statistics) =
        ("costs.lock=0us", "costs.scan_node=0us", "costs.statistics=0us");
    cases.push(Case::new("duties: statistics", &[lock, scan]));
    let storm = [
        "nodes.0.models=[\"asr@1\"]",
        "arrivals.0.model=\"asr@1\"",
        "faults=[{ kind = \"model-storm\", at = \"12s\", for = \"17s\", model = \"asr@1\", share = 0.5 }]",
    ];
    cases.push(Case::new(
        "duties: model-not-available handling",
        &[lock, scan, statistics, storm[0], storm[1], storm[2]],
    ));
    cases.push(Case::new("duties: all", &[]));
    cases.push(Case::new("duties: all, and a model storm", &storm));
    let found = replicate(&dir.join(FILE), &cases, threads)?;
    let mut table = Table::new(&[
        ("factor", Align::Left),
        ("refused", Align::Right),
        ("dispatch mean/p50/p99 ms", Align::Right),
        ("scheduler busy", Align::Right),
        ("lock wait", Align::Right),
        ("heartbeats/s", Align::Right),
        ("failure detection s", Align::Right),
        ("jobs to dead nodes", Align::Right),
        ("store ops/s", Align::Right),
        ("first limit", Align::Left),
        ("advice", Align::Left),
        ("inputs", Align::Left),
        ("command", Align::Left),
    ]);
    for (case, runs) in cases.iter().zip(&found) {
        table.row(row(case, runs));
    }
    Ok(format!(
        "## B. When one scheduler becomes the bottleneck\n\n{}\nPhase 0 style on \
         `scenarios/{FILE}` (100 nodes, 1,000 sessions, 100 bare jobs/s, 10 s heartbeats), one \
         factor changed at a time with `--set`; one node hangs half-open from 12 s on. Dispatch \
         has the hangover taken off. In a model storm half of the nodes lack the model that every \
         bare job needs, from 12 s on; its handling costs 1 ms, once in 5 s and model.\n",
        table.to_markdown()
    ))
}

fn row(case: &Case, runs: &Replicated) -> Vec<Cell> {
    let dispatch = [
        runs.decimal(|run| run.latency_ms.dispatch_net.mean),
        runs.decimal(|run| run.latency_ms.dispatch_net.p50),
        runs.decimal(|run| run.latency_ms.dispatch_net.p99),
    ];
    let detection = runs
        .decimal_where_there(|run| run.scheduler.failure_detection_s)
        .unwrap_or_else(|| "not within the run".to_owned());
    let busy = runs.mean(|run| run.scheduler.busy);
    let texts = [
        case.name.clone(),
        runs.percent(|run| run.refused_ratio),
        dispatch.join(" / "),
        runs.percent(|run| run.scheduler.busy),
        percent(runs.mean(|run| run.scheduler.lock_wait)),
        runs.decimal(|run| run.scheduler.heartbeats_per_s),
        detection,
        runs.decimal(|run| run.scheduler.jobs_to_dead_nodes as f64),
        decimal(runs.mean(|run| run.store.ops_per_s)),
        runs.first_limit(),
        advice(busy).to_owned(),
        runs.inputs(),
    ];
    let mut cells = texts.map(Cell::from).to_vec();
    cells.push(Cell::code(&command(FILE, case)));
    cells
}

/// Which phase carries the load, by how busy this one is.
fn advice(busy: f64) -> &'static str {
    match busy {
        busy if busy < 0.5 => "Phase 0 carries it",
        busy if busy < 0.8 => "Phase 1",
        busy if busy < 0.98 => "Phase 2",
        _ => "Phase 2 or 3",
    }
}
