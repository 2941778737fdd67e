//! Deadlines. Each kind has one span, so its deadlines come in order: a queue per kind, no heap.
//!
//! Sessions and nodes move their deadlines all the time; each has one entry in a heap that is put
//! back when it turns out to be early.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::instance::slab::Key;
use crate::instance::{Cx, Instance, JobId};
use crate::{Micros, NodeRef};

#[derive(Debug, Default)]
pub(super) struct Timers {
    /// An attempt must be answered.
    pub(super) attempts: VecDeque<(Micros, (Key, u32))>,
    /// A node must acknowledge an attempt.
    pub(super) acks: VecDeque<(Micros, (NodeRef, JobId, u32))>,
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
    /// Silence ends an utterance. An entry may be early: see [`Instance::next_silence`].
    pub(super) silences: BinaryHeap<Reverse<(Micros, Key)>>,
    /// A node has not been heard of.
    pub(super) presences: BinaryHeap<Reverse<(Micros, NodeRef)>>,
}

impl Instance {
    pub(super) fn next_timer(&mut self) -> Micros {
        let silence = self.next_silence();
        loop {
            let timers = &self.timers;
            let attempts = front(&timers.attempts);
            let deadlines = front(&timers.deadlines);
            let waits = front(&timers.waits);
            let store = front(&timers.store);
            let of_jobs = attempts.min(deadlines).min(waits).min(store).min(front(&timers.acks));
            let others = front(&timers.rejoins)
                .min(top(&timers.hangovers))
                .min(silence)
                .min(top(&timers.presences));
            if others <= of_jobs || !self.skip_settled() {
                return others.min(of_jobs);
            }
        }
    }

    /// Drops entries at the fronts whose job or step is over: nobody is woken for them. Tells
    /// whether there were any.
    fn skip_settled(&mut self) -> bool {
        let Self { jobs, links, timers, fleet, .. } = self;
        let running = |key, attempt| jobs.get(key).is_some_and(|job| job.is_running(attempt));
        let waiting = |key| jobs.get(key).is_some_and(|job| job.is_waiting());
        let unacked = |(node, job, attempt)| fleet.awaits_ack(node, job, attempt);
        pop_while(&mut timers.attempts, |(key, attempt)| !running(key, attempt))
            | pop_while(&mut timers.deadlines, |key| jobs.get(key).is_none())
            | pop_while(&mut timers.waits, |key| !waiting(key))
            | pop_while(&mut timers.acks, |entry| !unacked(entry))
            | pop_while(&mut timers.store, |key| !links.is_pending(key))
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
        while let Some((key, attempt)) = due(&mut self.timers.attempts, now) {
            self.attempt_is_late(cx, key, attempt);
        }
        while let Some((node, job, attempt)) = due(&mut self.timers.acks, now) {
            self.ack_is_late(cx, node, job, attempt);
        }
        while let Some(key) = due(&mut self.timers.deadlines, now) {
            self.deadline_came(cx, key);
        }
    }
}

fn front<T>(queue: &VecDeque<(Micros, T)>) -> Micros {
    queue.front().map_or(Micros::NEVER, |&(at, _)| at)
}

fn top<T: Ord>(heap: &BinaryHeap<Reverse<(Micros, T)>>) -> Micros {
    heap.peek().map_or(Micros::NEVER, |&Reverse((at, _))| at)
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

/// Drops entries from the front while they are settled; tells whether there were any.
fn pop_while<T: Copy>(queue: &mut VecDeque<(Micros, T)>, settled: impl Fn(T) -> bool) -> bool {
    let before = queue.len();
    while queue.front().is_some_and(|&(_, entry)| settled(entry)) {
        queue.pop_front();
    }
    queue.len() < before
}
