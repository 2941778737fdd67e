//! Tables C and D: several instances, and the documents' promises.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use lingua_reports::number::{decimal, percent};
use lingua_reports::run::Run;
use lingua_reports::table::{Align, Cell, Table};
use lingua_scenarios::{Loaded, Scenario};
use lingua_sim::{Quiet, capacity, simulate};

use super::live::Measured;
use crate::failure::Failure;

const FILE: &str = "several.toml";
const INSTANCES: [u32; 5] = [1, 2, 3, 5, 8];
const STORES: [(&str, &str); 2] = [("Redis single", "redis"), ("Cluster of 3", "redis-cluster")];
const MIXES: [(&str, &[&str]); 3] = [
    ("all new", &[]),
    ("30 % reconnects", &["sessions.0.reconnect=\"18/m\""]),
    ("30 % language switches", &["sessions.0.switch_language=\"18/m\""]),
];
/// One instance dies in the counted part.
const CRASH: &str =
    "faults=[{ kind = \"instance-crash\", at = \"2s\", for = \"500ms\", instance = 0 }]";
/// Sessions searched, each asking about once a second.
const SESSIONS: std::ops::Range<u32> = 500..12_000;
/// How near the search comes.
const PRECISION: f64 = 0.08;

/// One row: what was searched, and what was found.
struct Found {
    sessions: u32,
    run: Run,
    // With snapshots every 5 s and every 10 s.
    aged: [Run; 2],
    crashed: Run,
}

/// Table C, and the largest rates of one instance on Redis and of the most on a Cluster.
pub(super) fn table(dir: &Path, threads: usize, measured: &Measured) -> Result<String, Failure> {
    let loaded = Scenario::load(&dir.join(FILE), &[])?;
    let mut plans = Vec::new();
    for (store, _) in STORES.iter().enumerate() {
        for (mix, _) in MIXES.iter().enumerate() {
            plans.extend(INSTANCES.map(|instances| (store, mix, instances)));
        }
    }
    let found = in_parallel(plans.len(), threads, |at| {
        let (store, mix, instances) = plans[at];
        search(&loaded, STORES[store].1, MIXES[mix].1, instances)
    })?;
    let mut table = Table::new(&[
        ("store", Align::Left),
        ("requests", Align::Left),
        ("instances", Align::Right),
        ("largest dispatch/s", Align::Right),
        ("of linear", Align::Right),
        ("sessions", Align::Right),
        ("nodes", Align::Right),
        ("p99 ms", Align::Right),
        ("store ops/s", Align::Right),
        ("ops per job", Align::Right),
        ("hottest key's share", Align::Left),
        ("p99 ms, snapshots 5 / 10 s", Align::Right),
        ("oversold", Align::Right),
        ("needless refusals", Align::Right),
        ("lost when one dies", Align::Right),
        ("first limit", Align::Left),
    ]);
    let mut alone = 0.0;
    for (&(store, mix, instances), found) in plans.iter().zip(&found) {
        let rate = per_second(&found.run);
        if instances == 1 {
            alone = rate;
        }
        let linear = rate / (alone * f64::from(instances)).max(1e-9);
        let nodes = loaded.scenario.nodes.iter().map(|group| group.count).sum();
        let plural = if instances == 1 { "" } else { "s" };
        let of_mix = if mix == 0 { String::new() } else { format!(", {}", MIXES[mix].0) };
        let hottest =
            format!("hottest key of {}, {instances} instance{plural}{of_mix}", STORES[store].0);
        let hottest = measured.figure("C", &hottest).unwrap_or("live server");
        table.row(row((store, mix, instances), found, linear, nodes, hottest));
    }
    let last = |at: usize| found.get(at).map_or_else(String::new, |f| decimal(per_second(&f.run)));
    let single = last(0);
    let many = last(MIXES.len() * INSTANCES.len() + INSTANCES.len() - 1);
    Ok(format!(
        "## C. Several instances\n\n{}\nEach row is the most sessions of `scenarios/{FILE}` (about \
         one utterance a second each, seed 1) for which 99 % of jobs reach a node within 100 ms \
         and at most 0.1 % are refused, found by bisection to {}; to repeat one: `lingua sim \
         scenarios/{FILE} --set scheduler.instances=N --set scheduler.store=S --set \
         sessions.0.count=K`. A dying instance is \
         one of them, for half a second of two; its share is that of the jobs failed. The two \
         snapshot delays are each run for 15 s. Needless \
         refusals are those made while a fitting node was free. The hottest key is that of the \
         live server on Redis with 200 sessions, its share that of all touches of keys, inside \
         scripts too. Inputs: \
         all costs assumed. Measured rows: all instances, Redis and the load generator share the \
         machine.\n{}\n{}",
        table.to_markdown(),
        percent(PRECISION),
        measured.below("C"),
        promises(&loaded, threads, [&single, &many], measured)?
    ))
}

fn row(
    (store, mix, instances): (usize, usize, u32),
    found: &Found,
    linear: f64,
    nodes: u32,
    hottest: &str,
) -> Vec<Cell> {
    let Found { sessions, run, aged, crashed } = found;
    let p99 = |run: &Run| decimal(run.latency_ms.dispatch_net.p99);
    let needless = run.invariants.get("I9").copied().unwrap_or(0);
    let lost = crashed.jobs.failed + crashed.jobs.lost;
    let share = |count: u64, of: &Run| percent(count as f64 / of.jobs.offered.max(1) as f64);
    let texts = [
        STORES[store].0.to_owned(),
        MIXES[mix].0.to_owned(),
        instances.to_string(),
        decimal(per_second(run)),
        percent(linear),
        sessions.to_string(),
        nodes.to_string(),
        p99(run),
        decimal(run.store.ops_per_s),
        decimal(run.store.ops_per_job),
        hottest.to_owned(),
        format!("{} / {}", p99(&aged[0]), p99(&aged[1])),
        run.oversold.assignments.to_string(),
        share(needless, run),
        share(lost, crashed),
        run.first_limit.clone(),
    ];
    texts.map(Cell::from).to_vec()
}

