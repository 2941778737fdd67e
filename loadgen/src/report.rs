//! From counts to the record of the run.

use std::collections::BTreeMap;

use lingua_reports::load::{self, Chunks, Load, Outage, Preflight, Sockets};
use lingua_reports::run::{
    Artifacts, Kind, Latencies, Machine, PairRow, Run, SCHEMA_VERSION, ScenarioRef, SchedulerLoad,
    StoreLoad, Verdict,
};
use lingua_reports::summary;
use lingua_scenarios::{Loaded, Scenario, name_of};

use crate::observer::Observer;
use crate::{Options, Target, judge, plan};

/// What was measured besides the accounts.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Books of nodes and of sessions, before they were closed.
    pub(crate) books: (Sockets, Sockets),
    pub(crate) preflight: Preflight,
    /// Shares of one core: used, and waited for.
    pub(crate) cpu: Option<f64>,
    pub(crate) starved: Option<f64>,
    pub(crate) kib_per_socket: Option<f64>,
    pub(crate) outages: Vec<Outage>,
    /// Why the run ended before its plan.
    pub(crate) stopped: Option<String>,
}

pub(crate) fn artifacts(
    loaded: &Loaded,
    options: &Options,
    mut observer: Observer,
    measured: Measured,
) -> Artifacts {
    let scenario = &loaded.scenario;
    let duration_s = scenario.duration.secs_f64() - scenario.warmup.secs_f64();
    let mut run = record(loaded, options, &observer, duration_s);
    let stopped = measured.stopped.clone();
    run.load = Some(load(&observer, measured, options.shard.record(), duration_s));
    let timeseries = std::mem::take(&mut observer.series.rows);
    let node_jobs =
        observer.nodes.iter().map(|node| (node.name.clone(), node.max_jobs, node.jobs)).collect();
    let sample_s = observer.series.span_s();
    let histograms = observer.latencies.into_map();
    run.latency_ms = latencies(&histograms);
    judge::judge(&mut run, scenario, options, stopped);
    Artifacts {
        run,
        histograms,
        timeseries,
        node_jobs,
        duties: Vec::new(),
        machine: Machine::default(),
        sample_s,
        warmup_s: scenario.warmup.secs_f64(),
    }
}

fn record(loaded: &Loaded, options: &Options, observer: &Observer, duration_s: f64) -> Run {
    let scenario = &loaded.scenario;
    let slots: f64 = observer.nodes.iter().map(|node| f64::from(node.max_jobs)).sum();
    let busy: f64 = observer.nodes.iter().map(|node| node.busy_s()).sum();
    let jobs = observer.jobs.clone();
    Run {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kind: Kind::Load,
        scenario: ScenarioRef { name: scenario.title.clone(), sha256: loaded.sha256.clone() },
        seed: scenario.seed,
        digest: String::new(),
        arrivals_digest: plan::digest(scenario, options.speed)
            .map_or_else(|_| String::new(), |digest| format!("{digest:016x}")),
        verdict: Verdict::Ok,
        reasons: Vec::new(),
        duration_s,
        setting: setting(scenario, options, observer.nodes.len(), slots),
        carried_per_s: jobs.completed as f64 / duration_s,
        refused_ratio: jobs.refused as f64 / jobs.offered.max(1) as f64,
        refused_by_cause: observer.refused_by_cause.clone(),
        erlang_b: None,
        utilisation: busy / (slots * duration_s).max(1e-9),
        pairs: pairs(scenario, observer),
        affinity: observer.affinity.clone(),
        broken_segments: observer.broken_segments.clone(),
        fairness: observer.fairness(),
        oversold: observer.oversold(),
        latency_ms: Latencies::default(),
        scheduler: SchedulerLoad {
            instances: 1,
            heartbeats_per_s: observer.heartbeats as f64 / duration_s,
            ..SchedulerLoad::default()
        },
        store: StoreLoad::default(),
        first_limit: String::new(),
        headroom: 0.0,
        invariants: BTreeMap::new(),
        sometimes: BTreeMap::new(),
        inputs: BTreeMap::new(),
        expectations: Vec::new(),
        events: 0,
        load: None,
        duties: None,
        jobs,
    }
}

