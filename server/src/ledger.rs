//! Bytes of speech in memory, by session and in all: from the socket until the last of its jobs has
//! ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::config::Limits;

/// What a session may hold even where all hold too much.
const SHARE_MIN: usize = 1 << 20;

/// What all sessions hold.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Arc<AtomicUsize>);

/// What one session holds.
#[derive(Debug, Clone)]
pub(crate) struct Account(Arc<Sums>);

#[derive(Debug)]
struct Sums {
    own: AtomicUsize,
    all: Arc<AtomicUsize>,
}

/// Bytes that are held: they count until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    bytes: usize,
    account: Account,
}

impl Ledger {
    pub(crate) fn open(&self) -> Account {
        Account(Arc::new(Sums { own: AtomicUsize::new(0), all: self.0.clone() }))
    }
}

impl Account {
    /// Counts so many bytes more.
    ///
    /// # Errors
    /// The most that the session may hold now.
    pub(crate) fn hold(&self, bytes: usize, limits: &Limits) -> Result<Held, usize> {
        let own = self.0.own.load(Ordering::Relaxed) + bytes;
        let all = self.0.all.load(Ordering::Relaxed) + bytes;
        let most = if all > limits.speech { SHARE_MIN } else { limits.speech_per_session };
        if own > most { Err(most) } else { Ok(self.held(bytes)) }
    }

    /// Nothing held yet.
    pub(crate) fn empty(&self) -> Held {
        Held { bytes: 0, account: self.clone() }
    }

    fn held(&self, bytes: usize) -> Held {
        self.0.own.fetch_add(bytes, Ordering::Relaxed);
        self.0.all.fetch_add(bytes, Ordering::Relaxed);
        Held { bytes, account: self.clone() }
    }
}

impl Held {
    /// Takes over what another one of the same session holds.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Hands over the first bytes.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { bytes, account: self.account.clone() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.0.own.fetch_sub(self.bytes, Ordering::Relaxed);
        self.account.0.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back() {
        let limits = Limits { speech_per_session: 4 << 20, speech: 6 << 20, ..Limits::default() };
        let ledger = Ledger::default();
        let (one, other) = (ledger.open(), ledger.open());
        let mut first = one.hold(3 << 20, &limits).unwrap();
        assert_eq!(one.hold(2 << 20, &limits).unwrap_err(), 4 << 20);
        first.absorb(one.hold(1 << 20, &limits).unwrap());
        let part = first.split(1 << 20);
        drop(first);
        let rest = other.hold(4 << 20, &limits).unwrap();
        assert_eq!(one.hold(2 << 20, &limits).unwrap_err(), SHARE_MIN, "all hold too much");
        drop(part);
        let small = one.hold(SHARE_MIN, &limits).unwrap();
        drop((rest, small, one.empty()));
        assert_eq!(ledger.0.load(Ordering::Relaxed), 0);
    }
}
