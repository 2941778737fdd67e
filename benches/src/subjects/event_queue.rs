//! The hold model: whoever pops an event pushes the next, so the number pending stays.

use lingua_core::Micros;
use lingua_sim::queue::EventQueue;

use super::Subject;

/// Events of one run.
pub(super) const EVENTS: u64 = 1_000;

/// Longest time from one event to the one it schedules.
const GAP_MAX: u64 = 2_000_000;

/// As large as the events of the simulator.
type Event = [u32; 3];

pub(super) struct Hold {
    queue: EventQueue<Event>,
    word: u64,
}

impl Hold {
    pub(super) fn new(pending: u32) -> Self {
        let mut this = Self { queue: EventQueue::default(), word: 1 };
        for at in 0..pending {
            this.push(Micros::ZERO, [at; 3]);
        }
        this
    }

    fn push(&mut self, now: Micros, event: Event) {
        self.word = self.word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let gap = (u128::from(self.word) * u128::from(GAP_MAX)) >> 64;
        self.queue.push(Micros(now.0 + gap as u64), event);
    }
}

impl Subject for Hold {
    fn run(&mut self) -> u64 {
        let mut sum = 0u64;
        for _ in 0..EVENTS {
            let (now, event) = self.queue.pop().expect("events are pending");
            sum = sum.wrapping_add(now.0 ^ u64::from(event[0]));
            self.push(now, event);
        }
        sum
    }
}
