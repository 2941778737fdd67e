//! The event queue: a binary heap on (time, order of scheduling).
//!
//! Events at one instant run in the order in which they were scheduled. Time and order share one
//! 128-bit key, so that a comparison is one instruction pair.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use lingua_core::Micros;

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    key: u128,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// Pending events.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    scheduled: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event.
    pub fn push(&mut self, at: Micros, event: E) {
        self.scheduled += 1;
        let key = u128::from(at.0) << 64 | u128::from(self.scheduled);
        self.heap.push(Reverse(Entry { key, event }));
    }

    /// When the next event is due; [`Micros::NEVER`] when there is none.
    pub fn next_at(&self) -> Micros {
        self.heap.peek().map_or(Micros::NEVER, |Reverse(entry)| Micros((entry.key >> 64) as u64))
    }

    /// The next event.
    pub fn pop(&mut self) -> Option<(Micros, E)> {
        let Reverse(entry) = self.heap.pop()?;
        Some((Micros((entry.key >> 64) as u64), entry.event))
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// How many events were ever scheduled.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order() {
        let mut queue = EventQueue::default();
        for (at, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b'), (9, 'e')] {
            queue.push(Micros(at), event);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, "abcde");
    }
}
