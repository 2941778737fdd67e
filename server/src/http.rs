//! Routes.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Extension, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Json, Response};
use axum::{Router, routing::get};
use lingua_protocol::limits::FRAME_BYTES;
use tokio::sync::oneshot;

use crate::Shared;
use crate::accept::Place;
use crate::access::{self, Kind};
use crate::clock::unix_ms;
use crate::event::Event;
use crate::sockets;

/// Small, because there are thousands of sockets and frames are short.
const READ_BUFFER: usize = 4 << 10;

pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    let admin = Router::new()
        .route("/api/v1/stats", get(stats))
        .route_layer(from_fn_with_state(shared.clone(), for_the_operator));
    Router::new()
        .route("/health", get(|| async { "OK" }))
        .route("/ws/session", get(session))
        .route("/ws/node", get(node))
        .merge(admin)
        .with_state(shared)
}

/// Lets through whoever may see the operator's pages.
async fn for_the_operator(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    if shared.config.access.shows_admin(peer.ip()) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "this page is shown on the scheduler's own machine").into_response()
    }
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

/// Who asks for a socket.
type Asking = (State<Arc<Shared>>, Extension<Arc<Place>>, RawQuery, HeaderMap);

async fn session(asking: Asking, upgrade: WebSocketUpgrade) -> Response {
    admit(Kind::Session, asking, upgrade, sockets::serve_session)
}

async fn node(asking: Asking, upgrade: WebSocketUpgrade) -> Response {
    admit(Kind::Node, asking, upgrade, sockets::serve_node)
}

fn admit<F: Future<Output = ()> + Send + 'static>(
    kind: Kind,
    (State(shared), Extension(place), RawQuery(query), headers): Asking,
    upgrade: WebSocketUpgrade,
    serve: impl FnOnce(Arc<Shared>, WebSocket) -> F + Send + 'static,
) -> Response {
    let token = access::shown(&headers, query.as_deref());
    if !shared.config.access.admits(kind, token.as_deref(), unix_ms() as f64 / 1e3) {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        let message = format!("a {} socket needs a valid token\n", kind.name());
        return (StatusCode::UNAUTHORIZED, challenge, message).into_response();
    }
    bounded(upgrade).on_upgrade(async move |socket| {
        serve(shared, socket).await;
        drop(place);
    })
}

fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_message_size(FRAME_BYTES)
        .max_frame_size(FRAME_BYTES)
}
