//! The bare relay: frames between sockets, and nothing known of what is in them.
//!
//! It does per job what the scheduler does to sockets: so many chunks in from a client, their audio
//! in one frame out to a node, one frame back, four frames out to the client.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::frames::{self, Row};

/// As many as the server has room for.
const OUTBOX: usize = 256;

/// The server's own setting.
const READ_BUFFER: usize = 3 << 10;

struct Relay {
    row: Row,
    turn: AtomicUsize,
    nodes: RwLock<Vec<Sender<Message>>>,
    sessions: RwLock<Vec<Sender<Message>>>,
}

/// Relays until the listener fails.
pub(crate) async fn serve(row: Row, listener: TcpListener) -> io::Result<()> {
    let relay = Relay {
        row,
        turn: AtomicUsize::new(0),
        nodes: RwLock::default(),
        sessions: RwLock::default(),
    };
    let routes = Router::new()
        .route("/ws/session", get(session))
        .route("/ws/node", get(node))
        .with_state(Arc::new(relay));
    let listener = listener.tap_io(|stream| {
        // Where it cannot be set, frames only come later.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, routes).await
}

async fn session(State(relay): State<Arc<Relay>>, upgrade: WebSocketUpgrade) -> Response {
    small(upgrade).on_upgrade(async |socket| {
        relay_session(relay, socket).await;
    })
}

async fn node(State(relay): State<Arc<Relay>>, upgrade: WebSocketUpgrade) -> Response {
    small(upgrade).on_upgrade(async |socket| {
        relay_node(relay, socket).await;
    })
}

fn small(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.read_buffer_size(READ_BUFFER).write_buffer_size(0)
}

/// Ends when the peer is gone.
async fn relay_session(relay: Arc<Relay>, mut socket: WebSocket) -> Option<()> {
    let (number, mut inbox) = enter(&relay.sessions);
    text(&mut socket).await?;
    socket.send(frames::ack(number).into()).await.ok()?;
    let mut audio = String::new();
    let (mut chunks, mut index) = (0, 0);
    loop {
        tokio::select! {
            frame = text(&mut socket) => {
                audio.push_str(frames::audio_of(frame?.as_str())?);
                chunks += 1;
                if chunks == relay.row.chunks() {
                    let node = relay.next_node()?;
                    let job = frames::job(number, index, &audio);
                    node.send(job.into()).await.ok()?;
                    socket.send(frames::DISPATCHED.into()).await.ok()?;
                    audio.clear();
                    (chunks, index) = (0, index + 1);
                }
            }
            message = inbox.recv() => socket.send(message?).await.ok()?,
        }
    }
}

/// Ends when the peer is gone.
async fn relay_node(relay: Arc<Relay>, mut socket: WebSocket) -> Option<()> {
    text(&mut socket).await?;
    let (_, mut inbox) = enter(&relay.nodes);
    socket.send("{}".into()).await.ok()?;
    loop {
        tokio::select! {
            frame = text(&mut socket) => {
                if let Some(session) = frames::session_of_result(frame?.as_str()) {
                    let session = relay.session(session)?;
                    for frame in frames::ANSWER {
                        session.send(frame.into()).await.ok()?;
                    }
                }
            }
            message = inbox.recv() => socket.send(message?).await.ok()?,
        }
    }
}

/// A peer's number, and where its messages come out.
fn enter(peers: &RwLock<Vec<Sender<Message>>>) -> (u32, Receiver<Message>) {
    let (sender, inbox) = mpsc::channel(OUTBOX);
    let mut peers = peers.write().unwrap_or_else(PoisonError::into_inner);
    peers.push(sender);
    (peers.len() as u32 - 1, inbox)
}

impl Relay {
    fn next_node(&self) -> Option<Sender<Message>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let nodes = self.nodes.read().unwrap_or_else(PoisonError::into_inner);
        nodes.get(turn.checked_rem(nodes.len())?).cloned()
    }

    fn session(&self, number: u32) -> Option<Sender<Message>> {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(number as usize).cloned()
    }
}

/// The next text; absent when the peer is gone.
async fn text(socket: &mut WebSocket) -> Option<axum::extract::ws::Utf8Bytes> {
    loop {
        match socket.recv().await?.ok()? {
            Message::Text(text) => return Some(text),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}
