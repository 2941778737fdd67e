//! One WebSocket of a fake peer: small buffers, a chosen source address, text frames.

use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use futures_util::{SinkExt, StreamExt};
use lingua_protocol::limits;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// Bytes a socket reads at once. Thousands of sockets wait at any time, and the library's
/// default of 128 KiB each would cost more than everything else together.
const READ_BUFFER: usize = 4 * 1024;
/// Bytes that may wait to be written before a send fails: one large frame and a bit.
const WRITE_LIMIT: usize = limits::FRAME_BYTES + 64 * 1024;

/// Longest time that a close frame may take.
const GOODBYE: std::time::Duration = std::time::Duration::from_secs(2);

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The operating system refused: no listener, no port, no descriptor.
    #[error("cannot connect to {target}: {source}; see that a scheduler listens there")]
    Tcp {
        /// Where to.
        target: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The listener did not answer like a WebSocket server.
    #[error("no WebSocket at {url}: {source}")]
    Handshake {
        /// Where to.
        url: String,
        /// What came instead; boxed, since it carries a whole response.
        source: Box<tungstenite::Error>,
    },
}

/// An open WebSocket of a fake node or session.
#[derive(Debug)]
pub struct Socket {
    stream: WebSocketStream<TcpStream>,
}

impl Socket {
    /// Opens `url` (a `ws://` address whose host was resolved to `target`), from `source` if given.
    ///
    /// # Errors
    /// When the connection or the handshake fails.
    pub async fn connect(
        url: &str,
        target: SocketAddr,
        source: Option<IpAddr>,
    ) -> Result<Self, ConnectError> {
        let tcp = |source| ConnectError::Tcp { target, source };
        let socket = match target {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }
        .map_err(tcp)?;
        if let Some(address) = source {
            socket.bind(SocketAddr::new(address, 0)).map_err(tcp)?;
        }
        let stream = socket.connect(target).await.map_err(tcp)?;
        // Frames are timed: none may wait for the next one to share a packet.
        stream.set_nodelay(true).map_err(tcp)?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_write_buffer_size(WRITE_LIMIT)
            .max_message_size(Some(limits::FRAME_BYTES))
            .max_frame_size(Some(limits::FRAME_BYTES));
        match client_async_with_config(url, stream, Some(config)).await {
            Ok((stream, _response)) => Ok(Self { stream }),
            Err(source) => {
                Err(ConnectError::Handshake { url: url.to_owned(), source: Box::new(source) })
            }
        }
    }

    /// Sends one text frame and flushes it.
    ///
    /// # Errors
    /// When the socket is closed or its peer does not read.
    pub async fn send(&mut self, text: String) -> Result<(), tungstenite::Error> {
        self.send_frame(Message::text(text)).await
    }

    /// Sends one frame of any kind and flushes it.
    ///
    /// # Errors
    /// When the socket is closed or its peer does not read.
    pub async fn send_frame(&mut self, frame: Message) -> Result<(), tungstenite::Error> {
        self.stream.send(frame).await
    }

    /// The next frame; `None` once the socket is closed.
    pub async fn next(&mut self) -> Option<Result<Message, tungstenite::Error>> {
        self.stream.next().await
    }

    /// The next frame, for who waits at several sockets.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Message, tungstenite::Error>>> {
        self.stream.poll_next_unpin(context)
    }

    /// Says goodbye; a peer that does not answer is left all the same.
    pub async fn close(&mut self) {
        let _ = tokio::time::timeout(GOODBYE, self.stream.close(None)).await;
    }
}
