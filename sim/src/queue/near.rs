//! The slot whose turn it is, in order of time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Hung;

/// An event with its place among those of one instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ordered<E> {
    pub(super) at: u64,
    pub(super) order: u64,
    pub(super) event: E,
}

impl<E> Ordered<E> {
    // One integer, so that a comparison is an instruction pair.
    fn key(&self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.order)
    }
}

impl<E> PartialEq for Ordered<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Ordered<E> {}

impl<E> PartialOrd for Ordered<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Ordered<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// A slot's events, and those that were scheduled before its end after it was opened.
#[derive(Debug)]
pub(super) struct Near<E> {
    events: Vec<Hung<E>>,
    // When the slot begins.
    start: u64,
    // Offset in the slot and place in `events` as one number each, sorted: what is moved to sort is
    // small, and what was scheduled first comes first.
    turns: Vec<u64>,
    next: usize,
    late: BinaryHeap<Reverse<Ordered<E>>>,
}

impl<E> Default for Near<E> {
    fn default() -> Self {
        Self { events: Vec::new(), start: 0, turns: Vec::new(), next: 0, late: BinaryHeap::new() }
    }
}

impl<E: Copy> Near<E> {
    /// Opens a slot, given its events as they were scheduled; gives back the list of the former one.
    ///
    /// All events of the former slot have been taken.
    pub(super) fn open(&mut self, start: u64, events: Vec<Hung<E>>) -> Vec<Hung<E>> {
        self.turns.clear();
        self.next = 0;
        self.start = start;
        let numbered = (0..).zip(&events);
        self.turns.extend(numbered.map(|(n, hung): (u64, _)| (hung.at(start) - start) << 32 | n));
        if self.turns.len() > 1 {
            self.turns.sort_unstable();
        }
        std::mem::replace(&mut self.events, events)
    }

    /// Adds an event that is due before the end of the slot.
    pub(super) fn push(&mut self, late: Ordered<E>) {
        self.late.push(Reverse(late));
    }

    /// Whether all its events have been taken.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.next == self.turns.len() && self.late.is_empty()
    }

    /// Takes the next event, if it is due at `last` or before.
    #[inline]
    pub(super) fn pop_by(&mut self, last: u64) -> Option<(u64, E)> {
        let late = self.late.peek().map_or(u64::MAX, |Reverse(late)| late.at);
        match self.of_slot() {
            // What was in the slot when it was opened had been scheduled before.
            Some((at, event)) if at <= late => {
                (at <= last).then(|| self.next += 1)?;
                Some((at, event))
            }
            _ if late <= last => self.late.pop().map(|Reverse(late)| (late.at, late.event)),
            _ => None,
        }
    }

    /// What was in the slot when it was opened and is due next.
    #[inline]
    fn of_slot(&self) -> Option<(u64, E)> {
        let turn = *self.turns.get(self.next)?;
        let hung = self.events.get(turn as u32 as usize)?;
        Some((self.start + (turn >> 32), hung.event))
    }
}
