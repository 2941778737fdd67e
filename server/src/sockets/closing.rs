//! The end of a socket: said to the peer, and heard from it.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use lingua_protocol::CloseCode;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Error;

/// Longest time that a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The peer said goodbye, or is gone.
    ByPeer,
    /// This side ends it.
    ByUs(CloseCode),
    /// The peer sent what cannot be read, and nothing after it can be.
    Unreadable(CloseCode),
}

impl Ended {
    /// What a frame that could not be read means.
    pub(super) fn by(error: axum::Error) -> Self {
        match error.into_inner().downcast_ref() {
            Some(Error::Capacity(_)) => Self::Unreadable(CloseCode::TooLong),
            Some(Error::Utf8(_)) => Self::Unreadable(CloseCode::InvalidText),
            Some(Error::Protocol(_)) => Self::Unreadable(CloseCode::ProtocolError),
            _ => Self::ByPeer,
        }
    }
}

/// Says why the socket is closed, or answers the peer's own close frame.
///
/// A connection dropped with unread data is reset, and what was said last may be lost with it. So
/// what the peer still sends is read and dropped for a while; where it cannot be read, the peer has
/// that while to hear.
pub(super) async fn goodbye(socket: &mut WebSocket, ended: Ended) {
    let goodbye = async {
        if let Ended::ByUs(code) | Ended::Unreadable(code) = ended {
            let reason = format!("{code:?}");
            let frame = CloseFrame { code: code.code(), reason: reason.into() };
            if socket.send(Message::Close(Some(frame))).await.is_err() {
                return;
            }
        }
        if let Ended::Unreadable(_) = ended {
            sleep(GOODBYE).await;
        }
        while let Some(Ok(_)) = socket.recv().await {}
    };
    // A peer that does not take its goodbye is gone all the same.
    let _ = timeout(GOODBYE, goodbye).await;
}
