//! One task per socket: it reads, parses, writes, and notices when the peer is gone.

mod jobs;
mod node;
mod rooms;
mod session;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use lingua_protocol::CloseCode;
use tokio::sync::Notify;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval_at, sleep, timeout};

use crate::Shared;
use crate::event::{Event, Outbox, Outgoing, SocketId};
use node::NodePeer;
use session::SessionPeer;

/// The peer at the other end of a socket.
trait Peer: Send {
    /// Takes one text frame; events for the hub go into `events`.
    ///
    /// # Errors
    /// The answer to a frame that is no message, or is not allowed.
    fn take(&mut self, frame: &str, events: &mut Vec<Event>) -> Result<(), Utf8Bytes>;

    /// The socket is gone.
    fn leave(&mut self, events: &mut Vec<Event>);

    /// A message as it goes out.
    fn encode(&mut self, message: Outgoing) -> Message;

    /// Messages of this task's own making.
    fn replies(&mut self) -> &mut Vec<Utf8Bytes>;
}

pub(crate) async fn serve_session(shared: Arc<Shared>, socket: WebSocket) {
    serve(shared, socket, |shared, _, outbox| SessionPeer::new(shared, outbox)).await;
}

pub(crate) async fn serve_node(shared: Arc<Shared>, socket: WebSocket) {
    serve(shared, socket, NodePeer::new).await;
}

async fn serve<P: Peer>(
    shared: Arc<Shared>,
    mut socket: WebSocket,
    peer: impl FnOnce(Arc<Shared>, SocketId, Outbox) -> P,
) {
    let limits = shared.config.limits;
    if shared.sockets.fetch_add(1, Ordering::Relaxed) >= limits.sockets {
        shared.sockets.fetch_sub(1, Ordering::Relaxed);
        close(&mut socket, CloseCode::TryAgainLater, &shared).await;
        return;
    }
    let id = SocketId(shared.next_socket.fetch_add(1, Ordering::Relaxed));
    let (outbox, inbox, overflow) = Outbox::new(limits.outbox);
    let mut peer = peer(shared.clone(), id, outbox);
    let mut events = Vec::new();
    let code = converse(&shared, &mut socket, &mut peer, inbox, &overflow, &mut events).await;
    events.clear();
    peer.leave(&mut events);
    for event in events {
        // Without a hub there is nobody to tell.
        let _ = shared.hub.send(event).await;
    }
    if let Some(code) = code {
        close(&mut socket, code, &shared).await;
    }
    shared.sockets.fetch_sub(1, Ordering::Relaxed);
}

/// Talks until one side ends it; the code to close with, where it is this side.
async fn converse<P: Peer>(
    shared: &Shared,
    socket: &mut WebSocket,
    peer: &mut P,
    mut inbox: mpsc::Receiver<Outgoing>,
    overflow: &Notify,
    events: &mut Vec<Event>,
) -> Option<CloseCode> {
    let limits = shared.config.limits;
    let mut pings = interval_at(Instant::now() + limits.ping, limits.ping);
    let (mut silent, mut bad) = (0, 0);
    let mut greeted = false;
    let first = sleep(limits.first_message);
    tokio::pin!(first);
    loop {
        tokio::select! {
            frame = socket.recv() => {
                silent = 0;
                match frame {
                    None | Some(Err(_) | Ok(Message::Close(_))) => return None,
                    Some(Ok(Message::Text(frame))) => match peer.take(&frame, events) {
                        Ok(()) => {
                            bad = 0;
                            greeted = true;
                        }
                        Err(answer) => {
                            bad += 1;
                            peer.replies().push(answer);
                        }
                    },
                    // Binary frames are read and dropped, as the deployed scheduler does.
                    Some(Ok(_)) => {}
                }
                for event in events.drain(..) {
                    if shared.hub.send(event).await.is_err() {
                        return Some(CloseCode::GoingAway);
                    }
                }
                for reply in std::mem::take(peer.replies()) {
                    write(socket, Message::Text(reply), shared).await?;
                }
                if bad >= limits.bad_frames {
                    return Some(CloseCode::InvalidMessages);
                }
            }
            message = inbox.recv() => match message {
                None => return Some(CloseCode::GoingAway),
                Some(Outgoing::Close(code)) => return Some(code),
                Some(message) => {
                    let message = peer.encode(message);
                    write(socket, message, shared).await?;
                }
            },
            () = &mut first, if !greeted => return Some(CloseCode::HandshakeTimeout),
            () = overflow.notified() => return Some(CloseCode::SlowReader),
            _ = pings.tick() => {
                if silent >= 2 {
                    return Some(CloseCode::Idle);
                }
                silent += 1;
                write(socket, Message::Ping(bytes::Bytes::new()), shared).await?;
            }
        }
    }
}

/// Absent when the peer is gone or does not read.
async fn write(socket: &mut WebSocket, message: Message, shared: &Shared) -> Option<()> {
    timeout(shared.config.limits.write, socket.send(message)).await.ok()?.ok()
}

async fn close(socket: &mut WebSocket, code: CloseCode, shared: &Shared) {
    let reason = format!("{code:?}");
    let frame = CloseFrame { code: code.code(), reason: reason.into() };
    // A peer that does not take its goodbye is gone all the same.
    let _ = write(socket, Message::Close(Some(frame)), shared).await;
}
