//! Memory touched before it is needed, for callers that know what comes and have many waiting.
//!
//! The numbers given back mean nothing: whoever uses them makes sure that it has been read.

use std::cmp::Reverse;

use crate::instance::jobs::key_of;
use crate::instance::sessions::Session;
use crate::instance::{Instance, JobId};
use crate::{Micros, RequestId};

/// The first three levels of a heap.
const LEAST: usize = 7;

impl Instance {
    /// Reads what the answer to a job will look at here, and tells which request the job is for.
    pub fn foresee(&self, job: JobId) -> Option<RequestId> {
        let job = self.jobs.get(key_of(job))?;
        let session = job.session.and_then(|session| self.sessions.get(session));
        std::hint::black_box(session.map(Session::foresee));
        Some(job.request)
    }

    /// Reads what hangovers will look at that end soon, few of them.
    pub fn foresee_hangovers(&self, until: Micros) -> u32 {
        // Nearly all of the least are there; one that is missed costs time and nothing else.
        let first = self.timers.hangovers.iter().take(LEAST);
        let soon = first.filter(|Reverse((at, _))| *at <= until);
        let sessions = soon.filter_map(|Reverse((_, key))| self.sessions.get(*key));
        sessions.fold(0, |read, session| read ^ session.foresee())
    }
}
