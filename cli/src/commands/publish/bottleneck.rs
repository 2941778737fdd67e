//! Tables A and B: one instance, and when it becomes the bottleneck.

use std::path::Path;

use lingua_reports::number::{decimal, percent};
use lingua_reports::run::Run;
use lingua_reports::table::{Align, Cell, Table};
use lingua_scenarios::Scenario;
use lingua_sim::capacity::{self, Combination};

use super::{Case, run_cases};
use crate::failure::Failure;

const FILE: &str = "bottleneck.toml";
/// What a search must meet, beside what the scenario says.
const GOAL: &str = "expect=[{ metric = \"latency_ms.dispatch_net.p99\", max = 100 }, \
                    { metric = \"refused_ratio\", max = 0.001 }]";

/// Table A: one quantity searched, the others held at 100 nodes, 1,000 sessions, 10 s.
pub(super) fn one_instance(dir: &Path) -> Result<String, Failure> {
    let searched = [
        ("dispatch requests/s", "about 5k", "arrivals.0.rate", 50.0, 100_000.0),
        ("nodes", "about 100", "nodes.0.count", 10.0, 20_000.0),
        ("concurrent sessions", "about 1k", "sessions.0.count", 50.0, 100_000.0),
    ];
    let styles = [
        ("Phase 0", &["scheduler.style=phase0", "scheduler.policy=least-connections"][..]),
        ("Phase 1", &["scheduler.style=phase1", "scheduler.policy=least-connections"][..]),
        ("ours", &["scheduler.style=phase1", "scheduler.policy=sample-scan"][..]),
    ];
    let mut table = Table::new(&[
        ("quantity", Align::Left),
        ("document", Align::Left),
        ("Phase 0 simulated", Align::Right),
        ("Phase 1 simulated", Align::Right),
        ("ours simulated", Align::Right),
        ("ours live", Align::Left),
        ("deployed live", Align::Left),
        ("first limit (ours)", Align::Left),
    ]);
    for (name, document, path, from, to) in searched {
        let found: Vec<(String, String)> = std::thread::scope(|scope| {
            let searches: Vec<_> = styles
                .iter()
                .map(|(_, style)| scope.spawn(move || search(dir, path, from, to, style)))
                .collect();
            let join = |search: std::thread::ScopedJoinHandle<'_, _>| {
                search.join().expect("a search never panics")
            };
            searches.into_iter().map(join).collect::<Result<Vec<_>, Failure>>()
        })?;
        let mut cells = vec![Cell::from(name), Cell::from(document)];
        cells.extend(found.iter().map(|(value, _)| Cell::from(value.as_str())));
        cells.extend([Cell::from("server"), Cell::from("load generator")]);
        cells.extend(found.last().map(|(_, limit)| Cell::from(limit.as_str())));
        table.row(cells);
    }
    Ok(format!(
        "## A. One instance\n\n{}\nEach value is the largest for which 99 % of jobs reach a node \
         within 100 ms (hangover taken off) and at most 0.1 % are refused, found by bisection on \
         `scenarios/{FILE}`. Inputs: all costs assumed. Heartbeat writes are in table B. Cells \
         that name a part of the product are filled by it.\n\n",
        table.to_markdown()
    ))
}

fn search(
    dir: &Path,
    path: &str,
    from: f64,
    to: f64,
    style: &[&str],
) -> Result<(String, String), Failure> {
    let plan = format!(
        "capacity={{ search = {{ path = \"{path}\", from = {from}, to = {to}, precision = 0.05 }} }}"
    );
    let mut overrides: Vec<String> = style.iter().map(|&text| text.to_owned()).collect();
    // Slots must never be the limit here.
    overrides.extend([plan, GOAL.to_owned(), "faults=[]".to_owned()]);
    overrides.extend(["nodes.0.max_jobs=1024".to_owned(), "duration=20s".to_owned()]);
    let loaded = Scenario::load(&dir.join(FILE), &overrides)?;
    let scheduler = &loaded.scenario.scheduler;
    let combination = Combination {
        nodes: loaded.scenario.nodes[0].count,
        policy: scheduler.policy,
        instances: 1,
        overrides: Vec::new(),
    };
    let largest = capacity::search(&loaded, &combination)?;
    let more = if largest.open { "> " } else { "" };
    let limit = if largest.open { "not reached" } else { "scheduler CPU (p99)" };
    Ok((format!("{more}{}", decimal(largest.value)), limit.to_owned()))
}

/// Table B: one factor at a time.
pub(super) fn one_factor(dir: &Path, threads: usize) -> Result<String, Failure> {
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
    cases.push(Case::new("duties: statistics", &["costs.lock=0us", "costs.scan_node=0us"]));
    cases.push(Case::new("duties: all", &[]));
    let runs = run_cases(&dir.join(FILE), &cases, threads)?;
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
    ]);
    for (case, run) in cases.iter().zip(&runs) {
        table.row(row(&case.name, run));
    }
    Ok(format!(
        "## B. When one scheduler becomes the bottleneck\n\n{}\nPhase 0 style on \
         `scenarios/{FILE}` (100 nodes, 1,000 sessions, 100 bare jobs/s, 10 s heartbeats), one \
         factor changed at a time with `--set`; one node hangs half-open from 12 s on. Dispatch \
         has the hangover taken off. Handling of MODEL_NOT_AVAILABLE on the path is not in a row \
         of its own yet. Inputs: all costs assumed.\n",
        table.to_markdown()
    ))
}

fn row(name: &str, run: &Run) -> Vec<Cell> {
    let latency = &run.latency_ms.dispatch_net;
    let scheduler = &run.scheduler;
    let detection =
        scheduler.failure_detection_s.map_or_else(|| "not within the run".into(), decimal);
    let texts = [
        name.to_owned(),
        percent(run.refused_ratio),
        format!("{} / {} / {}", decimal(latency.mean), decimal(latency.p50), decimal(latency.p99)),
        percent(scheduler.busy),
        percent(scheduler.lock_wait),
        decimal(scheduler.heartbeats_per_s),
        detection,
        scheduler.jobs_to_dead_nodes.to_string(),
        decimal(run.store.ops_per_s),
        run.first_limit.clone(),
        advice(run).to_owned(),
    ];
    texts.map(Cell::from).to_vec()
}

/// Which phase carries the load, by how busy this one is.
fn advice(run: &Run) -> &'static str {
    match run.scheduler.busy {
        busy if busy < 0.5 => "Phase 0 carries it",
        busy if busy < 0.8 => "Phase 1",
        busy if busy < 0.98 => "Phase 2",
        _ => "Phase 2 or 3",
    }
}
