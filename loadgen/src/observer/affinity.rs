//! Affinity, judged from the flags of jobs alone: whether a session's next job went where the
//! node keeps the tail of the last one.

use lingua_scenarios::AffinityRule;

use super::{Assigned, Observer};
use crate::pacer::Nanos;

const SECOND: Nanos = 1_000_000_000;
/// Speech that a node keeps of an automatic cut for the session's next job.
const TAIL_US: u64 = 1_500_000;
/// Misses that wait to be judged at once; beyond it they stay unclear.
const PENDING_MAX: usize = 100_000;

/// Why the scheduler ended an utterance, as far as the wire tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    IsFinal,
    Pause,
    Timeout,
    MaxDuration,
    MaxLength,
}

impl Reason {
    fn leaves_tail(self) -> bool {
        matches!(self, Self::Timeout | Self::MaxDuration)
    }
}

/// Where a session's next job belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    node: u32,
    generation: u32,
    pub(super) at: Nanos,
}

/// Speech that a node keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    node: u32,
    generation: u32,
    speech_us: u64,
}

/// A miss that is judged when it is known how things were a second later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Miss {
    bound: Bound,
    at: Nanos,
}

impl Observer {
    /// Takes note of a job's first attempt; tells whether its node keeps all of it for the next.
    pub(super) fn note_affinity(
        &mut self,
        session: usize,
        job: &Assigned<'_>,
        counted: bool,
    ) -> bool {
        let reason = self.reason(session, job);
        self.forget_unseen(session, job.index);
        self.meet_tail(session, job, counted);
        let rule = self.affinity_rule;
        let speaker = &mut self.speakers[session];
        let cleared =
            rule == AffinityRule::AsDocumented && matches!(reason, Reason::IsFinal | Reason::Pause);
        if cleared {
            speaker.bound = None;
        }
        let alive = |bound: &Bound| job.at < bound.at + self.affinity_life;
        let bound = speaker.bound.filter(alive);
        if reason != Reason::MaxLength {
            let generation = self.nodes[job.node as usize].generation;
            let here = Bound { node: job.node, generation, at: job.at };
            speaker.bound = reason.leaves_tail().then_some(here);
        }
        if let Some(bound) = bound.filter(|_| counted) {
            self.affinity.expected += 1;
            let there = &self.nodes[bound.node as usize];
            if bound.node == job.node && there.generation == bound.generation {
                self.affinity.kept += 1;
            } else if self.misses.len() < PENDING_MAX {
                self.misses.push_back(Miss { bound, at: job.at });
            } else {
                self.fell_back("unclear");
            }
        }
        let buffered = reason.leaves_tail() && job.span.audio_us <= TAIL_US;
        if reason.leaves_tail() {
            let generation = self.nodes[job.node as usize].generation;
            let speech_us = job.span.audio_us.min(TAIL_US);
            let tail = Tail { node: job.node, generation, speech_us };
            self.speakers[session].tail = Some(tail);
        }
        buffered
    }

    /// Jobs between the last one and this went to nodes of other shards: what came of them is not
    /// known.
    fn forget_unseen(&mut self, session: usize, index: u64) {
        let speaker = &mut self.speakers[session];
        let before = speaker.last_job.replace(index);
        if self.shard.is_part() && before.is_none_or(|before| before + 1 != index) {
            (speaker.bound, speaker.tail) = (None, None);
        }
    }

    /// The wire has one flag for a pause and for a time-out; how long nothing was said tells them
    /// apart.
    fn reason(&self, session: usize, job: &Assigned<'_>) -> Reason {
        let silence = job.at.saturating_sub(self.speakers[session].last_sent);
        match job {
            Assigned { manual: true, .. } => Reason::IsFinal,
            Assigned { duration: true, .. } => Reason::MaxDuration,
            Assigned { timeout: true, .. } if silence >= self.timeout => Reason::Timeout,
            Assigned { timeout: true, .. } => Reason::Pause,
            _ => Reason::MaxLength,
        }
    }

    /// The tail of the session's last cut is needed now: it is here, or it is lost.
    fn meet_tail(&mut self, session: usize, job: &Assigned<'_>, counted: bool) {
        let Some(tail) = self.speakers[session].tail.take() else { return };
        let here =
            tail.node == job.node && tail.generation == self.nodes[tail.node as usize].generation;
        if !here && counted {
            self.lose_tail(tail);
        }
    }

    pub(super) fn lose_tail(&mut self, tail: Tail) {
        self.broken_segments.count += 1;
        self.broken_segments.lost_speech_s += tail.speech_us as f64 / 1e6;
    }

    pub(super) fn fell_back(&mut self, cause: &str) {
        *self.affinity.fallback.entry(cause.to_owned()).or_default() += 1;
    }

    /// Judges the misses whose second is over; all of them at the end.
    pub(crate) fn judge_misses(&mut self, now: Nanos) {
        while let Some(&Miss { bound, at }) = self.misses.front() {
            if at + SECOND > now {
                return;
            }
            self.misses.pop_front();
            let node = &self.nodes[bound.node as usize];
            let from = at.saturating_sub(SECOND);
            let there = node.connected && node.generation == bound.generation;
            if !there {
                self.fell_back("offline");
            } else if node.was_full_since(from) {
                self.fell_back("full");
            } else if node.since_connected > from || at + SECOND > bound.at + self.affinity_life {
                self.fell_back("unclear");
            } else {
                self.affinity.violated += 1;
            }
        }
    }
}
