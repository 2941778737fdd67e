//! The snapshot as JSON. Counts are since the start; times end in their unit.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lingua_protocol::ServiceType;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::hub::NodeSample;
use crate::snapshot::Snapshot;

/// Languages in `top_languages`.
const TOP_LANGUAGES: usize = 10;
/// Nodes that are listed one by one.
const NODES_MAX: usize = 1_000;
/// Models that are listed.
const MODELS_MAX: usize = 200;

/// How things are, in one page.
pub(super) fn stats(snapshot: &Snapshot) -> Value {
    let sample = &snapshot.sample;
    let languages = languages(snapshot);
    let usage = |language: &Language| language.spoken + language.heard;
    let mut top: Vec<_> = languages.iter().filter(|(_, language)| usage(language) > 0).collect();
    top.sort_by_key(|(_, language)| Reverse(usage(language)));
    top.truncate(TOP_LANGUAGES);
    let in_use: Map<_, _> = languages
        .iter()
        .filter(|(_, language)| usage(language) > 0)
        .map(|(tag, language)| ((*tag).to_owned(), usage(language).into()))
        .collect();
    json!({
        "made_at_ms": snapshot.made_at_ms,
        "instance": *snapshot.instance,
        "draining": snapshot.draining,
        "web_clients": {
            "active_users": sample.sessions,
            "top_languages": top.iter().map(|(tag, _)| tag).collect::<Vec<_>>(),
            "language_usage": in_use,
        },
        "nodes": nodes(snapshot),
        "capacity": capacity(&sample.nodes),
        "sockets": snapshot.sockets,
        "jobs": jobs(snapshot),
        "last_minute": snapshot.recent,
        "pools": snapshot.pools,
        "languages": languages.into_iter().map(|(tag, language)| json!({
            "language": tag,
            "sessions_speaking": language.spoken,
            "sessions_hearing": language.heard,
            "asr_nodes": language.asr_nodes,
            "tts_nodes": language.tts_nodes,
        })).collect::<Vec<_>>(),
        "models": models(&sample.nodes),
    })
}

fn nodes(snapshot: &Snapshot) -> Value {
    let nodes = &snapshot.sample.nodes;
    let by_type = |count: &dyn Fn(&NodeSample, usize) -> u64| -> Map<String, Value> {
        let types = ServiceType::ALL.iter().enumerate();
        types
            .map(|(at, kind)| {
                let all: u64 = nodes.iter().map(|node| count(node, at)).sum();
                (kind.as_str().to_owned(), all.into())
            })
            .collect()
    };
    let sum = |figure: fn(&NodeSample) -> u64| nodes.iter().map(figure).sum::<u64>();
    let runs = |node: &NodeSample, at: usize| u64::from(node.services.running[at] > 0);
    let of = |counts: [u16; ServiceType::ALL.len()]| counts.into_iter().map(u64::from).sum::<u64>();
    let mut states = BTreeMap::<_, u64>::new();
    for node in nodes {
        *states.entry(node.status.state.name()).or_default() += 1;
    }
    json!({
        "connected_nodes": nodes.len(),
        "states": states,
        "type_node_counts": by_type(&runs),
        "available_services": nodes.iter().map(|node| of(node.services.running)).sum::<u64>(),
        "total_services": nodes.iter().map(|node| of(node.services.installed)).sum::<u64>(),
        "type_in_use_counts": by_type(&|node, at| runs(node, at) * u64::from(node.status.running > 0)),
        "compute_power": {
            "cpu_cores": sum(|node| node.profile.cpu_cores.into()),
            "memory_gb": sum(|node| node.profile.memory_gb.into()),
            "gpus": sum(|node| node.profile.gpus.into()),
            "gpu_memory_gb": sum(|node| node.profile.gpu_memory_gb.into()),
        },
    })
}

fn capacity(nodes: &[NodeSample]) -> Value {
    json!({
        "slots": nodes.iter().map(|node| u64::from(node.status.max_jobs)).sum::<u64>(),
        "running": nodes.iter().map(|node| u64::from(node.status.running)).sum::<u64>(),
    })
}

/// Accounts that add up: offered = completed + refused + failed + timed_out + in_flight.
fn jobs(snapshot: &Snapshot) -> Value {
    let counts = &snapshot.sample.counts;
    json!({
        "offered": counts.offered,
        "dispatched": counts.dispatched,
        "completed": counts.completed.total(),
        "refused": counts.refused.total(),
        "failed": counts.failed.total(),
        "timed_out": counts.timed_out,
        "in_flight": snapshot.sample.in_flight,
        "waiting": snapshot.sample.waiting,
        "redispatched": snapshot.sample.counters.redispatched,
        "stale_results": counts.stale_results,
        "completed_by_outcome": counts.completed,
        "refused_by_cause": counts.refused,
        "failed_by_cause": counts.failed,
    })
}

#[derive(Default)]
struct Language {
    spoken: u32,
    heard: u32,
    asr_nodes: u32,
    tts_nodes: u32,
}

