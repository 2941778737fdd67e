//! A realistic run for the tests of this crate, made without chance.

use std::collections::BTreeMap;

use crate::load::{
    AcrossShards, Burstiness, Chunks, Freezes, Load, Outage, Preflight, Shard, Skew, Sockets,
};
use crate::metrics::{Bound, blank, evaluate};
use crate::run::{
    Affinity, Artifacts, BrokenSegments, Fairness, Jobs, Kind, Latencies, Machine, Oversold,
    PairRow, Run, Sample, ScenarioRef, SchedulerLoad, StoreLoad, Summary, Verdict,
};
use crate::summary::{latency_histogram, record_ns, summarize};
use crate::theory::erlang_b;

fn words(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect()
}

pub(crate) fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(k, v)| ((*k).to_string(), *v)).collect()
}

/// A mixed congruential sequence in 0..1, the same everywhere.
fn noise(n: u64) -> f64 {
    let mixed = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn pairs() -> Vec<PairRow> {
    let names = ["zh:en", "en:zh", "zh:ja", "ja:zh", "en:ja", "ja:en", "zh:ko", "ko:zh", "en:ko"];
    let more = ["ko:en", "ja:ko", "ko:ja", "fr:en", "en:fr", "de:en"];
    let mut rows = Vec::new();
    for (i, name) in names.iter().chain(&more).enumerate() {
        let offered = 168_000 / (i as u64 + 1);
        let slots = 120 / (i as u32 / 2 + 1);
        let floor = erlang_b(u64::from(slots), f64::from(slots) * 0.82);
        let refused = (offered as f64 * floor * (0.98 + 0.05 * noise(i as u64))) as u64;
        let sole = i % 3 != 2;
        rows.push(PairRow {
            pair: (*name).into(),
            nodes: slots / 4,
            slots,
            offered,
            refused,
            refused_ratio: refused as f64 / offered as f64,
            erlang_b: sole.then_some(floor),
            z: sole.then_some(1.6 * (noise(i as u64 + 70) - 0.5)),
        });
    }
    rows
}

fn latencies() -> BTreeMap<&'static str, hdrhistogram::Histogram<u64>> {
    let shapes = [
        ("dispatch", 200_000_000.0),
        ("dispatch_net", 0.0),
        ("response", 2_100_000_000.0),
        ("store", 0.0),
    ];
    let mut histograms = BTreeMap::new();
    for (k, (name, base)) in shapes.into_iter().enumerate() {
        let mut h = latency_histogram();
        for n in 0..60_000 {
            let u = noise(n + 1_000_000 * k as u64);
            let tail = -libm::log(1.0 - u);
            let spread = if name == "response" { 420e6 } else { 0.55e6 };
            record_ns(&mut h, (base + spread * (0.6 + tail + 0.05 * tail * tail * tail)) as u64);
        }
        histograms.insert(name, h);
    }
    histograms
}

fn setting() -> BTreeMap<String, String> {
    words(&[
        ("policy", "sample-scan"),
        ("nodes", "100"),
        ("slots", "400"),
        ("instances", "3"),
        ("store", "redis"),
        ("when_full", "refuse"),
    ])
}

fn scheduler() -> SchedulerLoad {
    SchedulerLoad {
        instances: 3,
        busy: 0.314,
        lock_wait: 0.0,
        queue_max: 17,
        heartbeats_per_s: 10.0,
        failure_detection_s: None,
        jobs_to_dead_nodes: 0,
    }
}

