//! Every socket that was wanted: opened, refused, held, closed, and by whom.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use lingua_reports::load::Sockets;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

/// Which kind of peer a socket stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Node,
    Session,
}

/// How a socket ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closed {
    /// By this side.
    ByUs,
    /// By the scheduler, with a close frame and what it said.
    ByScheduler(String),
    /// Without a word.
    Silently,
}

impl Closed {
    /// By the scheduler, with this frame.
    pub(crate) fn by_scheduler(frame: Option<CloseFrame>) -> Self {
        Self::ByScheduler(match frame {
            Some(frame) if frame.reason.is_empty() => frame.code.to_string(),
            Some(frame) => format!("{} {}", frame.code, frame.reason),
            None => "no code".to_owned(),
        })
    }
}

/// The books of both kinds.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    nodes: Mutex<Sockets>,
    sessions: Mutex<Sockets>,
}

impl Ledger {
    fn with(&self, kind: Kind, entry: impl FnOnce(&mut Sockets)) {
        let book = match kind {
            Kind::Node => &self.nodes,
            Kind::Session => &self.sessions,
        };
        entry(&mut book.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn requested(&self, kind: Kind) {
        self.with(kind, |book| book.requested += 1);
    }

    pub(crate) fn established(&self, kind: Kind) {
        self.with(kind, |book| {
            book.established += 1;
            book.held += 1;
            book.held_max = book.held_max.max(book.held);
        });
    }

    pub(crate) fn failed(&self, kind: Kind, cause: &str) {
        self.with(kind, |book| count(&mut book.failed, cause));
    }

    pub(crate) fn closed(&self, kind: Kind, how: &Closed) {
        self.with(kind, |book| {
            book.held -= 1;
            match how {
                Closed::ByUs => book.closed_by_us += 1,
                Closed::ByScheduler(said) => count(&mut book.closed_by_scheduler, said),
                Closed::Silently => book.closed_silently += 1,
            }
        });
    }

    /// The books as they stand: of nodes, of sessions.
    pub(crate) fn books(&self) -> (Sockets, Sockets) {
        let copy =
            |book: &Mutex<Sockets>| book.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (copy(&self.nodes), copy(&self.sessions))
    }
}

fn count(causes: &mut BTreeMap<String, u64>, cause: &str) {
    *causes.entry(cause.to_owned()).or_default() += 1;
}
