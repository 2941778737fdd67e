//! The event queue: a timing wheel of three levels.
//!
//! Events at one instant run in the order in which they were scheduled. An event is appended to the
//! list of its slot; when time comes to the slot its list is spread over the slot's microseconds. So an
//! event costs the same whether ten are pending or a million, and however many meet at one instant.

mod level;
mod near;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use lingua_core::Micros;

use level::{Blocks, Level, List, SLOT_BITS};
use near::Near;

/// A fine slot lasts 2^10 µs.
const FINE_BITS: u32 = 10;

/// A turn is half of the fine level, 2.1 s: the level holds the one that is being run and the next, so
/// that nearly all events hang in one slot only. A coarse slot lasts a turn, all coarse slots 2.4 hours.
/// What is due later waits in a heap of its own.
const TURN_BITS: u32 = SLOT_BITS - 1;

/// What hangs in a slot: of its time the lower half, to which the slot knows the upper one. Four of
/// the world's events then share a cache line.
#[derive(Debug, Clone, Copy)]
struct Hung<E> {
    low: u32,
    event: E,
}

impl<E> Hung<E> {
    /// Its time, in a slot that begins at `start`.
    #[inline]
    fn at(&self, start: u64) -> u64 {
        start + u64::from(self.low.wrapping_sub(start as u32))
    }
}

/// An event with its place among those of one instant.
#[derive(Debug, Clone, Copy)]
struct Ordered<E> {
    at: u64,
    order: u64,
    event: E,
}

impl<E> PartialEq for Ordered<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
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
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// The fine slot of an instant, counted from time zero.
fn fine_slot(at: u64) -> u64 {
    at >> FINE_BITS
}

/// The coarse slot of an instant, counted from time zero.
fn coarse_slot(at: u64) -> u64 {
    at >> (FINE_BITS + TURN_BITS)
}