fn languages(snapshot: &Snapshot) -> BTreeMap<&str, Language> {
    let mut all = BTreeMap::<&str, Language>::new();
    for (pair, in_use) in &snapshot.sample.pairs {
        all.entry(pair.src.as_str()).or_default().spoken += in_use.sessions;
        all.entry(pair.tgt.as_str()).or_default().heard += in_use.sessions;
    }
    for node in &snapshot.sample.nodes {
        for lang in node.profile.languages.asr() {
            all.entry(lang.as_str()).or_default().asr_nodes += 1;
        }
        for lang in node.profile.languages.tts() {
            all.entry(lang.as_str()).or_default().tts_nodes += 1;
        }
    }
    all
}

#[derive(Serialize)]
struct ModelNodes<'a> {
    model_id: &'a str,
    version: &'a str,
    kind: &'a str,
    nodes: u32,
}

/// Models and how many nodes have each, the most common first.
fn models(nodes: &[NodeSample]) -> Vec<ModelNodes<'_>> {
    let mut counts = BTreeMap::new();
    for model in nodes.iter().flat_map(|node| &node.profile.models) {
        *counts.entry(model).or_insert(0) += 1;
    }
    let mut all: Vec<_> = counts
        .into_iter()
        .map(|(model, nodes)| ModelNodes {
            model_id: &model.id,
            version: &model.version,
            kind: &model.kind,
            nodes,
        })
        .collect();
    all.sort_by_key(|model| Reverse(model.nodes));
    all.truncate(MODELS_MAX);
    all
}

/// Counters by subject, under the names of the deployed scheduler where it has them.
pub(super) fn metrics(snapshot: &Snapshot) -> Value {
    let counts = &snapshot.sample.counts;
    let counters = &snapshot.sample.counters;
    json!({
        "stats": { "made_at_ms": snapshot.made_at_ms, "jobs": jobs(snapshot) },
        "service_catalog": nodes(snapshot)["type_node_counts"],
        "model_not_available": { "total": counters.model_losses },
        "dispatch_exclude": counts.refused,
        "web_task_segmentation": { "finalized": counts.finalized },
        "affinity": { "kept": counts.affinity_kept, "missed": counts.affinity_missed },
        "nodes": {
            "registered": counts.registered,
            "registrations_refused": counts.registrations_refused,
            "gone": counts.nodes_gone,
        },
        "observability": {
            "last_minute": snapshot.recent,
            "reservations": counts.reservations,
            "gate_refused": counters.gate_refused,
            "vanished_jobs": counters.vanished_jobs,
            "rejoined": counters.rejoined,
            "audio_bytes": counts.audio_bytes,
            "resident_bytes": snapshot.resident_bytes,
        },
    })
}

/// Instances and nodes. Without a shared store this process is the only instance.
pub(crate) fn cluster(snapshot: &Snapshot) -> Value {
    let sample = &snapshot.sample;
    let capacity = capacity(&sample.nodes);
    let totals = json!({
        "instances": 1,
        "nodes": sample.nodes.len(),
        "sessions": sample.sessions,
        "slots": capacity["slots"],
        "running": capacity["running"],
        "in_flight": sample.in_flight,
    });
    json!({
        "made_at_ms": snapshot.made_at_ms,
        "store": if sample.store.is_some() { "redis" } else { "embedded" },
        "instances": [{
            "identity": *snapshot.instance,
            "draining": snapshot.draining,
            "nodes": sample.nodes.len(),
            "sessions": sample.sessions,
            "sockets": snapshot.sockets,
            "in_flight": sample.in_flight,
            "resident_bytes": snapshot.resident_bytes,
        }],
        "totals": totals,
        "nodes": sample.nodes.iter().take(NODES_MAX).map(|n| node(snapshot, n)).collect::<Vec<_>>(),
        "nodes_left_out": sample.nodes.len().saturating_sub(NODES_MAX),
    })
}

fn node(snapshot: &Snapshot, node: &NodeSample) -> Value {
    let tags =
        |list: &[lingua_core::Lang]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let percent = |permille: Option<u16>| permille.map(|permille| f64::from(permille) / 10.0);
    let [cpu, gpu, memory] = node.usage;
    json!({
        "node_id": &*node.name,
        "instance": snapshot.instance.instance,
        "state": node.status.state.name(),
        "running": node.status.running,
        "max_jobs": node.status.max_jobs,
        "cpu_percent": percent(cpu),
        "gpu_percent": percent(gpu),
        "mem_percent": percent(memory),
        "cpu_cores": node.profile.cpu_cores,
        "memory_gb": node.profile.memory_gb,
        "gpus": node.profile.gpus,
        "asr_languages": tags(node.profile.languages.asr()),
        "tts_languages": tags(node.profile.languages.tts()),
        "connected_s": (snapshot.sample.at - node.since).0 / 1_000_000,
        "heard_s_ago": (snapshot.sample.at - node.heard).0 / 1_000_000,
    })
}

/// Points of the last quarter of an hour, the oldest first.
pub(super) fn history(snapshot: &Snapshot) -> Value {
    json!({ "made_at_ms": snapshot.made_at_ms, "points": snapshot.history })
}
