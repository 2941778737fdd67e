//! What operators read: figures, metrics, readiness.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lingua_server::{Config, Limits};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::http::{get, json, stats_when};
use crate::peers::{Client, Node, serve_until, server_with};

/// A server whose snapshots are never old.
pub(crate) fn eager() -> Config {
    let limits = Limits { snapshot: Duration::from_millis(100), ..Limits::default() };
    Config { limits, ..Config::default() }
}

/// A served, a refused and an open job, and who takes part in them.
async fn some_work(url: &str) -> (Node, Vec<Client>) {
    let mut node = Node::register(url, "n1", "zh", "en", 1).await;
    let mut clients = Vec::new();
    for tgt in ["en", "en", "de"] {
        clients.push(Client::open(url, "zh", tgt).await);
    }
    clients[0].speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "done").await;
    clients[0].translation().await;
    node.answer(&job, "again").await;
    clients[2].speak(1, true).await;
    clients[2].error().await;
    clients[0].speak(1, true).await;
    node.job().await;
    clients[1].speak(1, true).await;
    clients[1].error().await;
    (node, clients)
}

fn worked(stats: &Value) -> bool {
    stats["jobs"]["offered"] == 4 && stats["jobs"]["stale_results"] == 1
}

#[tokio::test]
async fn the_accounts_add_up() {
    let url = server_with(eager()).await;
    let _peers = some_work(&url).await;
    let stats = stats_when(&url, worked).await;
    let jobs = &stats["jobs"];
    let of = |name: &str| jobs[name].as_u64().unwrap();
    assert_eq!(
        of("offered"),
        of("completed") + of("refused") + of("failed") + of("timed_out") + of("in_flight")
    );
    assert_eq!((of("completed"), of("refused"), of("in_flight")), (1, 2, 1));
    assert_eq!(of("dispatched"), 2);
    assert_eq!(jobs["refused_by_cause"]["no_fitting_node"], 1);
    assert_eq!(jobs["refused_by_cause"]["full"], 1);
    assert_eq!(stats["web_clients"]["active_users"], 3);
    assert_eq!(stats["web_clients"]["language_usage"], json!({ "de": 1, "en": 2, "zh": 3 }));
    assert_eq!(stats["web_clients"]["top_languages"], json!(["zh", "en", "de"]));
    assert_eq!(stats["nodes"]["connected_nodes"], 1);
    assert_eq!(stats["nodes"]["states"], json!({ "full": 1 }));
    assert_eq!(stats["nodes"]["compute_power"]["cpu_cores"], 4);
    assert_eq!(stats["nodes"]["type_node_counts"]["asr"], 1);
    assert_eq!(stats["nodes"]["type_in_use_counts"]["asr"], 1);
    assert_eq!(
        stats["models"],
        json!([{ "model_id": "nmt-zh-en", "version": "1.0", "kind": "nmt", "nodes": 1 }])
    );
    assert_eq!(
        stats["pools"],
        json!([
            { "pair": "zh:de", "nodes": 0, "slots": 0, "free": 0, "running": 0, "sessions": 1 },
            { "pair": "zh:en", "nodes": 1, "slots": 1, "free": 0, "running": 1, "sessions": 2 }
        ])
    );
    let recent = &stats["last_minute"];
    assert_eq!(recent["dispatch_ms"]["count"], 2);
    assert_eq!(recent["refused_ratio"], 0.5);

    let cluster = json(&url, "/api/v1/cluster").await;
    assert_eq!(cluster["totals"]["sessions"], 3);
    assert_eq!(cluster["instances"].as_array().unwrap().len(), 1);
    let node = &cluster["nodes"][0];
    assert_eq!((&node["node_id"], &node["state"]), (&json!("n1"), &json!("full")));
    assert_eq!((&node["running"], &node["max_jobs"]), (&json!(1), &json!(1)));
    let history = json(&url, "/api/v1/history").await;
    assert_eq!(history["points"].as_array().unwrap().last().unwrap()["sessions"], 3);
    let metrics = json(&url, "/api/v1/metrics").await;
    assert_eq!(metrics["web_task_segmentation"]["finalized"]["is_final"], 4);
}

/// Samples by name and labels, after a check that the text is what Prometheus reads.
pub(crate) fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut kinds = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(help.ends_with('.') && helped.insert(name), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(helped.contains(name) && kinds.insert(name, kind).is_none(), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap();
            let known = ["", "_bucket", "_sum", "_count"]
                .into_iter()
                .find_map(|end| Some((end, *kinds.get(family.strip_suffix(end)?)?)));
            match known.unwrap_or_else(|| panic!("no TYPE: {line}")) {
                ("", "counter") => assert!(family.ends_with("_total"), "{line}"),
                ("", "gauge") => assert!(!family.ends_with("_total"), "{line}"),
                ("_bucket" | "_sum" | "_count", "histogram") => {}
                other => panic!("{other:?}: {line}"),
            }
            assert!(family.starts_with("scheduler_"), "{line}");
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line}");
        }
    }
    samples
}

#[tokio::test]
async fn metrics_say_what_the_figures_say() {
    let url = server_with(eager()).await;
    let _peers = some_work(&url).await;
    let stats = stats_when(&url, worked).await;
    let answer = get(&url, "/metrics").await;
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    let samples = samples(&answer.body);
    let of = |name: &str| samples[&format!("scheduler_{name}")];
    assert_eq!(of("jobs_offered_total"), stats["jobs"]["offered"].as_f64().unwrap());
    assert_eq!(of("jobs_refused_total{cause=\"full\"}"), 1.0);
    assert_eq!(of("jobs_refused_total{cause=\"draining\"}"), 0.0, "a cause that never came");
    assert_eq!(of("jobs_completed_total{outcome=\"answered\"}"), 1.0);
    assert_eq!(of("nodes{state=\"full\"}"), 1.0);
    assert_eq!(of("pool_sessions{pair=\"zh:en\"}"), 2.0);
    assert_eq!(of("dispatch_latency_seconds_count"), 2.0);
    assert_eq!(of("dispatch_latency_seconds_bucket{le=\"+Inf\"}"), 2.0);
    assert_eq!(of("response_latency_seconds_count"), 1.0);
    assert!(of("resident_memory_bytes") > 1e6);
}

#[tokio::test]
async fn a_draining_server_is_alive_and_not_ready() {
    let (order, ordered) = oneshot::channel::<()>();
    let url = serve_until(eager(), async move { drop(ordered.await) }).await;
    // An open job keeps the drain from ending.
    let _peers = some_work(&url).await;
    assert_eq!(get(&url, "/ready").await.status, 200);
    order.send(()).unwrap();
    let mut last = 0;
    for _ in 0..200 {
        last = get(&url, "/ready").await.status;
        if last == 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(last, 503);
    assert_eq!(get(&url, "/health").await.body, "OK");
    assert!(stats_when(&url, |stats| stats["draining"] == true).await["draining"] == true);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let url = server_with(eager()).await;
    for path in ["/nowhere", "/api/v1/nothing", "/pages/../Cargo.toml"] {
        assert_eq!(get(&url, path).await.status, 404, "{path}");
    }
}