/// Pending events.
#[derive(Debug)]
pub struct EventQueue<E> {
    near: Near<E>,
    // The first fine slot that is not in `near` yet.
    near_end: u64,
    fine: Level,
    // The first coarse slot that is not in `fine` yet: the turn being run is one or two before it.
    fine_end: u64,
    coarse: Level,
    far: BinaryHeap<Reverse<Ordered<E>>>,
    blocks: Blocks<Hung<E>>,
    // Memory for those that move from a coarse slot into fine ones.
    moved: Vec<Hung<E>>,
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
            blocks: Blocks::default(),
            moved: Vec::new(),
            scheduled: 0,
            popped: 0,
        }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event. It is not due before the last one that was popped, nor before what
    /// [`Self::pop_by`] was last asked.
    // As a call it would take the event through memory.
    #[inline(always)]
    pub fn push(&mut self, at: Micros, event: E) {
        self.scheduled += 1;
        let at = at.0;
        let hung = Hung { low: at as u32, event };
        let (fine, coarse) = (fine_slot(at), coarse_slot(at));
        if fine < self.near_end {
            debug_assert_eq!(fine + 1, self.near_end, "nothing is scheduled in the past");
            self.near.push(hung);
        } else if coarse < self.fine_end {
            self.fine.push(fine, hung, &mut self.blocks);
        } else if coarse - self.fine_end < Level::SLOTS {
            self.coarse.push(coarse, hung, &mut self.blocks);
        } else {
            self.far.push(Reverse(Ordered { at, order: self.scheduled, event }));
        }
    }

    /// The next event.
    pub fn pop(&mut self) -> Option<(Micros, E)> {
        self.pop_by(Micros::NEVER)
    }

    /// The next event, if it is due at `last` or before. If none is, time has come to `last`: the
    /// caller schedules nothing before it any more.
    #[inline]
    pub fn pop_by(&mut self, last: Micros) -> Option<(Micros, E)> {
        if self.near.is_empty() {
            let list = self.open_slot(last.0)?;
            let start = (self.near_end - 1) << FINE_BITS;
            self.near.open(start);
            let only = self.blocks.only(list);
            if let Some(hung) = only.filter(|only| only.at(start) <= last.0) {
                self.blocks.free(list);
                self.popped += 1;
                return Some((Micros(hung.at(start)), hung.event));
            }
            for block in self.blocks.of(list) {
                for &hung in block {
                    self.near.push(hung);
                }
            }
            self.blocks.free(list);
        }
        let (at, event) = self.near.pop_by(last.0)?;
        self.popped += 1;
        Some((Micros(at), event))
    }

    /// Changes with each slot that is opened.
    #[inline]
    pub fn slot(&self) -> u64 {
        self.near_end
    }

    /// Shows the events of the next slot of the fine level, if it holds any, in the order in which they
    /// were scheduled; more of them may be scheduled still, and earlier ones.
    #[inline]
    pub fn each_upcoming(&self, mut see: impl FnMut(E)) {
        let slot = self.fine.first(self.near_end);
        let Some(list) = slot.and_then(|slot| self.fine.list(slot)) else { return };
        for block in self.blocks.of(list) {
            for hung in block {
                see(hung.event);
            }
        }
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

    /// Empties the next fine slot that holds anything, if it begins at `last` or before.
    #[inline]
    fn open_slot(&mut self, last: u64) -> Option<List> {
        if self.is_empty() {
            return None;
        }
        let slot = loop {
            match self.fine.first(self.near_end) {
                Some(slot) => break slot,
                None => self.skip_turns(last)?,
            }
        };
        if slot << FINE_BITS > last {
            return None;
        }
        self.near_end = slot + 1;
        // The last turn of the fine level begins: the next one joins it.
        if slot >> TURN_BITS == self.fine_end - 1 {
            self.fill_turn();
        }
        self.fine.take(slot)
    }

    /// Goes to the next turn that holds anything, if it begins at `last` or before.
    fn skip_turns(&mut self, last: u64) -> Option<()> {
        let far = self.far.peek().map(|Reverse(late)| coarse_slot(late.at));
        let hung = self.coarse.first(self.fine_end);
        let turn = far.into_iter().chain(hung).min().expect("an event is pending");
        if turn << (FINE_BITS + TURN_BITS) > last {
            return None;
        }
        self.fine_end = turn;
        self.near_end = turn << TURN_BITS;
        self.fill_turn();
        Some(())
    }

    /// The first turn behind the fine level moves into it. What lies in the heap was scheduled
    /// before what hangs in the slot.
    fn fill_turn(&mut self) {
        let turn = self.fine_end;
        self.fine_end += 1;
        while let Some(&Reverse(Ordered { at, event, .. })) = self.far.peek() {
            if coarse_slot(at) != turn {
                break;
            }
            self.far.pop();
            self.fine.push(fine_slot(at), Hung { low: at as u32, event }, &mut self.blocks);
        }
        let Some(list) = self.coarse.take(turn) else { return };
        let mut moved = std::mem::take(&mut self.moved);
        self.blocks.of(list).for_each(|block| moved.extend_from_slice(block));
        self.blocks.free(list);
        let start = turn << (FINE_BITS + TURN_BITS);
        for hung in moved.drain(..) {
            self.fine.push(fine_slot(hung.at(start)), hung, &mut self.blocks);
        }
        self.moved = moved;
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

    #[test]
    fn what_is_scheduled_after_a_question_in_vain_comes_first() {
        let mut queue = EventQueue::default();
        // Asked within its slot, within its turn, before its turn, and while it is far away.
        for (late, asked) in [
            (1_000, 500),
            (10_000_000, 9_000_000),
            (100_000_000, 50_000_000),
            (100_000_000_000, 50_000_000_000),
        ] {
            queue.push(Micros(late), "late");
            assert_eq!(queue.pop_by(Micros(asked)), None);
            queue.push(Micros(asked + 1), "soon");
            let popped = [queue.pop(), queue.pop(), queue.pop()];
            let expected = [(asked + 1, "soon"), (late, "late")].map(|(at, e)| (Micros(at), e));
            assert_eq!(popped, [Some(expected[0]), Some(expected[1]), None]);
        }
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
