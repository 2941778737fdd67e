//! Routes.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use axum::{Router, routing::get};
use lingua_protocol::limits::FRAME_BYTES;
use tokio::sync::oneshot;

use crate::Shared;
use crate::event::Event;
use crate::sockets;

/// Small, because there are thousands of sockets and frames are short.
const READ_BUFFER: usize = 4 << 10;

/// Short frames that leave together wait for each other up to so many bytes.
const WRITE_BUFFER: usize = 4 << 10;

pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/health", get(|| async { "OK" }))
        .route("/api/v1/stats", get(stats))
        .route("/ws/session", get(session))
        .route("/ws/node", get(node))
        .with_state(shared)
}

async fn stats(State(shared): State<Arc<Shared>>) -> Response {
    let (reply, stats) = oneshot::channel();
    if shared.hub.send(Event::Stats(reply)).await.is_err() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    match stats.await {
        Ok(stats) => Json(stats).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
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
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(FRAME_BYTES)
        .max_frame_size(FRAME_BYTES)
}