/// A good run of a simulated scenario.
pub(crate) fn run() -> Run {
    let pairs = pairs();
    let refused: u64 = pairs.iter().map(|p| p.refused).sum();
    let offered: u64 = pairs.iter().map(|p| p.offered).sum();
    let histograms = latencies();
    let jobs = Jobs {
        offered,
        dispatched: offered - refused + 41,
        completed: offered - refused - 381,
        failed: 12,
        refused,
        timed_out: 29,
        in_flight: 340,
        ..Jobs::default()
    };
    let mut run = Run {
        tool_version: "0.1.0".into(),
        scenario: ScenarioRef {
            name: "A hundred nodes on a busy evening".into(),
            sha256: "9f2c1b7a".repeat(8),
        },
        seed: 7,
        digest: "5be0cd19137e2179".into(),
        arrivals_digest: "1f83d9abfb41bd6b".into(),
        duration_s: 600.0,
        setting: setting(),
        carried_per_s: jobs.completed as f64 / 600.0,
        refused_ratio: refused as f64 / offered as f64,
        refused_by_cause: counts(&[("no_node_for_pair", 3), ("all_full", refused - 3)]),
        erlang_b: Some(0.0058),
        utilisation: 0.871,
        pairs,
        affinity: Affinity {
            expected: 18_204,
            kept: 17_961,
            fallback: counts(&[("full", 201), ("offline", 42)]),
            violated: 0,
        },
        fairness: Fairness { max_over_mean: 1.07, jain: 0.9985 },
        latency_ms: Latencies {
            dispatch: summarize(&histograms["dispatch"]),
            dispatch_net: summarize(&histograms["dispatch_net"]),
            response: summarize(&histograms["response"]),
            store: summarize(&histograms["store"]),
            ..Latencies::default()
        },
        scheduler: scheduler(),
        store: StoreLoad { ops: 3_412_808, ops_per_s: 5688.0, ops_per_job: 6.1, busy: 0.142 },
        first_limit: "slots of pair zh:en".into(),
        headroom: 0.129,
        invariants: counts(&[("I5", 0), ("I9", 0)]),
        sometimes: counts(&[
            ("late release", 31),
            ("lost reply", 4),
            ("stale snapshot miss", 912),
            ("takeover of a duty", 0),
        ]),
        inputs: words(&[
            ("service time", "assumed: lognormal, median 1.9 s, p99 6 s"),
            ("cost per message", "measured"),
            ("store latency", "measured"),
        ]),
        jobs,
        events: 12_804_551,
        load: None,
        duties: None,
        ..blank()
    };
    let bound = |metric: &str, min, max| Bound { metric: metric.into(), min, max };
    run.expectations = evaluate(
        &run,
        &[
            bound("jobs.lost", None, Some(0.0)),
            bound("latency_ms.dispatch_net.p99", None, Some(10.0)),
            bound("oversold.assignments", None, Some(0.0)),
        ],
    );
    run
}

/// What a generator says that had a hard time.
pub(crate) fn load() -> Load {
    Load {
        shard: Shard { index: 0, of: 2 },
        nodes: Sockets {
            requested: 103,
            established: 103,
            held: 100,
            held_max: 101,
            closed_by_us: 2,
            closed_by_scheduler: counts(&[("4001 node id taken over", 1)]),
            ..Sockets::default()
        },
        sessions: Sockets {
            requested: 1042,
            established: 1040,
            held: 1000,
            held_max: 1003,
            failed: counts(&[("connection refused", 2)]),
            closed_by_us: 37,
            closed_silently: 3,
            ..Sockets::default()
        },
        chunks: Chunks {
            sent: 1_600_210,
            bytes: 611_000_000,
            in_jobs: 1_600_000,
            in_refused: 180,
            open: 20,
            lost: 10,
        },
        burstiness: Burstiness { peak_over_mean_1ms: 9.8, peak_over_mean_10ms: 3.4 },
        achieved: 0.968,
        unsent_by_close: 0,
        planned_per_s: 900.0,
        failed_by_cause: counts(&[("MODEL_NOT_AVAILABLE", 12)]),
        timed_out_by_cause: counts(&[("no answer", 29)]),
        findings: counts(&[("foreign_jobs", 0), ("wrong_session", 3)]),
        freezes: Freezes { count: 1, longest_s: 5.02 },
        generator_cpu: Some(0.93),
        generator_starved: Some(0.02),
        kib_per_socket: Some(11.4),
        skew: Skew { nodes: 1, sigmas: 7.2 },
        across: AcrossShards::default(),
        own_lag_p99_ms: 0.4,
        own_lag_max_ms: 3.1,
        outages: vec![Outage { at_s: 30.0, down_s: 2.1, sockets: 1100, back_s: Some(8.4) }],
        preflight: Preflight {
            descriptors_needed: 1164,
            descriptors_allowed: 1024,
            ports_needed: 1145,
            ports_allowed: 28_231,
        },
    }
}

