//! Memory touched before it is needed, for callers that know what comes and have many waiting.
//!
//! The numbers given back mean nothing: whoever uses them makes sure that it has been read.

use std::cmp::Reverse;

use crate::RequestId;
use crate::instance::jobs::key_of;
use crate::instance::sessions::Session;
use crate::instance::{Instance, JobId};

impl Instance {
    /// Reads what the answer to a job will look at here, and tells which request the job is for.
    pub fn foresee(&self, job: JobId) -> Option<RequestId> {
        let job = self.jobs.get(key_of(job))?;
        let session = job.session.and_then(|session| self.sessions.get(session));
        std::hint::black_box(session.map(Session::foresee));
        Some(job.request)
    }

    /// Reads what the next hangover to end will look at.
    pub fn foresee_tick(&self) -> u32 {
        let next = self.timers.hangovers.peek();
        let session = next.and_then(|&Reverse((_, key))| self.sessions.get(key));
        session.map_or(0, Session::foresee)
    }
}
