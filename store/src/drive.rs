//! The store beside an instance: steps go in, replies come out, and nothing waits for either.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use lingua_core::instance::Token;
use lingua_core::{Micros, Op, Reply};
use tokio::sync::mpsc;

use crate::{Store, StoreError};

/// What became of a step.
pub type Replied = (Token, Result<Reply, StoreError>);

/// Takes an instance's steps. When the last handle is gone the replies under way still come.
#[derive(Debug, Clone)]
pub struct StoreHandle {
    steps: mpsc::Sender<(Token, Micros, Box<Op>)>,
    backlog: usize,
}

impl StoreHandle {
    /// Sends a step, after those that were sent before it. `now` is the instance's time.
    ///
    /// # Errors
    /// Too many steps wait. The instance asks again when its reply does not come.
    pub fn send(&self, token: Token, now: Micros, op: Box<Op>) -> Result<(), StoreError> {
        let sent = self.steps.try_send((token, now, op));
        sent.map_err(|_| StoreError::Backlog(self.backlog))
    }
}

impl Store {
    /// Starts a task that carries out steps, at most `backlog` at once with as many waiting, and
    /// puts what became of each into `replies`.
    pub fn drive(self, backlog: usize, replies: mpsc::Sender<Replied>) -> StoreHandle {
        let (steps, inbox) = mpsc::channel(backlog);
        tokio::spawn(carry_out(self, backlog, inbox, replies));
        StoreHandle { steps, backlog }
    }
}

async fn carry_out(
    store: Store,
    backlog: usize,
    mut inbox: mpsc::Receiver<(Token, Micros, Box<Op>)>,
    replies: mpsc::Sender<Replied>,
) {
    let mut under_way = FuturesUnordered::new();
    let mut open = true;
    while open || !under_way.is_empty() {
        tokio::select! {
            step = inbox.recv(), if open && under_way.len() < backlog => match step {
                Some((token, now, op)) => {
                    let store = &store;
                    under_way.push(async move { (token, store.apply(now, &op).await) });
                }
                None => open = false,
            },
            Some(replied) = under_way.next() => {
                if replies.send(replied).await.is_err() {
                    return;
                }
            }
        }
    }
}