/// A run in which much went wrong.
pub(crate) fn bad_run() -> Run {
    let mut run = run();
    run.kind = Kind::Load;
    run.verdict = Verdict::InvariantBroken;
    run.scenario.name = "The deployed scheduler <as it is> & 中文标题".into();
    run.reasons = vec![
        "I1 broke at 12.304 s: node n-17 ran 6 jobs with max_jobs 4".into(),
        "replay with seed 7".into(),
    ];
    run.erlang_b = None;
    run.jobs.lost = 3;
    run.oversold = Oversold {
        assignments: 1412,
        nodes: 37,
        max_excess: 5,
        excess_seconds: 803.5,
        excess_histogram: [(1, 1100), (2, 240), (3, 60), (5, 12)].into(),
        duration_histogram_ms: [(64, 9), (256, 80), (512, 410), (1024, 700), (4096, 25)].into(),
    };
    run.broken_segments = BrokenSegments { count: 52, lost_speech_s: 171.2 };
    run.affinity.violated = 9;
    run.headroom = 0.0;
    run.invariants = counts(&[("I5", 9), ("I9", 120)]);
    run.latency_ms.store = Summary::default();
    run.load = Some(load());
    let bound = |metric: &str, min, max| Bound { metric: metric.into(), min, max };
    run.expectations = evaluate(
        &run,
        &[
            bound("oversold.assignments", None, Some(0.0)),
            bound("carried_per_s", Some(100.0), None),
            bound("scheduler.failure_detection_s", None, Some(45.0)),
        ],
    );
    run
}

fn samples() -> Vec<Sample> {
    let sample = |i: u64| {
        let t = i as f64 + 1.0;
        let swell = 1.0 + 0.12 * libm::sin(t / 70.0);
        let warm = (t / 8.0).min(1.0);
        let spike = if (300.0..318.0).contains(&t) { 1.35 } else { 1.0 };
        let offered = 900.0 * swell * spike * (0.95 + 0.1 * noise(i));
        let refused =
            (offered * 0.006 * spike * spike * (spike * 3.0 - 2.0) * noise(i + 5000)) * warm;
        Sample {
            t_s: t,
            offered: offered as u64,
            completed: ((offered - refused) * warm) as u64,
            refused: refused as u64,
            failed: u64::from(i % 97 == 5),
            running: (348.0 * swell * warm) as u64,
            waiting: 0,
            utilisation: (0.84 * swell * spike * warm * (0.985 + 0.03 * noise(i + 9000))).min(1.0),
            oversold: 0,
            dispatch_p50_ms: 200.9 + 0.3 * noise(i + 3),
            dispatch_p99_ms: 203.0 + 1.5 * noise(i + 4) + 9.0 * (spike - 1.0),
            nodes: 100,
            sessions: 1000,
            scheduler_busy: 0.31 * swell * spike,
            store_ops: 5688,
        }
    };
    (0..660).map(sample).collect()
}

/// A run with everything beside it.
pub(crate) fn artifacts() -> Artifacts {
    Artifacts {
        run: run(),
        histograms: latencies(),
        timeseries: samples(),
        node_jobs: (0..100)
            .map(|n| (format!("n-{n:03}"), 4, 4800 + (700.0 * noise(n + 800)) as u64))
            .collect(),
        duties: Vec::new(),
        machine: Machine {
            wall_s: 1.93,
            events_per_s: 6.63e6,
            ns_per_job: 3450.0,
            peak_rss_mib: Some(41.0),
            processor: "a processor".into(),
            host: "a host".into(),
            threads: 2,
        },
        sample_s: 1.0,
        warmup_s: 60.0,
    }
}
