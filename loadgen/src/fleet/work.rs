//! The jobs at a node: those it works on, and those that wait because it was given too many.

use std::collections::VecDeque;

use crate::pacer::{NEVER, Nanos};

/// Jobs that a node holds at most; beyond it they are refused unheard.
const HELD_MAX: usize = 10_000;

/// A job and all that its answer needs.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) job_id: Box<str>,
    pub(super) attempt: u32,
    pub(super) session_id: Box<str>,
    pub(super) index: u64,
    pub(super) trace_id: Box<str>,
    pub(super) tgt: Box<str>,
    pub(super) session: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    /// Kept for the session's next job, and not answered.
    pub(super) buffered: bool,
    /// The node has not got the model that it needs.
    pub(super) lacks_model: bool,
    /// How long it takes.
    pub(super) work: Nanos,
}

/// A node's jobs.
#[derive(Debug)]
pub(super) struct Desk {
    slots: usize,
    // Few, so that the earliest is found by looking at all.
    running: Vec<(Nanos, Job)>,
    queued: VecDeque<Job>,
}

impl Desk {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots: slots as usize, running: Vec::new(), queued: VecDeque::new() }
    }

    /// Jobs that it works on at once.
    pub(super) fn slots(&self) -> u32 {
        self.slots as u32
    }

    /// From now on it works on so many at once; what it has begun it ends.
    pub(super) fn set_slots(&mut self, slots: u32, now: Nanos) {
        self.slots = slots as usize;
        self.work_on(now);
    }

    /// Jobs it has and has not answered.
    pub(super) fn held(&self) -> u32 {
        (self.running.len() + self.queued.len()) as u32
    }

    /// Takes a job; tells whether there was room on the desk.
    pub(super) fn take(&mut self, job: Job, now: Nanos) -> bool {
        if self.held() as usize >= HELD_MAX {
            return false;
        }
        self.queued.push_back(job);
        self.work_on(now);
        true
    }

    fn work_on(&mut self, now: Nanos) {
        while self.running.len() < self.slots {
            let Some(job) = self.queued.pop_front() else { break };
            self.running.push((now.saturating_add(job.work), job));
        }
    }

    /// When the next job is done.
    pub(super) fn due(&self) -> Nanos {
        self.running.iter().map(|(done, _)| *done).min().unwrap_or(NEVER)
    }

    /// A job that is done by now; the next in the queue has begun when this one was done.
    pub(super) fn done(&mut self, now: Nanos) -> Option<Job> {
        let at = self.running.iter().position(|(done, _)| *done <= now)?;
        let (done, job) = self.running.swap_remove(at);
        self.work_on(done);
        Some(job)
    }

    /// A job that is no longer wanted.
    pub(super) fn cancel(&mut self, job_id: &str, now: Nanos) -> bool {
        let before = self.held();
        self.running.retain(|(_, job)| &*job.job_id != job_id);
        self.queued.retain(|job| &*job.job_id != job_id);
        self.work_on(now);
        self.held() < before
    }

    pub(super) fn clear(&mut self) {
        self.running.clear();
        self.queued.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, work: Nanos) -> Job {
        Job {
            job_id: id.into(),
            attempt: 1,
            session_id: "s".into(),
            index: 0,
            trace_id: "t".into(),
            tgt: "en".into(),
            session: 0,
            first: 0,
            last: 0,
            buffered: false,
            lacks_model: false,
            work,
        }
    }

    #[test]
    fn no_more_are_worked_on_than_there_are_slots() {
        let mut desk = Desk::new(2);
        for (id, work) in [("a", 30), ("b", 10), ("c", 5)] {
            assert!(desk.take(job(id, work), 100));
        }
        assert_eq!((desk.held(), desk.due()), (3, 110));
        assert!(desk.done(109).is_none());
        assert_eq!(&*desk.done(112).unwrap().job_id, "b");
        // It began when `b` was done, however late that was noticed.
        assert_eq!(desk.due(), 115);
        assert!(desk.cancel("c", 113) && !desk.cancel("c", 113));
        assert_eq!((desk.held(), desk.due()), (1, 130));
    }
}
