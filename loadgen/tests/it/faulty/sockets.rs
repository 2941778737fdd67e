//! The listener: WebSockets of nodes and sessions, and the state pages.

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// One socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SocketId(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Node,
    Session,
}

/// From a socket to the hub.
#[derive(Debug)]
pub(super) enum Event {
    Opened(SocketId, Kind, mpsc::Sender<Order>),
    Text(SocketId, String),
    Gone(SocketId),
    Page(String, oneshot::Sender<Option<String>>),
}

/// From the hub to a socket.
#[derive(Debug)]
pub(super) enum Order {
    Send(String),
    Close,
    Drop,
}

pub(super) async fn accept(listener: TcpListener, hub: mpsc::Sender<Event>) {
    let mut next = 0;
    while let Ok((stream, _)) = listener.accept().await {
        next += 1;
        tokio::spawn(serve(SocketId(next), stream, hub.clone()));
    }
}

async fn serve(socket: SocketId, mut stream: TcpStream, hub: mpsc::Sender<Event>) {
    let Some(path) = path_of(&stream).await else { return };
    let kind = match path.as_str() {
        "/ws/node" => Kind::Node,
        "/ws/session" => Kind::Session,
        _ => {
            let (reply, page) = oneshot::channel();
            let _ = hub.send(Event::Page(path, reply)).await;
            let (status, body) = match page.await.ok().flatten() {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", String::new()),
            };
            // What is not read would reset the connection before the answer is.
            let _ = stream.read(&mut [0; 4_096]).await;
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
            let _ = stream.write_all(head.as_bytes()).await;
            return;
        }
    };
    let _ = stream.set_nodelay(true);
    if let Ok(stream) = accept_async(stream).await {
        converse(socket, kind, stream, &hub).await;
        let _ = hub.send(Event::Gone(socket)).await;
    }
}

/// The path of the request that waits to be read.
async fn path_of(stream: &TcpStream) -> Option<String> {
    let mut head = [0; 512];
    let read = stream.peek(&mut head).await.ok()?;
    let line = std::str::from_utf8(&head[..read]).ok()?.lines().next()?;
    line.split(' ').nth(1).map(str::to_owned)
}

async fn converse(
    socket: SocketId,
    kind: Kind,
    mut stream: tokio_tungstenite::WebSocketStream<TcpStream>,
    hub: &mpsc::Sender<Event>,
) {
    let (outbox, mut orders) = mpsc::channel(4_096);
    let _ = hub.send(Event::Opened(socket, kind, outbox)).await;
    loop {
        tokio::select! {
            frame = stream.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    let _ = hub.send(Event::Text(socket, text.to_string())).await;
                }
                Some(Ok(Message::Close(_))) => {
                    // The answer to it is written by the library, when it is flushed.
                    let _ = stream.flush().await;
                    return;
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
            order = orders.recv() => match order {
                Some(Order::Send(text)) => {
                    if stream.send(Message::text(text)).await.is_err() {
                        return;
                    }
                }
                Some(Order::Close) => {
                    let _ = stream.close(None).await;
                    return;
                }
                Some(Order::Drop) | None => return,
            },
        }
    }
}
