//! The figures of all instances: each writes its own, one puts them together as its duty, and all
//! read what it wrote.

use std::sync::Arc;
use std::time::Duration;

use lingua_core::InstanceId;
use lingua_store::{Store, StoreError};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::http::api;
use crate::snapshot::Snapshot;

/// Nodes that one page lists.
const NODES_MAX: usize = 1_000;

/// Writes and reads until it is aborted.
pub(super) async fn keep(
    store: Store,
    id: InstanceId,
    every: Duration,
    own: watch::Receiver<Arc<Snapshot>>,
    all: watch::Sender<Option<Arc<Value>>>,
) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let figures = api::cluster(&own.borrow()).to_string();
        // What cannot be read is not shown: then each instance shows its own.
        let page = turn(&store, id, &figures).await.ok().flatten();
        all.send_replace(page.map(Arc::new));
    }
}

async fn turn(store: &Store, id: InstanceId, figures: &str) -> Result<Option<Value>, StoreError> {
    store.put_figures(id, figures).await?;
    Ok(store.page().await?.and_then(|page| serde_json::from_str(&page).ok()))
}

/// Puts the figures of all together.
pub(super) async fn gather(store: &Store) -> Result<(), StoreError> {
    let all = store.all_figures().await?;
    let all = all.iter().filter_map(|(_, figures)| serde_json::from_str(figures).ok());
    store.put_page(&together(all).to_string()).await
}

/// One page of the pages of all instances.
fn together(all: impl Iterator<Item = Value>) -> Value {
    let mut made_at_ms = 0;
    let (mut instances, mut nodes) = (Vec::new(), Vec::new());
    let (mut totals, mut left_out) = (Map::<String, Value>::new(), 0);
    for page in all {
        made_at_ms = made_at_ms.max(page["made_at_ms"].as_i64().unwrap_or(0));
        left_out += page["nodes_left_out"].as_u64().unwrap_or(0);
        let list = |name: &str| page[name].as_array().cloned().unwrap_or_default();
        instances.extend(list("instances"));
        nodes.extend(list("nodes"));
        for (name, value) in page["totals"].as_object().into_iter().flatten() {
            let sum = totals.get(name).and_then(Value::as_u64).unwrap_or(0);
            totals.insert(name.clone(), (sum + value.as_u64().unwrap_or(0)).into());
        }
    }
    left_out += nodes.len().saturating_sub(NODES_MAX) as u64;
    nodes.truncate(NODES_MAX);
    json!({
        "made_at_ms": made_at_ms,
        "store": "redis",
        "instances": instances,
        "totals": totals,
        "nodes": nodes,
        "nodes_left_out": left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_put_together() {
        let page = |made_at_ms: i64, nodes: usize| {
            json!({
                "made_at_ms": made_at_ms,
                "instances": [{ "identity": made_at_ms }],
                "totals": { "instances": 1, "nodes": nodes },
                "nodes": vec![json!({}); nodes],
                "nodes_left_out": 2,
            })
        };
        let all = together([page(5, 700), page(3, 600), Value::Null].into_iter());
        assert_eq!(all["made_at_ms"], 5);
        assert_eq!(all["totals"], json!({ "instances": 2, "nodes": 1_300 }));
        assert_eq!(all["instances"].as_array().unwrap().len(), 2);
        assert_eq!(all["nodes"].as_array().unwrap().len(), NODES_MAX);
        assert_eq!(all["nodes_left_out"], 304);
    }
}