fn setting(
    scenario: &Scenario,
    options: &Options,
    nodes: usize,
    slots: f64,
) -> BTreeMap<String, String> {
    let target = match &options.target {
        Target::Own(_) => "own".to_owned(),
        Target::Running(urls) => {
            let list = |urls: &[String]| urls.join(", ");
            match &urls.nodes[..] {
                [] => list(&urls.sessions),
                nodes => format!("{}; nodes at {}", list(&urls.sessions), list(nodes)),
            }
        }
    };
    let mut setting = BTreeMap::from([
        ("nodes".to_owned(), nodes.to_string()),
        ("slots".to_owned(), slots.to_string()),
        ("scheduler".to_owned(), target),
    ]);
    if matches!(options.target, Target::Own(_)) {
        setting.insert("policy".to_owned(), name_of(scenario.scheduler.policy));
    }
    if options.speed != 1.0 {
        setting.insert("speed".to_owned(), options.speed.to_string());
    }
    setting
}

fn pairs(scenario: &Scenario, observer: &Observer) -> Vec<PairRow> {
    let row = |count: &crate::observer::PairCount| {
        let speaks = |tags: &[String], tag: &String| tags.contains(tag);
        let (mut nodes, mut slots) = (0, 0);
        for group in &scenario.nodes {
            if speaks(&group.asr, &count.pair.src) && speaks(&group.tts, &count.pair.tgt) {
                nodes += group.count;
                slots += group.count * group.max_jobs;
            }
        }
        PairRow {
            pair: count.pair.to_string(),
            nodes,
            slots,
            offered: count.offered,
            refused: count.refused,
            refused_ratio: count.refused as f64 / count.offered.max(1) as f64,
            erlang_b: None,
            z: None,
        }
    };
    let mut rows: Vec<PairRow> = observer.pairs.iter().map(row).collect();
    rows.sort_by(|a, b| a.pair.cmp(&b.pair));
    rows
}

fn load(observer: &Observer, measured: Measured, shard: load::Shard, duration_s: f64) -> Load {
    let (nodes, sessions) = measured.books;
    let chunks = &observer.chunks;
    let open = observer.open_chunks;
    let jobs = &observer.jobs;
    let sent = jobs.offered - jobs.never_sent;
    Load {
        shard,
        nodes,
        sessions,
        chunks: Chunks {
            sent: chunks.sent,
            bytes: chunks.bytes,
            in_jobs: chunks.in_jobs,
            in_refused: chunks.in_refused,
            open,
            lost: chunks.sent.saturating_sub(chunks.in_jobs + chunks.in_refused + open),
        },
        achieved: if jobs.offered == 0 { 1.0 } else { sent as f64 / jobs.offered as f64 },
        unsent_by_close: observer.unsent_by_close,
        planned_per_s: jobs.offered as f64 / duration_s,
        failed_by_cause: observer.failed_by_cause.clone(),
        timed_out_by_cause: observer.timed_out_by_cause.clone(),
        findings: findings(observer),
        burstiness: observer.bursts.over(observer.counted_span()),
        freezes: observer.freezes,
        skew: observer.skew(),
        across: observer.across,
        own_lag_p99_ms: observer.latencies.own_lag_p99() as f64 / 1e6,
        own_lag_max_ms: observer.latencies.own_lag_max() as f64 / 1e6,
        generator_cpu: measured.cpu,
        generator_starved: measured.starved,
        kib_per_socket: measured.kib_per_socket,
        preflight: measured.preflight,
        outages: measured.outages,
    }
}

/// What the judge met, by name.
fn findings(observer: &Observer) -> BTreeMap<String, u64> {
    let found = &observer.findings;
    let all = [
        ("wrong_session", found.wrong_session),
        ("unknown_result", found.unknown_results),
        ("wrong_language", found.wrong_language),
        ("no_room", found.no_room),
        ("assigned_twice", found.assigned_twice),
        ("chunk_in_two_jobs", found.chunks_twice),
        ("mixed_job", found.mixed_jobs),
        ("foreign_job", found.foreign_jobs),
        ("malformed_frame", found.malformed),
        ("never_answered", found.never_answered),
        ("stale_result", found.stale_results),
    ];
    let met = all.into_iter().filter(|(_, count)| *count > 0);
    met.map(|(name, count)| (name.to_owned(), count)).collect()
}

fn latencies(histograms: &BTreeMap<&'static str, hdrhistogram::Histogram<u64>>) -> Latencies {
    let of = |name: &str| histograms.get(name).map(summary::summarize).unwrap_or_default();
    Latencies {
        dispatch: of("dispatch"),
        dispatch_net: of("dispatch_net"),
        response: of("response"),
        service: of("service"),
        send_lag: of("send_lag"),
        ..Latencies::default()
    }
}
