//! The M/M/c model on the event queue alone, to compare engines by events per second.

use lingua_core::Micros;

use crate::queue::EventQueue;
use crate::streams::{Purpose, Streams};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineRun {
    /// Events scheduled: one arrival and one departure per customer.
    pub events: u64,
    /// Mean wait in units of the mean service time.
    pub mean_wait: f64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Arrival,
    Departure,
}

/// Serves `customers` by 100 servers at load 0.9, first come first served.
pub fn mmc(customers: u64, seed: u64) -> EngineRun {
    const SERVERS: u32 = 100;
    const PER_UNIT: f64 = 90.0;
    // One unit of service time is a virtual second.
    const UNIT: f64 = 1e6;
    let streams = Streams::new(seed);
    let mut arrivals = streams.stream(Purpose::Arrivals, 0);
    let mut service = streams.stream(Purpose::Service, 0);
    let mut queue = EventQueue::default();
    let mut waiting = std::collections::VecDeque::new();
    let (mut busy, mut arrived, mut wait_sum) = (0, 0u64, 0u64);
    queue.push(Micros::ZERO, Event::Arrival);
    while let Some((now, event)) = queue.pop() {
        match event {
            Event::Arrival => {
                arrived += 1;
                if arrived < customers {
                    let gap = arrivals.exponential() / PER_UNIT * UNIT;
                    queue.push(Micros(now.0 + gap as u64), Event::Arrival);
                }
                if busy < SERVERS {
                    busy += 1;
                    let span = service.exponential() * UNIT;
                    queue.push(Micros(now.0 + span as u64), Event::Departure);
                } else {
                    waiting.push_back(now);
                }
            }
            Event::Departure => match waiting.pop_front() {
                Some(since) => {
                    wait_sum += (now - since).0;
                    let span = service.exponential() * UNIT;
                    queue.push(Micros(now.0 + span as u64), Event::Departure);
                }
                None => busy -= 1,
            },
        }
    }
    let mean_wait = wait_sum as f64 / customers as f64 / UNIT;
    EngineRun { events: queue.scheduled(), mean_wait }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_mean_wait_is_that_of_theory() {
        let run = super::mmc(1_000_000, 1);
        assert!((run.mean_wait - 0.02169).abs() < 0.002, "{}", run.mean_wait);
        assert_eq!(run.events, 2_000_000);
    }
}
