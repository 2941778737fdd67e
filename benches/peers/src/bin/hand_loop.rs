//! The yardstick: a loop over std's binary heap that knows nothing but this model.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque, binary_heap::PeekMut};
use std::process::ExitCode;

use peers::{LAMBDA, MU, Run, SERVERS};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

const ARRIVAL: u32 = 0;
const NS: f64 = 1e9;

/// (time in ns, sequence number and kind): one compare orders by time, then first come.
type Key = u128;

struct Keys {
    rng: Xoshiro256PlusPlus,
    seq: u32,
}

impl Keys {
    fn after(&mut self, now: u64, rate: f64, kind: u32) -> Reverse<Key> {
        let draw: f64 = Exp1.sample(&mut self.rng);
        let time = now + (draw * (NS / rate)) as u64;
        self.seq = self.seq.wrapping_add(2);
        Reverse(Key::from(time) << 32 | Key::from(self.seq | kind))
    }
}

fn main() -> ExitCode {
    let run = Run::from_args("hand_loop");
    let mut keys = Keys { rng: Xoshiro256PlusPlus::seed_from_u64(run.seed), seq: 0 };
    let mut heap = BinaryHeap::with_capacity(SERVERS as usize + 1);
    let mut queue = VecDeque::new();
    let (mut arrived, mut events, mut free) = (0, 0, SERVERS);
    let mut waited_ns: u128 = 0;

    heap.push(keys.after(0, LAMBDA, ARRIVAL));
    // Where an event schedules another, the new one takes the root's place: one sift, not two.
    loop {
        let Some(mut top) = heap.peek_mut() else { break };
        let Reverse(key) = *top;
        let now = (key >> 32) as u64;
        events += 1;
        if key as u32 & 1 == ARRIVAL {
            arrived += 1;
            if arrived < run.customers {
                *top = keys.after(now, LAMBDA, ARRIVAL);
                drop(top);
            } else {
                PeekMut::pop(top);
            }
            if free > 0 {
                free -= 1;
                heap.push(keys.after(now, MU, 1));
            } else {
                queue.push_back(now);
            }
        } else if let Some(since) = queue.pop_front() {
            waited_ns += u128::from(now - since);
            *top = keys.after(now, MU, 1);
        } else {
            free += 1;
            PeekMut::pop(top);
        }
    }
    run.report(events, waited_ns as f64 / NS / run.customers as f64)
}
