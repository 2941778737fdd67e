//! The board in Redis.

use lingua_core::Micros;
use lingua_core::claim::{Event, Op, Reply};
use lingua_store::{Store, StoreError};
use tokio::sync::mpsc;

use crate::Coordinator;

impl Coordinator for Store {
    type Error = StoreError;

    async fn apply(&self, now: Micros, op: Op) -> Result<Reply, StoreError> {
        self.duty(now, &op).await
    }

    async fn hear(self, events: mpsc::Sender<Event>) {
        self.hear_duties(events).await;
    }
}
