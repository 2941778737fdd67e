//! The event queue: a timing wheel of two levels.
//!
//! Events at one instant run in the order in which they were scheduled. An event is appended to the
//! list of its slot; when the slot's turn comes its list, a handful of events, is sorted. So
//! scheduling costs the same whether ten events are pending or a million, and however many meet at
//! one instant, it never costs more than sorting them.

mod level;
mod near;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lingua_core::Micros;

use level::{Level, SLOT_BITS, Spare, Taken};
use near::{Near, Ordered};

/// A fine slot lasts 2^7 = 128 µs. The fine level holds the turn that is being run and the next one,
/// 0.26 s each, so that most events hang in one slot only. A coarse slot lasts a turn, all coarse
/// slots 18 minutes. What is due later waits in a heap of its own.
const FINE_BITS: u32 = 7;
const TURN_BITS: u32 = SLOT_BITS - 1;

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: u64,
    event: E,
}

impl<E> Entry<E> {
    /// The fine slot, counted from time zero.
    fn fine(&self) -> u64 {
        self.at >> FINE_BITS
    }

    /// The coarse slot, counted from time zero.
    fn coarse(&self) -> u64 {
        self.fine() >> TURN_BITS
    }
}

/// Pending events.
#[derive(Debug)]
pub struct EventQueue<E> {
    near: Near<E>,
    // The first fine slot that is not in `near` yet.
    near_end: u64,
    fine: Level<Entry<E>>,
    // The first coarse slot that is not in `fine` yet: the turn being run is one or two before it.
    fine_end: u64,
    coarse: Level<Entry<E>>,
    far: BinaryHeap<Reverse<Ordered<E>>>,
    spare: Spare<Entry<E>>,
    scheduled: u64,
    popped: u64,
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            near: Near::default(),
            near_end: 0,
            fine: Level::default(),
            fine_end: 2,
            coarse: Level::default(),
            far: BinaryHeap::new(),
            spare: Spare::default(),
            scheduled: 0,
            popped: 0,
        }
    }
}

impl<E: Copy> EventQueue<E> {
    // As a call it would take the event through memory.
    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, at: Micros, event: E) {
        self.scheduled += 1;
        let entry = Entry { at: at.0, event };
        if entry.fine() < self.near_end {
            self.near.push(Ordered { entry, order: self.scheduled });
        } else if entry.coarse() < self.fine_end {
            self.fine.push(entry.fine(), entry, &mut self.spare);
        } else if entry.coarse() - self.fine_end < Level::<Entry<E>>::SLOTS {
            self.coarse.push(entry.coarse(), entry, &mut self.spare);
        } else {
            self.far.push(Reverse(Ordered { entry, order: self.scheduled }));
        }
    }

    /// The next event.
    pub fn pop(&mut self) -> Option<(Micros, E)> {
        self.pop_by(Micros::NEVER)
    }

    /// The next event, if it is due at `last` or before.
    #[inline]
    pub fn pop_by(&mut self, last: Micros) -> Option<(Micros, E)> {
        if self.near.is_empty() {
            match self.open_slot()? {
                Taken::One(Entry { at, event }) if at <= last.0 => {
                    self.popped += 1;
                    return Some((Micros(at), event));
                }
                // Whatever comes into this slot now comes later.
                Taken::One(entry) => self.near.push(Ordered { entry, order: 0 }),
                Taken::List(list) => {
                    let read = self.near.open(FINE_BITS, list);
                    self.spare.keep(read);
                }
            }
        }
        let Entry { at, event } = self.near.pop_by(last.0)?;
        self.popped += 1;
        Some((Micros(at), event))
    }

    /// The event that is most likely next: what is due sooner may be scheduled still.
    #[inline]
    pub fn upcoming(&self) -> Option<E> {
        self.near.of_slot().map(|entry| entry.event)
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        (self.scheduled - self.popped) as usize
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many events were ever scheduled.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Empties the next fine slot that holds anything.
    #[inline]
    fn open_slot(&mut self) -> Option<Taken<Entry<E>>> {
        if self.is_empty() {
            return None;
        }
        let slot = loop {
            match self.fine.first(self.near_end) {
                Some(slot) => break slot,
                None => self.skip_turns(),
            }
        };
        self.near_end = slot + 1;
        // The last turn of the fine level begins: the next one joins it.
        if slot >> TURN_BITS == self.fine_end - 1 {
            self.fill_turn();
        }
        Some(self.fine.take(slot, &mut self.spare))
    }

    /// Goes to the next turn that holds anything.
    fn skip_turns(&mut self) {
        let far = self.far.peek().map(|Reverse(late)| late.entry.coarse());
        let hung = self.coarse.first(self.fine_end);
        self.fine_end = far.into_iter().chain(hung).min().expect("an event is pending");
        self.near_end = self.fine_end << TURN_BITS;
        self.fill_turn();
    }

    /// The first turn behind the fine level moves into it. What lies in the heap was scheduled
    /// before what hangs in the slot.
    fn fill_turn(&mut self) {
        let turn = self.fine_end;
        self.fine_end += 1;
        while let Some(&Reverse(Ordered { entry, .. })) = self.far.peek() {
            if entry.coarse() != turn {
                break;
            }
            self.far.pop();
            self.fine.push(entry.fine(), entry, &mut self.spare);
        }
        match self.coarse.take(turn, &mut self.spare) {
            Taken::One(entry) => self.fine.push(entry.fine(), entry, &mut self.spare),
            Taken::List(list) => {
                for &entry in &list {
                    self.fine.push(entry.fine(), entry, &mut self.spare);
                }
                self.spare.keep(list);
            }
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
                    if let Some((at, _)) = expected.filter(|(at, _)| at.0 > 0) {
                        assert_eq!(queue.pop_by(Micros(at.0 - 1)), None);
                        assert_eq!(queue.pop_by(at), expected);
                    } else {
                        assert_eq!(queue.pop(), expected);
                    }
                    now = expected.map_or(now, |(at, _)| at.0);
                }
                assert_eq!(queue.len(), heap.len());
            }
        }
    }
}