fn per_second(run: &Run) -> f64 {
    run.jobs.offered as f64 / run.duration_s
}

/// The most sessions that meet the expectations, and what happens to them in two worse cases.
fn search(loaded: &Loaded, store: &str, mix: &[&str], instances: u32) -> Result<Found, Failure> {
    let try_at = |sessions: u32, more: &[&str]| -> Result<Run, Failure> {
        let mut overrides = vec![
            format!("scheduler.instances={instances}"),
            format!("scheduler.store={store}"),
            format!("sessions.0.count={sessions}"),
        ];
        overrides.extend(mix.iter().chain(more).map(|&text| text.to_owned()));
        simulated(loaded, &overrides)
    };
    let (mut low, mut high) = (SESSIONS.start, SESSIONS.end);
    let mut run = try_at(low, &[])?;
    while f64::from(high - low) > PRECISION * f64::from(low) {
        let middle = low + (high - low) / 2;
        let tried = try_at(middle, &[])?;
        if capacity::meets(&tried) {
            (low, run) = (middle, tried);
        } else {
            high = middle;
        }
    }
    let aged = |age| try_at(low, &[age, "duration=15s"]);
    let aged = [aged("scheduler.snapshot_age=5s")?, aged("scheduler.snapshot_age=10s")?];
    Ok(Found { sessions: low, run, aged, crashed: try_at(low, &[CRASH])? })
}

fn simulated(loaded: &Loaded, overrides: &[String]) -> Result<Run, Failure> {
    let changed = loaded.with(overrides)?;
    Ok(simulate(&changed.scenario, &changed.sha256, &mut Quiet)?.artifacts.run)
}

/// All of `0..count`, several at a time, in order.
fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, Result<T, Failure>)> = std::thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    return mine;
                }
                mine.push((at, work(at)));
            }
        };
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker.join().expect("a search never panics")
        };
        workers.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Table D: what the documents promise.
fn promises(
    loaded: &Loaded,
    threads: usize,
    [single, many]: [&str; 2],
    measured: &Measured,
) -> Result<String, Failure> {
    // Clients and nodes at no distance: what is left is the scheduler and its store.
    let near = ["costs.session_latency=0us", "costs.node_latency=0us"];
    let one = ["scheduler.instances=1", "nodes.0.heartbeat=10s", "duration=10s"];
    let stores = ["embedded", "redis", "redis-cluster"];
    let runs = in_parallel(stores.len(), threads, |at| {
        let mut overrides = vec![format!("scheduler.store={}", stores[at])];
        overrides.extend(near.iter().chain(&one).map(|&text| text.to_owned()));
        simulated(loaded, &overrides)
    })?;
    let each = |of: &dyn Fn(&Run) -> f64| {
        let found: Vec<String> = runs.iter().map(|run| decimal(of(run))).collect();
        found.join(" / ")
    };
    let hangover = |run: &Run| run.latency_ms.dispatch_net.mean;
    let bench = "server benches: a cost here is an input";
    let rows = [
        ("dispatch mean < 5 ms", each(&hangover), "ms; embedded / Redis / Cluster"),
        ("reserve < 2 ms", each(&|run| run.latency_ms.store.mean), "ms per store step; the same"),
        ("> 10,000 jobs/s", format!("{single} / {many}"), "1 on Redis / 8 on a Cluster (table C)"),
        ("register < 10 ms", bench.to_owned(), ""),
        ("heartbeat < 3 ms", bench.to_owned(), ""),
        ("pool update < 5 ms", bench.to_owned(), ""),
        ("Redis about 5,000 ops/s", each(&|run| run.store.ops_per_s), "at 1,000 jobs/s; the same"),
        ("about 100 MB per 1,000 nodes", "server, resident memory".to_owned(), ""),
    ];
    let mut table = Table::new(&[
        ("promise", Align::Left),
        ("simulated", Align::Right),
        ("embedded live", Align::Left),
        ("Redis live", Align::Left),
        ("deployed", Align::Left),
        ("met?", Align::Left),
        ("conditions", Align::Left),
    ]);
    for (promise, simulated, conditions) in rows {
        let embedded = measured.figure("D", promise);
        let met = if embedded.is_some() { "see the figure" } else { "when measured" };
        let on_redis = measured.figure("D", &format!("{promise}, Redis"));
        let on_redis = on_redis.unwrap_or("server with Redis");
        let live = [embedded.unwrap_or("server"), on_redis, "load generator", met];
        let mut cells = vec![Cell::from(promise), Cell::from(simulated.as_str())];
        cells.extend(live.map(Cell::from));
        cells.push(Cell::from(conditions));
        table.row(cells);
    }
    Ok(format!(
        "## D. The documents' promises\n\n{}\nSimulated on `scenarios/{FILE}` (1,000 sessions, \
         about one utterance a second each, 100 nodes, 10 s heartbeats, one instance) with clients \
         and nodes at no distance; the hangover is taken off. Cells that name a part of the \
         product are filled by it. Inputs: all costs assumed.\n",
        table.to_markdown()
    ))
}
