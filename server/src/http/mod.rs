//! Routes: the sockets, and what is read from the snapshot.
//!
//! No request but a socket's reaches the hub: whatever is asked is answered from the last snapshot.

mod api;
mod prometheus;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::{Router, routing::get};
use lingua_protocol::limits::FRAME_BYTES;
use serde_json::Value;

use crate::clock::unix_ms;
use crate::snapshot::Snapshot;
use crate::{Shared, sockets};

/// Small, because there are thousands of sockets and frames are short.
const READ_BUFFER: usize = 4 << 10;

/// A snapshot that is late by so many intervals means that the scheduler does not answer.
const LATE_INTERVALS: u32 = 4;

pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    let views = Router::new()
        .route("/api/v1/stats", get(|state| read(state, api::stats)))
        .route("/api/v1/metrics", get(|state| read(state, api::metrics)))
        .route("/api/v1/cluster", get(|state| read(state, api::cluster)))
        .route("/api/v1/history", get(|state| read(state, api::history)))
        .route("/metrics", get(metrics));
    Router::new()
        .route("/health", get(|| async { "OK" }))
        .route("/ready", get(ready))
        .route("/ws/session", get(session))
        .route("/ws/node", get(node))
        .merge(views)
        .fallback(|| async { (StatusCode::NOT_FOUND, "not found\n") })
        .with_state(shared)
}

/// Whether new sessions and nodes should come here.
async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    let late = shared.config.limits.snapshot * LATE_INTERVALS;
    let age = unix_ms() - shared.snapshot.borrow().made_at_ms;
    let why_not = if shared.is_draining() {
        "draining\n"
    } else if shared.hub.is_closed() || age > late.as_millis() as i64 {
        "the scheduler does not answer\n"
    } else {
        return "OK".into_response();
    };
    (StatusCode::SERVICE_UNAVAILABLE, why_not).into_response()
}

async fn read(State(shared): State<Arc<Shared>>, view: fn(&Snapshot) -> Value) -> Response {
    let snapshot = shared.read_snapshot();
    ([(header::CACHE_CONTROL, "no-store")], Json(view(&snapshot))).into_response()
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let snapshot = shared.read_snapshot();
    let reads = shared.snapshot_reads.load(Ordering::Relaxed);
    let text = prometheus::text(&snapshot, unix_ms(), reads);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn session(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    bounded(upgrade).on_upgrade(|socket| sockets::serve_session(shared, socket))
}

async fn node(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    bounded(upgrade).on_upgrade(|socket| sockets::serve_node(shared, socket))
}

fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_message_size(FRAME_BYTES)
        .max_frame_size(FRAME_BYTES)
}
