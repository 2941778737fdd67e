//! Table A: the largest load of one instance.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use lingua_reports::number::decimal;
use lingua_reports::stats;
use lingua_reports::table::{Align, Cell, Table};
use lingua_scenarios::Scenario;
use lingua_sim::capacity::{self, Combination, Largest};

use super::live::Measured;
use super::replicated::{inputs, set, shown};
use crate::failure::Failure;

const FILE: &str = "bottleneck.toml";
/// What a search must meet, beside what the scenario says.
const GOAL: &str = "expect=[{ metric = \"latency_ms.dispatch_net.p99\", max = 100 }, \
                    { metric = \"refused_ratio\", max = 0.001 }]";

/// A quantity of table A and how it is searched.
struct Quantity {
    name: &'static str,
    document: &'static str,
    path: &'static str,
    from: f64,
    to: f64,
    /// What is shown of a value found.
    scale: f64,
    changes: &'static [&'static str],
}

/// Shorter than the file's runs, where heartbeats do not matter.
const BRIEF: &[&str] = &["duration=8s", "warmup=3s"];

const QUANTITIES: [Quantity; 5] = [
    Quantity {
        name: "dispatch requests/s",
        document: "about 5k",
        path: "arrivals.0.rate",
        from: 2_000.0,
        to: 50_000.0,
        scale: 1.0,
        changes: BRIEF,
    },
    Quantity {
        name: "nodes",
        document: "about 100",
        path: "nodes.0.count",
        from: 500.0,
        to: 20_000.0,
        scale: 1.0,
        changes: BRIEF,
    },
    Quantity {
        name: "concurrent sessions",
        document: "about 1k",
        path: "sessions.0.count",
        from: 2_000.0,
        to: 50_000.0,
        scale: 1.0,
        changes: BRIEF,
    },
    Quantity {
        name: "heartbeat writes/s, jitter ±20 %",
        document: "< 5k",
        path: "nodes.0.count",
        from: 500.0,
        to: 30_000.0,
        // Each node writes every 10 s.
        scale: 0.1,
        changes: &["duration=22s"],
    },
    Quantity {
        name: "heartbeat writes/s, no jitter",
        document: "< 5k",
        path: "nodes.0.count",
        from: 500.0,
        to: 30_000.0,
        scale: 0.1,
        changes: &["duration=22s", "nodes.0.heartbeat_jitter=0"],
    },
];

const STYLES: [[&str; 2]; 3] = [
    ["scheduler.style=phase0", "scheduler.policy=least-connections"],
    ["scheduler.style=phase1", "scheduler.policy=least-connections"],
    ["scheduler.style=phase1", "scheduler.policy=sample-scan"],
];

/// Seeds of a search.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// Table A: one quantity searched, the others held at 100 nodes, 1,000 sessions, 10 s.
pub(super) fn table(dir: &Path, threads: usize, measured: &Measured) -> Result<String, Failure> {
    let mut table = Table::new(&[
        ("quantity", Align::Left),
        ("document", Align::Left),
        ("Phase 0 simulated", Align::Right),
        ("Phase 1 simulated", Align::Right),
        ("ours simulated", Align::Right),
        ("ours live", Align::Left),
        ("deployed live", Align::Left),
        ("first limit (ours)", Align::Left),
        ("inputs", Align::Left),
        ("command (ours)", Align::Left),
    ]);
    let searches: Vec<(&Quantity, &[&str; 2])> =
        QUANTITIES.iter().flat_map(|q| STYLES.iter().map(move |style| (q, style))).collect();
    let found = on_threads(threads, &searches, |(quantity, style)| search(dir, quantity, *style))?;
    for (quantity, found) in QUANTITIES.iter().zip(found.chunks(STYLES.len())) {
        let ours = &found[STYLES.len() - 1];
        let mut cells = vec![Cell::from(quantity.name), Cell::from(quantity.document)];
        cells.extend(found.iter().map(|found| Cell::from(found.shown.as_str())));
        let live = if measured.tells_of("A", quantity.name) { "below" } else { "server" };
        cells.extend([Cell::from(live), Cell::from("load generator")]);
        cells.push(Cell::from(ours.first_limit.as_str()));
        cells.push(Cell::from(ours.inputs.as_str()));
        cells.push(Cell::code(&ours.command));
        table.row(cells);
    }
    Ok(format!(
        "## A. One instance\n\n{}\nEach value is the largest for which 99 % of jobs reach a node \
         within 100 ms (hangover taken off) and at most 0.1 % are refused, found by bisection on \
         `scenarios/{FILE}` with the seeds 1 to {}; the command repeats the first. Heartbeats are \
         those of more and more nodes, one every 10 s each: without jitter all come at once. \
         Cells that name a part of the product are filled by it.\n\n",
        table.to_markdown(),
        SEEDS.end()
    ))
}

/// Works through all items, several at a time; results keep their order.
fn on_threads<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<R, Failure>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// What a search found over all seeds.
struct Found {
    shown: String,
    first_limit: String,
    inputs: String,
    command: String,
}

fn search(dir: &Path, quantity: &Quantity, style: &[&str]) -> Result<Found, Failure> {
    let (from, to) = (quantity.from, quantity.to);
    let first = search_between(dir, quantity, style, *SEEDS.start(), from, to)?;
    let mut values = vec![first.value * quantity.scale];
    for seed in SEEDS.skip(1).filter(|_| !first.open) {
        // Another seed ends near the first one.
        let (low, high) = ((first.value * 0.94).max(from), (first.value * 1.06).min(to));
        let mut largest = search_between(dir, quantity, style, seed, low, high)?;
        if largest.open || largest.value == 0.0 {
            largest = search_between(dir, quantity, style, seed, from, to)?;
        }
        values.push(largest.value * quantity.scale);
    }
    let value = shown(stats::interval(&values), decimal);
    let mut command = format!("lingua capacity scenarios/{FILE}");
    for change in changes(quantity, style, *SEEDS.start(), from, to) {
        command.push_str(&set(&change));
    }
    Ok(Found {
        shown: if first.open { format!("> {value}") } else { value },
        first_limit: if first.open { "not reached".into() } else { first.run.first_limit.clone() },
        inputs: inputs(&first.run),
        command,
    })
}

fn changes(quantity: &Quantity, style: &[&str], seed: u64, from: f64, to: f64) -> Vec<String> {
    let path = quantity.path;
    let plan = format!(
        "capacity={{ search = {{ path = \"{path}\", from = {from:?}, to = {to:?}, precision = 0.02 }} }}"
    );
    // Slots must never be the limit here.
    let mut all = vec![plan, GOAL.to_owned(), "faults=[]".to_owned()];
    all.extend(["nodes.0.max_jobs=1024".to_owned(), format!("seed={seed}")]);
    all.extend(style.iter().chain(quantity.changes).map(|&text| text.to_owned()));
    all
}

fn search_between(
    dir: &Path,
    quantity: &Quantity,
    style: &[&str],
    seed: u64,
    from: f64,
    to: f64,
) -> Result<Largest, Failure> {
    let overrides = changes(quantity, style, seed, from, to);
    let loaded = Scenario::load(&dir.join(FILE), &overrides)?;
    let combination = Combination {
        nodes: loaded.scenario.nodes[0].count,
        policy: loaded.scenario.scheduler.policy,
        instances: 1,
        overrides: Vec::new(),
    };
    Ok(capacity::search(&loaded, &combination)?)
}
