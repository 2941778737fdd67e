//! Routes: the sockets, and what is read from the snapshot.
//!
//! No request but a socket's and the drain of a node reaches the hub: what is only asked is answered
//! from the last snapshot, and a wish about a duty goes to whoever keeps them.

pub(crate) mod api;
mod pages;
mod prometheus;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Extension, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Json, Response};
use axum::{Router, routing::get, routing::put};
use lingua_core::claim::DutyId;
use lingua_duties::Order;
use lingua_protocol::limits::FRAME_BYTES;
use serde_json::Value;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use crate::accept::Place;
use crate::access::{self, Kind};
use crate::clock::unix_ms;
use crate::event::Event;
use crate::instances::{self, Caller, Chore, Passphrase};
use crate::snapshot::Snapshot;
use crate::{Shared, sockets};

/// Small, because there are thousands of sockets and frames are short.
const READ_BUFFER: usize = 3 << 10;

/// Short frames that leave together wait for each other up to so many bytes.
const WRITE_BUFFER: usize = 4 << 10;

/// A snapshot that is late by so many intervals means that the scheduler does not answer.
const LATE_INTERVALS: u32 = 4;

pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    let views = Router::new()
        .route("/api/v1/stats", get(|state| read(state, api::stats)))
        .route("/api/v1/metrics", get(|state| read(state, api::metrics)))
        .route("/api/v1/cluster", get(cluster))
        .route("/api/v1/history", get(|state| read(state, api::history)))
        .route("/metrics", get(metrics))
        .route("/api/v1/nodes/{id}/drain", put(drain).delete(undrain))
        .route("/api/v1/duties/{name}", put(acquire).delete(release))
        .merge(pages::routes())
        .route_layer(from_fn_with_state(shared.clone(), for_the_operator));
    Router::new()
        .route("/health", get(|| async { "OK" }))
        .route("/ready", get(ready))
        .route("/ws/session", get(session))
        .route("/ws/node", get(node))
        .route("/ws/instance", get(instance))
        .merge(views)
        .fallback(|| async { (StatusCode::NOT_FOUND, "not found; try /dashboard\n") })
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
        (StatusCode::FORBIDDEN, "shown on the scheduler's own machine only\n").into_response()
    }
}

/// Whether new sessions and nodes should come here.
async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    let late = shared.config.limits.snapshot * LATE_INTERVALS;
    let age = unix_ms() - shared.snapshot.borrow().made_at_ms;
    let why_not = if shared.is_draining() {
        "draining\n"
    } else if shared.hub.is_closed() || age > late.as_millis() as i64 {
        "the scheduler does not answer\n"
    } else if !shared.is_present() {
        "the store does not answer\n"
    } else {
        return "OK".into_response();
    };
    (StatusCode::SERVICE_UNAVAILABLE, why_not).into_response()
}

async fn read(State(shared): State<Arc<Shared>>, view: fn(&Snapshot) -> Value) -> Response {
    let snapshot = shared.read_snapshot();
    ([(header::CACHE_CONTROL, "no-store")], Json(view(&snapshot))).into_response()
}

/// The page of all instances; its own where there is none.
async fn cluster(State(shared): State<Arc<Shared>>) -> Response {
    let page = shared.page.borrow().clone();
    let snapshot = shared.read_snapshot();
    let page = page.map_or_else(|| api::cluster(&snapshot), |page| (*page).clone());
    ([(header::CACHE_CONTROL, "no-store")], Json(page)).into_response()
}

async fn drain(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> StatusCode {
    set_drain(&shared, id, true).await
}

async fn undrain(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> StatusCode {
    set_drain(&shared, id, false).await
}

/// Whether a node gets new jobs: it finishes those that it has in either case.
async fn set_drain(shared: &Shared, id: String, draining: bool) -> StatusCode {
    let (reply, known) = oneshot::channel();
    let asked = shared.hub.send(Event::DrainNode(id.into(), draining, reply)).await;
    match (asked, known.await) {
        (Ok(()), Ok(true)) => StatusCode::NO_CONTENT,
        (Ok(()), Ok(false)) => StatusCode::NOT_FOUND,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}

async fn acquire(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    order(&shared, &name, Order::Acquire)
}

async fn release(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    order(&shared, &name, Order::Release)
}

/// Whether this instance does a duty: what became of the wish is written to the log.
fn order(shared: &Shared, name: &str, wish: fn(DutyId) -> Order) -> Response {
    let chore = match name.parse::<Chore>() {
        Ok(chore) => chore,
        Err(error) => return (StatusCode::NOT_FOUND, format!("{error}\n")).into_response(),
    };
    match shared.duties.try_send(wish(chore.0)) {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(TrySendError::Full(_)) => {
            (StatusCode::TOO_MANY_REQUESTS, "too many orders wait: try again\n").into_response()
        }
        Err(TrySendError::Closed(_)) => {
            let why = if shared.is_draining() {
                "this instance stops and has handed its duties over: ask another one\n"
            } else {
                "this instance shares no store: all duties are its own\n"
            };
            (StatusCode::CONFLICT, why).into_response()
        }
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let snapshot = shared.read_snapshot();
    let reads = shared.snapshot_reads.load(Ordering::Relaxed);
    let text = prometheus::text(&snapshot, unix_ms(), reads);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// Who asks for a socket.
type Asking = (State<Arc<Shared>>, Extension<Arc<Place>>, RawQuery, HeaderMap);

async fn session(asking: Asking, upgrade: WebSocketUpgrade) -> Response {
    admit(Kind::Session, asking, upgrade, sockets::serve_session)
}

async fn node(asking: Asking, upgrade: WebSocketUpgrade) -> Response {
    let serve = async move |shared: Arc<Shared>, socket| {
        // It ends with the socket, or with its threads.
        let _ = shared.nodes.clone().spawn(sockets::serve_node(shared, socket)).await;
    };
    admit(Kind::Node, asking, upgrade, serve)
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
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    if !shared.config.access.admits_page(kind, origin) {
        let message = "pages of other sites need a token: set one for this kind of socket\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    bounded(upgrade).on_upgrade(async move |socket| {
        serve(shared, socket).await;
        drop(place);
    })
}

/// Another instance that shares the store, and so knows what to show.
async fn instance(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let token = access::shown(&headers, None);
    let expected = shared.passphrase.as_ref().map(Passphrase::get);
    let known = token.zip(expected).is_some_and(|(token, secret)| secret.is_shown(&token));
    let Some(caller) = Caller::of(query.as_deref()).filter(|_| known) else {
        return (StatusCode::UNAUTHORIZED, "for instances that share the store\n").into_response();
    };
    let upgrade = upgrade.max_message_size(instances::FRAME_BYTES);
    upgrade.max_frame_size(instances::FRAME_BYTES).on_upgrade(async move |socket| {
        instances::receive(shared.hub.clone(), caller, socket).await;
    })
}

fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(FRAME_BYTES)
        .max_frame_size(FRAME_BYTES)
}
