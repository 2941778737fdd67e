//! Alert rules, the board and the reference name metrics that there are.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::figures::{eager, samples};
use crate::http::{get, stats_when};
use crate::peers::{Client, Node, server_with};

fn doc(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Every metric that a text names, with its labels and those of the sum around it left alone.
fn named(text: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = text.match_indices("scheduler_").filter(|&(at, _)| !text[..at].ends_with(is_name));
    starts
        .map(|(at, _)| {
            let rest = &text[at..];
            &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())]
        })
        .filter(|name| *name != "scheduler_")
        .collect()
}

/// Names of all series, and of all families without the prefix.
async fn metrics() -> (BTreeSet<String>, BTreeSet<String>) {
    let url = server_with(eager()).await;
    let _node = Node::register(&url, "n1", "zh", "en", 1).await;
    let _client = Client::open(&url, "zh", "en").await;
    // Pools have series once there is one.
    stats_when(&url, |stats| stats["pools"] != Value::Array(Vec::new())).await;
    let page = get(&url, "/metrics").await.body;
    let series = samples(&page).into_keys();
    let series = series.map(|name| name.split('{').next().unwrap().to_owned()).collect();
    let families = page.lines().filter_map(|line| line.strip_prefix("# TYPE scheduler_"));
    (series, families.map(|line| line.split(' ').next().unwrap().to_owned()).collect())
}

#[tokio::test]
async fn documents_name_metrics_that_exist() {
    let (series, families) = metrics().await;
    for file in ["alerts.yml", "grafana.json"] {
        let text = doc(file);
        let names = named(&text);
        assert!(names.len() > 10, "{file} names {names:?}");
        let unknown: Vec<_> = names.iter().filter(|name| !series.contains(**name)).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
    let reference = doc("serve.md");
    for family in families {
        let told = [format!("`{family}`"), format!("`{family}{{")];
        assert!(told.iter().any(|name| reference.contains(name)), "serve.md lacks {family}");
    }
}

#[test]
fn every_alert_says_what_to_do() {
    let text = doc("alerts.yml");
    let alerts: Vec<_> = text.split("      - alert: ").skip(1).collect();
    assert!(alerts.len() >= 10);
    for alert in alerts {
        for key in ["expr: ", "severity: ", "summary: ", "runbook: >-\n"] {
            assert!(alert.contains(key), "{key} is missing: {alert}");
        }
    }
}

#[test]
fn the_board_can_be_imported() {
    let board: Value = serde_json::from_str(&doc("grafana.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    // It finds its data source by a variable, so that it belongs to no one Grafana.
    assert!(board["id"].is_null());
    assert_eq!(board["templating"]["list"][0]["type"], "datasource");
    let mut taken = BTreeSet::new();
    for panel in panels {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        assert!(!panel["targets"].as_array().unwrap().is_empty());
        let of = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        for x in of("x")..of("x") + of("w") {
            for y in of("y")..of("y") + of("h") {
                assert!(x < 24 && taken.insert((x, y)), "{} overlaps", panel["title"]);
            }
        }
    }
}
