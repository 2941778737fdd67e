//! What duties need from outside: a board that is shared, and the work itself.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use lingua_core::Micros;
use lingua_core::claim::{DutyId, Event, Op, Reply, Token};
use tokio::sync::mpsc;

/// A board of duties that all instances share, as [`lingua_core::claim::ClaimBoard`] defines it.
pub trait Coordinator: Clone + Send + Sync + 'static {
    /// Why a step was not answered; it may have been carried out all the same.
    type Error: Display + Send;

    /// One atomic step. `now` is the caller's time; a board of its own time does not look at it.
    fn apply(&self, now: Micros, op: Op)
    -> impl Future<Output = Result<Reply, Self::Error>> + Send;

    /// Tells of changes until the receiver is gone. Some may be lost: a keeper also looks by itself.
    fn hear(self, events: mpsc::Sender<Event>) -> impl Future<Output = ()> + Send;
}

/// What holding a duty means.
pub trait Work: Send + Sync + 'static {
    /// One run, and how long to rest before the next one. It is dropped where the duty is not held
    /// any more; what it writes carries the token, so that whoever comes after it is not disturbed.
    fn run(&self, duty: DutyId, token: Token) -> impl Future<Output = Duration> + Send;
}
