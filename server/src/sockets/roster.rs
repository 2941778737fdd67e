//! All sockets that are open.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lingua_protocol::CloseCode;
use tokio::time::{interval, timeout};

use crate::event::{Outbox, Outgoing, SocketId};

/// How often it is looked whether all are gone.
const LOOK: Duration = Duration::from_millis(20);

/// The open sockets, each with its outbox.
#[derive(Debug)]
pub(crate) struct Roster {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    sockets: HashMap<SocketId, Outbox>,
    next: u64,
    closing: bool,
}

impl Roster {
    /// At most so many at once.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().sockets.len()
    }

    /// Lists a socket.
    ///
    /// # Errors
    /// The code to close it with: there are too many, or all are being closed.
    pub(super) fn enter(&self, outbox: &Outbox) -> Result<SocketId, CloseCode> {
        let mut open = self.lock();
        if open.closing {
            return Err(CloseCode::GoingAway);
        }
        if open.sockets.len() >= self.most {
            return Err(CloseCode::TryAgainLater);
        }
        let id = SocketId(open.next);
        open.next += 1;
        open.sockets.insert(id, outbox.clone());
        Ok(id)
    }

    pub(super) fn leave(&self, id: SocketId) {
        self.lock().sockets.remove(&id);
    }

    /// Closes all after what waits for them, and waits until they are gone, but not for ever.
    pub(crate) async fn close_all(&self, patience: Duration) {
        {
            let mut open = self.lock();
            open.closing = true;
            for outbox in open.sockets.values() {
                outbox.post(Outgoing::Close(CloseCode::GoingAway));
            }
        }
        let gone = async {
            let mut looks = interval(LOOK);
            while !self.lock().sockets.is_empty() {
                looks.tick().await;
            }
        };
        // Whoever is left is cut when the process ends.
        let _ = timeout(patience, gone).await;
    }
}
