//! Accounts of several shards added up.

use std::collections::BTreeMap;

use crate::facts::{ratio, total};
use crate::load::{
    AcrossShards, Burstiness, Chunks, Freezes, Load, Outage, Preflight, Shard, Skew, Sockets,
};
use crate::run::{Affinity, BrokenSegments, Jobs, Oversold, PairRow, Run, StoreLoad};

/// Counts by name, added.
pub(super) fn counts<'a, K: Ord + Clone + 'a>(
    maps: impl Iterator<Item = &'a BTreeMap<K, u64>>,
) -> BTreeMap<K, u64> {
    let mut all = BTreeMap::new();
    for (name, n) in maps.flatten() {
        let sum: &mut u64 = all.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*n);
    }
    all
}

pub(super) fn jobs(runs: &[&Run]) -> Jobs {
    let sum = |of: fn(&Jobs) -> u64| total(runs.iter().map(|run| of(&run.jobs)));
    Jobs {
        offered: sum(|jobs| jobs.offered),
        dispatched: sum(|jobs| jobs.dispatched),
        completed: sum(|jobs| jobs.completed),
        failed: sum(|jobs| jobs.failed),
        refused: sum(|jobs| jobs.refused),
        timed_out: sum(|jobs| jobs.timed_out),
        in_flight: sum(|jobs| jobs.in_flight),
        never_sent: sum(|jobs| jobs.never_sent),
        lost: sum(|jobs| jobs.lost),
        duplicate: sum(|jobs| jobs.duplicate),
        reordered: sum(|jobs| jobs.reordered),
    }
}

/// Pairs by name. Nodes and slots are those of
/// the scenario, which every shard tells in whole.
pub(super) fn pairs(runs: &[&Run]) -> Vec<PairRow> {
    let mut all: BTreeMap<&str, PairRow> = BTreeMap::new();
    for row in runs.iter().flat_map(|run| &run.pairs) {
        match all.get_mut(row.pair.as_str()) {
            None => {
                all.insert(&row.pair, PairRow { erlang_b: None, z: None, ..row.clone() });
            }
            Some(sum) => {
                sum.offered = sum.offered.saturating_add(row.offered);
                sum.refused = sum.refused.saturating_add(row.refused);
                sum.refused_ratio = ratio(sum.refused, sum.offered);
            }
        }
    }
    let mut rows: Vec<PairRow> = all.into_values().collect();
    rows.sort_by(|a, b| b.offered.cmp(&a.offered).then_with(|| a.pair.cmp(&b.pair)));
    rows
}

pub(super) fn affinity(runs: &[&Run]) -> Affinity {
    let sum = |of: fn(&Affinity) -> u64| total(runs.iter().map(|run| of(&run.affinity)));
    Affinity {
        expected: sum(|affinity| affinity.expected),
        kept: sum(|affinity| affinity.kept),
        fallback: counts(runs.iter().map(|run| &run.affinity.fallback)),
        violated: sum(|affinity| affinity.violated),
    }
}

pub(super) fn broken_segments(runs: &[&Run]) -> BrokenSegments {
    BrokenSegments {
        count: total(runs.iter().map(|run| run.broken_segments.count)),
        lost_speech_s: runs.iter().map(|run| run.broken_segments.lost_speech_s).sum(),
    }
}

pub(super) fn oversold(runs: &[&Run]) -> Oversold {
    let sum = |of: fn(&Oversold) -> u64| total(runs.iter().map(|run| of(&run.oversold)));
    Oversold {
        assignments: sum(|oversold| oversold.assignments),
        nodes: sum(|oversold| oversold.nodes),
        max_excess: runs.iter().map(|run| run.oversold.max_excess).max().unwrap_or_default(),
        excess_seconds: runs.iter().map(|run| run.oversold.excess_seconds).sum(),
        excess_histogram: counts(runs.iter().map(|run| &run.oversold.excess_histogram)),
        duration_histogram_ms: counts(runs.iter().map(|run| &run.oversold.duration_histogram_ms)),
    }
}

pub(super) fn store(runs: &[&Run], offered: u64) -> StoreLoad {
    let ops = total(runs.iter().map(|run| run.store.ops));
    StoreLoad {
        ops,
        ops_per_s: runs.iter().map(|run| run.store.ops_per_s).sum(),
        ops_per_job: ratio(ops, offered),
        busy: runs.iter().map(|run| run.store.busy).fold(0.0, f64::max),
    }
}

