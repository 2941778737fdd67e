//! Jobs in the slots of the nodes.

use lingua_core::instance::{Assign, JobId};
use lingua_core::{Micros, Pair, RequestId};
use serde::Serialize;

use super::sink::{Arrow, Nanos, Sink, Slice, Track};
use super::{arrow, session_number};

/// A job at a node.
struct Job {
    // The world's number for it, unique at the node.
    work: u32,
    id: JobId,
    pair: Pair,
    request: RequestId,
    attempt: u32,
    came: Micros,
    // Since when it runs, and in which slot.
    runs: Option<(Micros, usize)>,
}

#[derive(Serialize)]
struct JobArgs {
    session: String,
    index: u32,
    attempt: u32,
    ending: &'static str,
    queued_us: u64,
}

#[derive(Serialize)]
struct Excess {
    jobs: u32,
}

/// A node: its instants, its slots and what runs in them.
pub(super) struct NodeTracks {
    state: Track,
    slots: Vec<Track>,
    // Whether each slot is taken.
    taken: Vec<bool>,
    jobs: Vec<Job>,
    excess: u32,
}

impl NodeTracks {
    pub(super) fn new(sink: &mut Sink, name: &str) -> Self {
        let state = sink.process(name, "state");
        Self { state, slots: Vec::new(), taken: Vec::new(), jobs: Vec::new(), excess: 0 }
    }

    pub(super) fn instant(&self, sink: &mut Sink, now: Micros, what: &str) {
        sink.instant(self.state, &what, now.into());
    }

    pub(super) fn job_comes(&mut self, now: Micros, assign: &Assign, work: u32) {
        self.jobs.push(Job {
            work,
            id: assign.job,
            pair: assign.needs.pair,
            request: assign.request,
            attempt: assign.attempt,
            came: now,
            runs: None,
        });
    }

    /// Takes the lowest free slot; slots get their track when they are first used.
    pub(super) fn job_starts(&mut self, sink: &mut Sink, now: Micros, work: u32) {
        let Some(job) = self.jobs.iter_mut().find(|job| job.work == work) else { return };
        let slot = self.taken.iter().position(|&taken| !taken).unwrap_or(self.taken.len());
        if slot == self.taken.len() {
            self.taken.push(false);
            self.slots.push(sink.thread(self.state.process, &format!("slot {slot}")));
        }
        self.taken[slot] = true;
        job.runs = Some((now, slot));
    }

    pub(super) fn job_ends(
        &mut self,
        sink: &mut Sink,
        now: Micros,
        work: u32,
        ending: &'static str,
    ) {
        if let Some(at) = self.jobs.iter().position(|job| job.work == work) {
            let job = self.jobs.remove(at);
            self.write(sink, now, &job, ending);
        }
    }

    /// All jobs at the node end, those that only queued there without a trace.
    pub(super) fn all_end(&mut self, sink: &mut Sink, now: Micros, ending: &'static str) {
        for job in std::mem::take(&mut self.jobs) {
            self.write(sink, now, &job, ending);
        }
    }

    fn write(&mut self, sink: &mut Sink, now: Micros, job: &Job, ending: &'static str) {
        let Some((since, slot)) = job.runs else { return };
        self.taken[slot] = false;
        sink.slice(Slice {
            track: self.slots[slot],
            name: &job.pair,
            from: since.into(),
            to: now.into(),
            arrow: Some(Arrow::To(arrow(job.id, job.attempt))),
            args: Some(JobArgs {
                session: session_number(job.request.session),
                index: job.request.index,
                attempt: job.attempt,
                ending,
                queued_us: (since - job.came).0,
            }),
        });
    }

    /// The node has so many jobs above max_jobs.
    pub(super) fn oversold(&mut self, sink: &mut Sink, now: Micros, excess: u32) {
        if std::mem::replace(&mut self.excess, excess) != excess {
            sink.counter(self.state, "oversold", Nanos::from(now), Excess { jobs: excess });
        }
    }
}
