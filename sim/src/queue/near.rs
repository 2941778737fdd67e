//! The slot that time has come to: a wheel of single microseconds.

use super::{FINE_BITS, Hung};

/// Microseconds of a slot.
const SPAN: usize = 1 << FINE_BITS;

/// Words of a bit for each microsecond, no more than the summary has bits.
const WORDS: usize = SPAN / 64;
const _: () = assert!(WORDS <= 32);

/// No event.
const NONE: u32 = u32::MAX;

/// A slot's events: those that hung in it when it was opened, and those that are scheduled within
/// it after that. Those of one microsecond form a chain, in the order in which they came.
#[derive(Debug)]
pub(super) struct Near<E> {
    // When the slot begins.
    start: u64,
    // Which microseconds have a chain, a bit each, and which of these words are not zero.
    due: [u64; WORDS],
    summary: u32,
    // First and last event of each chain.
    heads: [u32; SPAN],
    tails: [u32; SPAN],
    events: Vec<Chained<E>>,
}

#[derive(Debug)]
struct Chained<E> {
    event: E,
    // The next of its chain.
    after: u32,
}

impl<E> Default for Near<E> {
    fn default() -> Self {
        Self {
            start: 0,
            due: [0; WORDS],
            summary: 0,
            heads: [NONE; SPAN],
            tails: [NONE; SPAN],
            events: Vec::new(),
        }
    }
}

impl<E: Copy> Near<E> {
    /// Opens a slot. All events of the former one have been taken.
    #[inline]
    pub(super) fn open(&mut self, start: u64) {
        self.start = start;
        self.events.clear();
    }

    /// Adds an event that is due before the end of the slot, behind those of its microsecond.
    #[inline]
    pub(super) fn push(&mut self, hung: Hung<E>) {
        let place = self.events.len() as u32;
        self.events.push(Chained { event: hung.event, after: NONE });
        let at = hung.low as usize % SPAN;
        let (word, bit) = (at / 64, 1 << (at % 64));
        if self.due[word] & bit == 0 {
            self.due[word] |= bit;
            self.summary |= 1 << word;
            self.heads[at] = place;
        } else {
            self.events[self.tails[at] as usize].after = place;
        }
        self.tails[at] = place;
    }

    /// Whether all its events have been taken.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.summary == 0
    }

    /// Takes the next event, if there is one and it is due at `last` or before.
    #[inline]
    pub(super) fn pop_by(&mut self, last: u64) -> Option<(u64, E)> {
        if self.summary == 0 {
            return None;
        }
        let word = self.summary.trailing_zeros() as usize;
        let first = word * 64 + self.due[word].trailing_zeros() as usize;
        let at = self.start + first as u64;
        if at > last {
            return None;
        }
        let &Chained { event, after } = &self.events[self.heads[first] as usize];
        self.heads[first] = after;
        if after == NONE {
            self.due[word] &= self.due[word] - 1;
            if self.due[word] == 0 {
                self.summary &= self.summary - 1;
            }
        }
        Some((at, event))
    }
}
