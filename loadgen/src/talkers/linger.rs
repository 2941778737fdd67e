//! A socket whose client has gone on: it only waits for what it is owed.

use std::sync::Arc;

use tokio_tungstenite::tungstenite::Message;

use super::connection::Connection;
use crate::context::{Context, closing};
use crate::ledger::{Closed, Kind};
use crate::observer::Hearing;
use crate::wire;

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
                frame = self.connection.socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => self.hear(text.as_str()),
                    Some(Ok(Message::Close(frame))) => {
                        return self.lose(&Closed::by_scheduler(frame));
                    }
                    Some(Ok(_)) => {}
                    None | Some(Err(_)) => return self.lose(&Closed::Silently),
                },
                () = closing(&mut phase) => break,
            }
        }
        self.connection.socket.close().await;
        self.context.ledger.closed(Kind::Session, &Closed::ByUs);
    }

    /// What was owed does not come any more.
    fn lose(&self, closed: &Closed) {
        let now = self.context.clock.now();
        self.context.observer().lose(self.session, self.life, now);
        self.context.ledger.closed(Kind::Session, closed);
    }

    fn hear(&self, frame: &str) {
        let Self { session, life, .. } = *self;
        let (run, at) = (self.context.run, self.context.clock.now());
        let id = &self.connection.id;
        let mut observer = self.context.observer();
        match serde_json::from_str::<wire::Heard<'_>>(frame) {
            Ok(heard) => observer.heard(Hearing { session, life, id, run, at }, &heard),
            Err(_) => observer.findings.malformed += 1,
        }
    }
}
