//! The event queue: a timing wheel of two levels in front of a small heap.
//!
//! Events at one instant run in the order in which they were scheduled. What is due next lies in a
//! heap, `near`; what is due later hangs unsorted in a slot of the wheel until its turn comes. So
//! scheduling costs the same whether ten events are pending or a million, and however many meet at
//! one instant, it never costs more than a heap.

mod level;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use lingua_core::Micros;

use level::{Level, NONE, SLOT_BITS};

/// A fine slot lasts 2^5 = 32 µs; the fine level, and so a coarse slot, 0.13 s; all coarse slots
/// 9 minutes. What is due later waits in a heap of its own.
const FINE_BITS: u32 = 5;

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: u64,
    order: u64,
    event: E,
}

impl<E> Entry<E> {
    // One integer, so that a comparison is an instruction pair.
    fn key(&self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.order)
    }

    /// The fine slot, counted from time zero.
    fn fine(&self) -> u64 {
        self.at >> FINE_BITS
    }

    /// The coarse slot, counted from time zero.
    fn coarse(&self) -> u64 {
        self.fine() >> SLOT_BITS
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
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
        self.key().cmp(&other.key())
    }
}

/// An entry that hangs in a slot.
#[derive(Debug, Clone, Copy)]
struct Link<E> {
    entry: Entry<E>,
    next: u32,
}

/// Pending events.
#[derive(Debug)]
pub struct EventQueue<E> {
    near: BinaryHeap<Reverse<Entry<E>>>,
    // The first fine slot that is not in `near` yet.
    near_end: u64,
    // Of the coarse slot that is being run; `near_end` lies in it or ends it.
    fine: Level,
    turn: u64,
    coarse: Level,
    far: BinaryHeap<Reverse<Entry<E>>>,
    links: Vec<Link<E>>,
    free: u32,
    scheduled: u64,
    len: usize,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            near: BinaryHeap::new(),
            near_end: 0,
            fine: Level::default(),
            turn: 0,
            coarse: Level::default(),
            far: BinaryHeap::new(),
            links: Vec::new(),
            free: NONE,
            scheduled: 0,
            len: 0,
        }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event.
    pub fn push(&mut self, at: Micros, event: E) {
        self.scheduled += 1;
        self.len += 1;
        self.place(Entry { at: at.0, order: self.scheduled, event });
    }

    /// When the next event is due; [`Micros::NEVER`] when there is none.
    pub fn next_at(&mut self) -> Micros {
        self.ensure_near();
        self.near.peek().map_or(Micros::NEVER, |Reverse(entry)| Micros(entry.at))
    }

    /// The next event.
    pub fn pop(&mut self) -> Option<(Micros, E)> {
        self.ensure_near();
        let Reverse(entry) = self.near.pop()?;
        self.len -= 1;
        // What is scheduled next is often due before the rest of this turn: it then goes into the
        // heap without a detour. Later turns wait until they are asked for.
        if self.near.is_empty() {
            self.fill_near();
        }
        Some((Micros(entry.at), entry.event))
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many events were ever scheduled.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    // A call here is a seventh of the M/M/c model's time (benches/peers).
    #[inline(always)]
    fn place(&mut self, entry: Entry<E>) {
        if entry.fine() < self.near_end {
            self.near.push(Reverse(entry));
        } else if entry.coarse() == self.turn {
            let link = self.link(entry);
            self.hang_fine(link);
        } else if entry.coarse() - self.turn < Level::SLOTS {
            let link = self.link(entry);
            self.links[link as usize].next = self.coarse.hang(entry.coarse(), link);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    fn link(&mut self, entry: Entry<E>) -> u32 {
        let link = self.free;
        if link == NONE {
            self.links.push(Link { entry, next: NONE });
            return u32::try_from(self.links.len() - 1).expect("fewer than 2^32 pending events");
        }
        self.free =
            std::mem::replace(&mut self.links[link as usize], Link { entry, next: NONE }).next;
        link
    }

    fn hang_fine(&mut self, link: u32) {
        let Link { entry, next } = &mut self.links[link as usize];
        *next = self.fine.hang(entry.fine(), link);
    }

    /// Puts the next event into `near`, if there is any.
    fn ensure_near(&mut self) {
        while self.near.is_empty() && self.len > 0 {
            if !self.fill_near() {
                self.next_turn();
            }
        }
    }

    /// Fills `near` from the next slot of this turn that holds anything; tells whether one does.
    fn fill_near(&mut self) -> bool {
        let first = self.turn << SLOT_BITS;
        let Some(slot) = self.fine.first(self.near_end - first) else { return false };
        self.near_end = first + slot + 1;
        let mut link = self.fine.take(slot);
        while link != NONE {
            let Link { entry, next } = self.links[link as usize];
            self.near.push(Reverse(entry));
            self.links[link as usize].next = self.free;
            self.free = link;
            link = next;
        }
        true
    }

    /// Begins the next coarse slot that holds anything: its events move to the fine level.
    fn next_turn(&mut self) {
        let far = self.far.peek().map(|Reverse(entry)| entry.coarse());
        let hung = self.coarse.first_after(self.turn);
        self.turn = far.into_iter().chain(hung).min().expect("an event is pending");
        self.near_end = self.turn << SLOT_BITS;
        let mut link = self.coarse.take(self.turn);
        while link != NONE {
            let next = self.links[link as usize].next;
            self.hang_fine(link);
            link = next;
        }
        while let Some(&Reverse(entry)) = self.far.peek() {
            if entry.coarse() != self.turn {
                break;
            }
            self.far.pop();
            let link = self.link(entry);
            self.hang_fine(link);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::mix;

    #[test]
    fn equal_times_keep_their_order() {
        let mut queue = EventQueue::default();
        for (at, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b'), (9, 'e')] {
            queue.push(Micros(at), event);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, "abcde");
    }

    /// Steps of every length, from the same instant to hours ahead, beside a plain heap.
    #[test]
    fn it_gives_what_a_heap_gives() {
        const SPANS: [u64; 6] = [1, 64, 10_000, 300_000, 20_000_000, 20_000_000_000];
        for seed in 0..20 {
            let mut queue = EventQueue::default();
            let mut heap = BinaryHeap::new();
            let (mut now, mut drawn) = (0, mix(seed));
            for n in 0..20_000u64 {
                drawn = mix(drawn.wrapping_add(n));
                let grows = drawn % 100 < if n % 8_000 < 4_000 { 90 } else { 10 };
                if grows {
                    let span = SPANS[(drawn >> 8) as usize % SPANS.len()];
                    let at = now + (drawn >> 16) % span;
                    queue.push(Micros(at), n);
                    heap.push(Reverse((at, n)));
                } else {
                    let expected = heap.pop().map(|Reverse((at, n))| (Micros(at), n));
                    assert_eq!(queue.next_at(), expected.map_or(Micros::NEVER, |(at, _)| at));
                    assert_eq!(queue.pop(), expected);
                    now = expected.map_or(now, |(at, _)| at.0);
                }
                assert_eq!(queue.len(), heap.len());
            }
        }
    }
}
