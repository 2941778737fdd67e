//! One task per socket: it reads, parses, writes, and notices when the peer is gone.

mod closing;
mod jobs;
mod node;
mod rooms;
mod roster;
mod session;

use std::convert::Infallible;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use futures_util::SinkExt;
use lingua_protocol::CloseCode;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::Shared;
use crate::event::{Event, Outbox, Outgoing, SocketId};
use closing::{Ended, goodbye};
use node::NodePeer;
use session::SessionPeer;

pub(crate) use jobs::assign;
pub(crate) use roster::Roster;

/// Messages that go out in one write.
const BATCH: usize = 32;

/// Frames read in a row before all other sockets have their turn. Whoever sends without pause, where
/// the processors are full, would else be heard for thousands of frames while answers wait.
const TURN: u32 = 8;

/// The peer at the other end of a socket.
trait Peer: Send {
    /// Where its events go.
    fn hub(shared: &Shared) -> &mpsc::Sender<Event>;

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
    let (outbox, inbox, overflow) = Outbox::new(shared.config.limits.outbox);
    let id = match shared.sockets.enter(&outbox) {
        Ok(id) => id,
        Err(code) => {
            goodbye(&mut socket, Ended::ByUs(code)).await;
            return;
        }
    };
    let mut peer = peer(shared.clone(), id, outbox);
    let mut events = Vec::new();
    let talk = converse(&shared, &mut socket, &mut peer, inbox, &overflow, &mut events);
    let Err(ended) = talk.await;
    events.clear();
    peer.leave(&mut events);
    for event in events {
        // Without a hub there is nobody to tell.
        let _ = P::hub(&shared).send(event).await;
    }
    goodbye(&mut socket, ended).await;
    shared.sockets.leave(id);
}

/// Talks until one side ends it.
async fn converse<P: Peer>(
    shared: &Shared,
    socket: &mut WebSocket,
    peer: &mut P,
    mut inbox: mpsc::Receiver<Outgoing>,
    overflow: &AtomicBool,
    events: &mut Vec<Event>,
) -> Result<Infallible, Ended> {
    let limits = shared.config.limits;
    let begun = Instant::now();
    let (mut bad, mut silent, mut greeted, mut read) = (0, 0, false, 0);
    let mut next_ping = begun + limits.ping;
    let look = sleep_until(next_ping.min(begun + limits.first_message));
    tokio::pin!(look);
    loop {
        tokio::select! {
            frame = socket.recv() => {
                silent = 0;
                match frame {
                    None | Some(Ok(Message::Close(_))) => return Err(Ended::ByPeer),
                    Some(Err(error)) => return Err(Ended::by(error)),
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
                    if P::hub(shared).send(event).await.is_err() {
                        return Err(Ended::ByUs(CloseCode::GoingAway));
                    }
                }
                if !peer.replies().is_empty() {
                    for reply in std::mem::take(peer.replies()) {
                        feed(socket, Message::Text(reply), shared).await?;
                    }
                    flush(socket, shared).await?;
                }
                if bad >= limits.bad_frames {
                    return Err(Ended::ByUs(CloseCode::InvalidMessages));
                }
                read += 1;
                if read == TURN {
                    read = 0;
                    tokio::task::yield_now().await;
                }
            }
            first = inbox.recv() => {
                if overflow.load(Ordering::Relaxed) {
                    return Err(Ended::ByUs(CloseCode::SlowReader));
                }
                let Some(first) = first else {
                    return Err(Ended::ByUs(CloseCode::GoingAway));
                };
                let waiting = iter::from_fn(|| inbox.try_recv().ok());
                for message in iter::once(first).chain(waiting).take(BATCH) {
                    if let Outgoing::Close(code) = message {
                        return Err(Ended::ByUs(code));
                    }
                    feed(socket, peer.encode(message), shared).await?;
                }
                flush(socket, shared).await?;
            }
            () = &mut look => {
                let now = Instant::now();
                if !greeted && now >= begun + limits.first_message {
                    return Err(Ended::ByUs(CloseCode::HandshakeTimeout));
                }
                if now >= next_ping {
                    if silent >= 2 {
                        return Err(Ended::ByUs(CloseCode::Idle));
                    }
                    silent += 1;
                    next_ping = now + limits.ping;
                    write(socket, Message::Ping(bytes::Bytes::new()), shared).await?;
                }
                let first = (!greeted).then_some(begun + limits.first_message);
                look.as_mut().reset(first.map_or(next_ping, |first| first.min(next_ping)));
            }
        }
    }
}

/// Writes a frame that may wait for [`flush`].
async fn feed(socket: &mut WebSocket, message: Message, shared: &Shared) -> Result<(), Ended> {
    in_time(shared, socket.feed(message)).await
}

async fn flush(socket: &mut WebSocket, shared: &Shared) -> Result<(), Ended> {
    in_time(shared, socket.flush()).await
}

async fn write(socket: &mut WebSocket, message: Message, shared: &Shared) -> Result<(), Ended> {
    in_time(shared, socket.send(message)).await
}

/// One write; a peer that does not read is closed.
async fn in_time<E>(
    shared: &Shared,
    write: impl Future<Output = Result<(), E>>,
) -> Result<(), Ended> {
    match timeout(shared.config.limits.write, write).await {
        Ok(written) => written.map_err(|_| Ended::ByPeer),
        Err(_) => Err(Ended::ByUs(CloseCode::SlowReader)),
    }
}
