//! A connection whose client has gone on: it only waits for what it is owed.

use std::sync::Arc;

use tokio_tungstenite::tungstenite::Message;

use super::connection::Connection;
use crate::context::{Context, closing};
use crate::ledger::Closed;
use crate::observer::Ear;

pub(super) struct Linger {
    context: Arc<Context>,
    session: u32,
    life: u32,
    connection: Connection,
}

impl Linger {
    pub(super) fn new(
        context: &Arc<Context>,
        session: u32,
        life: u32,
        connection: Connection,
    ) -> Self {
        Self { context: context.clone(), session, life, connection }
    }

    /// Listens until nothing is owed any more, then closes.
    pub(super) async fn live(mut self) {
        let mut phase = self.context.phase.subscribe();
        while !self.context.observer().is_quiet(self.session, self.life) {
            tokio::select! {
                (ear, frame) = self.connection.next() => match frame {
                    Some(Ok(Message::Text(text))) => {
                        self.connection.hear(&self.context, (self.session, self.life), ear, &text);
                    }
                    Some(Ok(Message::Close(frame))) => {
                        return self.lose(ear, &Closed::by_scheduler(frame)).await;
                    }
                    Some(Ok(_)) => {}
                    None | Some(Err(_)) => return self.lose(ear, &Closed::Silently).await,
                },
                () = closing(&mut phase) => break,
            }
        }
        self.connection.close(&self.context).await;
    }

    /// What was owed does not come any more.
    async fn lose(self, ear: Ear, how: &Closed) {
        let now = self.context.clock.now();
        self.context.observer().lose(self.session, self.life, now);
        self.connection.lose(&self.context, ear, how).await;
    }
}
