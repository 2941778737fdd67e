//! A node's heartbeats: they say how many jobs it has, so they watch what it hears and says.

use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::unix_ms;
use crate::probe::node::NodeLangs;

/// What a node's socket sends by itself.
#[derive(Debug)]
pub(super) struct Heartbeat {
    node: String,
    every: Duration,
    langs: NodeLangs,
    running: u32,
    registered: bool,
}

impl Heartbeat {
    pub(super) fn new(node: &str, every: Duration, langs: &NodeLangs) -> Self {
        let (node, langs) = (node.to_owned(), langs.clone());
        Self { node, every, langs, running: 0, registered: false }
    }

    pub(super) fn every(&self) -> Duration {
        self.every
    }

    pub(super) fn heard(&mut self, message: &Value) {
        match message["type"].as_str() {
            Some("node_register_ack") => self.registered = true,
            Some("job_assign") => self.running += 1,
            _ => {}
        }
    }

    pub(super) fn said(&mut self, message: &Value) {
        // A result that is forged or repeated ends nothing, so it may not count below zero.
        if message["type"] == "job_result" {
            self.running = self.running.saturating_sub(1);
        }
    }

    /// The next one; none before the node is registered.
    pub(super) fn frame(&self) -> Option<Value> {
        self.registered.then(|| frame(&self.node, &self.langs, self.running))
    }
}

/// A heartbeat as a node program sends it.
pub(super) fn frame(node: &str, langs: &NodeLangs, running: u32) -> Value {
    json!({
        "type": "node_heartbeat", "node_id": node, "timestamp": unix_ms(),
        "resource_usage": {"cpu_percent": 5.0, "gpu_percent": 5.0, "mem_percent": 10.0,
            "running_jobs": running},
        "installed_services": [], "capability_by_type": [],
        "language_capabilities": langs.capabilities(),
    })
}