pub(super) fn load(loads: &[&Load]) -> Load {
    let worst = |of: fn(&Load) -> f64| loads.iter().map(|load| of(load)).fold(0.0, f64::max);
    let known =
        |of: fn(&Load) -> Option<f64>| loads.iter().filter_map(|load| of(load)).reduce(f64::max);
    let planned_per_s: f64 = loads.iter().map(|load| load.planned_per_s).sum();
    let sent_per_s: f64 = loads.iter().map(|load| load.achieved * load.planned_per_s).sum();
    Load {
        shard: Shard::default(),
        nodes: sockets(loads.iter().map(|load| &load.nodes)),
        sessions: sockets(loads.iter().map(|load| &load.sessions)),
        chunks: chunks(loads),
        burstiness: Burstiness {
            peak_over_mean_1ms: worst(|load| load.burstiness.peak_over_mean_1ms),
            peak_over_mean_10ms: worst(|load| load.burstiness.peak_over_mean_10ms),
        },
        achieved: if planned_per_s > 0.0 { sent_per_s / planned_per_s } else { 1.0 },
        unsent_by_close: total(loads.iter().map(|load| load.unsent_by_close)),
        planned_per_s,
        failed_by_cause: counts(loads.iter().map(|load| &load.failed_by_cause)),
        timed_out_by_cause: counts(loads.iter().map(|load| &load.timed_out_by_cause)),
        findings: counts(loads.iter().map(|load| &load.findings)),
        // A frozen scheduler freezes for all shards at once.
        freezes: Freezes {
            count: loads.iter().map(|load| load.freezes.count).max().unwrap_or_default(),
            longest_s: worst(|load| load.freezes.longest_s),
        },
        skew: Skew {
            nodes: total(loads.iter().map(|load| load.skew.nodes)),
            sigmas: worst(|load| load.skew.sigmas),
        },
        across: across(loads),
        own_lag_p99_ms: worst(|load| load.own_lag_p99_ms),
        own_lag_max_ms: worst(|load| load.own_lag_max_ms),
        generator_cpu: known(|load| load.generator_cpu),
        generator_starved: known(|load| load.generator_starved),
        kib_per_socket: known(|load| load.kib_per_socket),
        outages: outages(loads),
        preflight: preflight(loads),
    }
}

fn sockets<'a>(books: impl Iterator<Item = &'a Sockets>) -> Sockets {
    let mut all = Sockets::default();
    for book in books {
        all.requested += book.requested;
        all.established += book.established;
        all.held += book.held;
        all.held_max += book.held_max;
        all.failed = counts([&all.failed, &book.failed].into_iter());
        all.closed_by_us += book.closed_by_us;
        all.closed_by_scheduler =
            counts([&all.closed_by_scheduler, &book.closed_by_scheduler].into_iter());
        all.closed_silently += book.closed_silently;
    }
    all
}

fn across(loads: &[&Load]) -> AcrossShards {
    let sum = |of: fn(&AcrossShards) -> u64| total(loads.iter().map(|load| of(&load.across)));
    AcrossShards {
        hosted: sum(|across| across.hosted),
        answered: sum(|across| across.answered),
        heard: sum(|across| across.heard),
    }
}

/// One crash strikes all shards: the sockets of each count, and the last one that is back.
fn outages(loads: &[&Load]) -> Vec<Outage> {
    let most = loads.iter().map(|load| load.outages.len()).max().unwrap_or_default();
    let nth = |at: usize| {
        let struck = || loads.iter().filter_map(move |load| load.outages.get(at));
        let worst = |of: fn(&Outage) -> f64| struck().map(of).fold(0.0, f64::max);
        Outage {
            at_s: worst(|outage| outage.at_s),
            down_s: worst(|outage| outage.down_s),
            sockets: total(struck().map(|outage| outage.sockets)),
            back_s: struck()
                .map(|outage| outage.back_s)
                .try_fold(0.0, |latest, back| back.map(|back| f64::max(latest, back))),
        }
    };
    (0..most).map(nth).collect()
}

fn chunks(loads: &[&Load]) -> Chunks {
    let sum = |of: fn(&Chunks) -> u64| total(loads.iter().map(|load| of(&load.chunks)));
    Chunks {
        sent: sum(|chunks| chunks.sent),
        bytes: sum(|chunks| chunks.bytes),
        in_jobs: sum(|chunks| chunks.in_jobs),
        in_refused: sum(|chunks| chunks.in_refused),
        open: sum(|chunks| chunks.open),
        lost: sum(|chunks| chunks.lost),
    }
}

/// Each process has limits of its own: the shard with least to spare stands.
fn preflight(loads: &[&Load]) -> Preflight {
    let tightest = |needed: fn(&Preflight) -> u64, allowed: fn(&Preflight) -> u64| {
        let spare = |of: &&Preflight| i128::from(allowed(of)) - i128::from(needed(of));
        let found = loads.iter().map(|load| &load.preflight).min_by_key(spare);
        found.map_or((0, 0), |of| (needed(of), allowed(of)))
    };
    let (descriptors_needed, descriptors_allowed) =
        tightest(|p| p.descriptors_needed, |p| p.descriptors_allowed);
    let (ports_needed, ports_allowed) = tightest(|p| p.ports_needed, |p| p.ports_allowed);
    Preflight { descriptors_needed, descriptors_allowed, ports_needed, ports_allowed }
}
