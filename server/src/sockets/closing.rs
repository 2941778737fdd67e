//! The end of a socket: said to the peer, and heard from it.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use lingua_protocol::CloseCode;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Error;

/// Longest time that a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// Why a conversation ended: the code to close with, where it is this side that ends it.
pub(super) type Ended = Option<CloseCode>;

/// What a frame that could not be read is closed with; absent where the peer is gone.
pub(super) fn code_of(error: axum::Error) -> Ended {
    match *error.into_inner().downcast::<Error>().ok()? {
        Error::Capacity(_) => Some(CloseCode::TooLong),
        Error::Utf8(_) => Some(CloseCode::InvalidText),
        Error::Protocol(_) => Some(CloseCode::ProtocolError),
        _ => None,
    }
}

/// Says why the socket is closed, or answers the peer's own close frame.
///
/// A connection dropped with unread data is reset, and what was said last is lost with it. So what
/// the peer still sends is read and dropped, for a while.
pub(super) async fn goodbye(socket: &mut WebSocket, code: Ended) {
    let goodbye = async {
        if let Some(code) = code {
            let reason = format!("{code:?}");
            let frame = CloseFrame { code: code.code(), reason: reason.into() };
            socket.send(Message::Close(Some(frame))).await.ok()?;
        }
        loop {
            match socket.recv().await? {
                Ok(_) => {}
                // What cannot be read cannot be dropped either: the peer has time to hear.
                Err(_) if code.is_some() => sleep(GOODBYE).await,
                Err(_) => return None::<()>,
            }
        }
    };
    // A peer that does not take its goodbye is gone all the same.
    let _ = timeout(GOODBYE, goodbye).await;
}
