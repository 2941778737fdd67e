//! Deadlines. Each kind has one span, so its deadlines come in order: a queue per kind, no heap.
//!
//! Sessions and nodes move their deadlines all the time; each has one entry in a heap that is put
//! back when it turns out to be early.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::instance::slab::Key;
use crate::instance::{Cx, Instance};
use crate::{Micros, NodeRef};

#[derive(Debug, Default)]
pub(super) struct Timers {
    /// An attempt must be answered.
    pub(super) attempts: VecDeque<(Micros, Key, u32)>,
    /// A request must have its final message.
    pub(super) deadlines: VecDeque<(Micros, Key)>,
    /// A waiting job gives up.
    pub(super) waits: VecDeque<(Micros, Key)>,
    /// A lost node does not come back.
    pub(super) rejoins: VecDeque<(Micros, NodeRef)>,
    /// The store must reply.
    pub(super) store: VecDeque<(Micros, Key)>,
    /// A hangover ends.
    pub(super) hangovers: BinaryHeap<Reverse<(Micros, Key)>>,
    /// Silence ends an utterance.
    pub(super) silences: BinaryHeap<Reverse<(Micros, Key)>>,
    /// A node has not been heard of.
    pub(super) presences: BinaryHeap<Reverse<(Micros, NodeRef)>>,
}

impl Instance {
    pub(super) fn next_timer(&mut self) -> Micros {
        self.skip_settled();
        let timers = &self.timers;
        let heap_top = |top: Option<&Reverse<(Micros, Key)>>| top.map(|&Reverse((at, _))| at);
        [
            timers.attempts.front().map(|&(at, ..)| at),
            timers.deadlines.front().map(|&(at, _)| at),
            timers.waits.front().map(|&(at, _)| at),
            timers.rejoins.front().map(|&(at, _)| at),
            timers.store.front().map(|&(at, _)| at),
            heap_top(timers.hangovers.peek()),
            heap_top(timers.silences.peek()),
            timers.presences.peek().map(|&Reverse((at, _))| at),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(Micros::NEVER)
    }

    /// Drops entries at the fronts whose job or step is over: nobody is woken for them.
    fn skip_settled(&mut self) {
        let jobs = &self.jobs;
        while let Some(&(_, key, attempt)) = self.timers.attempts.front() {
            if jobs.get(key).is_some_and(|job| job.is_running(attempt)) {
                break;
            }
            self.timers.attempts.pop_front();
        }
        pop_while(&mut self.timers.deadlines, |key| jobs.get(key).is_none());
        pop_while(&mut self.timers.waits, |key| !jobs.get(key).is_some_and(|job| job.is_waiting()));
        let links = &self.links;
        pop_while(&mut self.timers.store, |key| !links.is_pending(key));
    }

    pub(super) fn tick(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        while let Some(key) = due_heap(&mut self.timers.silences, now) {
            self.end_silence(cx, key);
        }
        while let Some(key) = due_heap(&mut self.timers.hangovers, now) {
            self.end_hangover(cx, key);
        }
        while let Some(node) = due_heap(&mut self.timers.presences, now) {
            self.check_presence(cx, node);
        }
        while let Some(node) = due(&mut self.timers.rejoins, now) {
            self.give_up_rejoin(cx, node);
        }
        while let Some(key) = due(&mut self.timers.store, now) {
            self.store_is_late(cx, key);
        }
        while let Some(key) = due(&mut self.timers.waits, now) {
            self.give_up_wait(cx, key);
        }
        while let Some(&(at, key, attempt)) = self.timers.attempts.front() {
            if at > now {
                break;
            }
            self.timers.attempts.pop_front();
            self.attempt_is_late(cx, key, attempt);
        }
        while let Some(key) = due(&mut self.timers.deadlines, now) {
            self.deadline_came(cx, key);
        }
    }
}

fn due<T: Copy>(queue: &mut VecDeque<(Micros, T)>, now: Micros) -> Option<T> {
    match queue.front() {
        Some(&(at, entry)) if at <= now => {
            queue.pop_front();
            Some(entry)
        }
        _ => None,
    }
}

fn due_heap<T: Copy + Ord>(heap: &mut BinaryHeap<Reverse<(Micros, T)>>, now: Micros) -> Option<T> {
    match heap.peek() {
        Some(&Reverse((at, entry))) if at <= now => {
            heap.pop();
            Some(entry)
        }
        _ => None,
    }
}

fn pop_while(queue: &mut VecDeque<(Micros, Key)>, settled: impl Fn(Key) -> bool) {
    while queue.front().is_some_and(|&(_, key)| settled(key)) {
        queue.pop_front();
    }
}
