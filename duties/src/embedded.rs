//! The board in this process, for an instance on its own.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use lingua_core::Micros;
use lingua_core::claim::{ClaimBoard, Event, Op, Reply};
use tokio::sync::mpsc;

use crate::Coordinator;

/// A board and who listens to it. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Embedded(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    board: ClaimBoard,
    listeners: Vec<mpsc::Sender<Event>>,
}

impl Coordinator for Embedded {
    type Error = Infallible;

    async fn apply(&self, now: Micros, op: Op) -> Result<Reply, Infallible> {
        let Shared { board, listeners } =
            &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        let reply = board.apply(now, &op, &mut events);
        listeners.retain(|listener| !listener.is_closed());
        for event in events {
            for listener in &*listeners {
                // Where there is no room, what waits there causes a look all the same.
                let _ = listener.try_send(event);
            }
        }
        Ok(reply)
    }

    async fn hear(self, events: mpsc::Sender<Event>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).listeners.push(events.clone());
        events.closed().await;
    }
}
