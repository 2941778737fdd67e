//! Time of a run: one monotonic clock, and waking at an instant.
//!
//! Tokio's timer wheel turns once a millisecond, which would show in every latency below that. So
//! one thread of its own sleeps until the next instant that somebody waits for, and wakes him.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A moment of the run, in nanoseconds since its clock was started.
pub type Nanos = u64;

/// Never: later than any run lasts.
pub const NEVER: Nanos = u64::MAX;

/// Shortest sleep: what is due within it is told together.
const QUANTUM: Nanos = 50_000;

/// The run's clock. Whoever has a clone sees the same time.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since the start.
    pub fn now(self) -> Nanos {
        self.0.elapsed().as_nanos() as u64
    }
}

/// The thread that wakes tasks at their instants. It ends when it is dropped.
#[derive(Debug)]
pub struct Pacer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    queue: Mutex<Queue>,
    sooner: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    due: BinaryHeap<Reverse<(Nanos, u32)>>,
    alarms: Vec<Waiting>,
    unused: Vec<u32>,
    // When the thread wakes by itself.
    next: Nanos,
    over: bool,
}

#[derive(Debug)]
struct Waiting {
    wanted: Nanos,
    // The earliest instant that stands in `due` for it.
    queued: Nanos,
    waker: Option<Waker>,
}

impl Pacer {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(clock: Clock) -> std::io::Result<Self> {
        let queue = Queue { next: NEVER, ..Queue::default() };
        let shared = Arc::new(Shared { clock, queue: Mutex::new(queue), sooner: Condvar::new() });
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("pacer".into()).spawn(move || own.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The clock it goes by.
    pub fn clock(&self) -> Clock {
        self.shared.clock
    }

    /// An alarm that is not set.
    pub fn alarm(&self) -> Alarm {
        let mut queue = self.shared.queue();
        let fresh = Waiting { wanted: NEVER, queued: NEVER, waker: None };
        let slot = match queue.unused.pop() {
            Some(slot) => slot,
            None => {
                queue.alarms.push(fresh);
                queue.alarms.len() as u32 - 1
            }
        };
        Alarm { shared: self.shared.clone(), slot, due: NEVER }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.shared.queue().over = true;
        self.shared.sooner.notify_one();
        if let Some(thread) = self.thread.take() {
            // A pacer that panicked has been told by the panic itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut wakers = Vec::new();
        loop {
            let mut queue = self.queue();
            if queue.over {
                return;
            }
            let now = self.clock.now();
            let next = queue.collect_due(now, &mut wakers);
            if !wakers.is_empty() {
                drop(queue);
                wakers.drain(..).for_each(Waker::wake);
                continue;
            }
            queue.next = next;
            if next == NEVER {
                drop(self.sooner.wait(queue));
            } else {
                let sleep = Duration::from_nanos((next - now).max(QUANTUM));
                drop(self.sooner.wait_timeout(queue, sleep));
            }
        }
    }

    fn wait(&self, slot: u32, due: Nanos, waker: &Waker) {
        let mut queue = self.queue();
        let alarm = &mut queue.alarms[slot as usize];
        alarm.wanted = due;
        if !alarm.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            alarm.waker = Some(waker.clone());
        }
        if due < alarm.queued {
            alarm.queued = due;
            queue.due.push(Reverse((due, slot)));
            if due < queue.next {
                queue.next = due;
                self.sooner.notify_one();
            }
        }
    }

    fn forget(&self, slot: u32) {
        let mut queue = self.queue();
        let alarm = &mut queue.alarms[slot as usize];
        alarm.wanted = NEVER;
        alarm.waker = None;
        // What still stands in `due` finds nobody, or wakes the next owner once in vain.
        queue.unused.push(slot);
    }
}

impl Queue {
    /// Takes the wakers of all that is due; tells the next instant.
    fn collect_due(&mut self, now: Nanos, wakers: &mut Vec<Waker>) -> Nanos {
        while let Some(&Reverse((due, slot))) = self.due.peek() {
            if due > now {
                return due;
            }
            self.due.pop();
            let alarm = &mut self.alarms[slot as usize];
            if alarm.queued != due {
                continue;
            }
            alarm.queued = NEVER;
            if alarm.wanted <= now {
                wakers.extend(alarm.waker.take());
            } else if alarm.wanted != NEVER {
                alarm.queued = alarm.wanted;
                self.due.push(Reverse((alarm.wanted, slot)));
            }
        }
        NEVER
    }
}

/// One instant that a task waits for; it may be set anew at any time.
#[derive(Debug)]
pub struct Alarm {
    shared: Arc<Shared>,
    slot: u32,
    due: Nanos,
}

impl Alarm {
    /// Rings at this instant from now on.
    pub fn set(&mut self, due: Nanos) {
        self.due = due;
    }

    /// Over when the instant has come. Dropping the future loses nothing.
    pub async fn rings(&mut self) {
        poll_fn(|context| self.poll(context)).await;
    }

    /// Waits for one instant.
    pub async fn until(&mut self, due: Nanos) {
        self.set(due);
        self.rings().await;
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        if self.shared.clock.now() >= self.due {
            return Poll::Ready(());
        }
        self.shared.wait(self.slot, self.due, context.waker());
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.forget(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wheel of 1 ms is half a millisecond late on average, in every round. A busy machine may
    /// be later than that, but not in all of a thousand rounds.
    #[tokio::test]
    async fn it_is_finer_than_a_millisecond() {
        let pacer = Pacer::start(Clock::start()).unwrap();
        let (clock, mut alarm) = (pacer.clock(), pacer.alarm());
        let mut best = NEVER;
        for _ in 0..1_000 {
            let mut late: Vec<Nanos> = Vec::new();
            for _ in 0..25 {
                let due = clock.now() + 237_000;
                alarm.until(due).await;
                late.push(clock.now() - due);
            }
            late.sort_unstable();
            best = best.min(late[late.len() / 2]);
            if best < 250_000 {
                return;
            }
        }
        panic!("the best median is {best} ns late");
    }

    #[tokio::test]
    async fn alarms_ring_in_order_and_may_be_set_anew() {
        let pacer = Pacer::start(Clock::start()).unwrap();
        let clock = pacer.clock();
        let (mut a, mut b) = (pacer.alarm(), pacer.alarm());
        let now = clock.now();
        a.set(now + 3_600_000_000_000);
        b.set(now + 2_000_000);
        tokio::select! {
            () = a.rings() => panic!("that is in an hour"),
            () = b.rings() => {}
        }
        a.set(now + 4_000_000);
        a.rings().await;
        assert!(clock.now() >= now + 4_000_000);
        drop(a);
        // The slot of a dropped alarm serves the next one.
        pacer.alarm().until(clock.now() + 1_000_000).await;
    }
}
