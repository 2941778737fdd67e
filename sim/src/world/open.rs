//! Jobs whose final message is owed.

use lingua_core::instance::Request;
use lingua_core::{LookupMap, Micros, RequestId, Words};

use crate::slab::Slab;

/// A job whose final message is owed.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenJob {
    pub(super) offered: Micros,
    pub(super) pair: u32,
    /// Uniform number that decides how long the first node works on it; negative: keyed by what was
    /// said.
    pub(super) work: f64,
    /// Whether a node has had it.
    pub(super) reached: bool,
    pub(super) words: Option<Words>,
    /// The instance that owes the answer; the job dies with it.
    pub(super) server: u16,
    pub(super) counted: bool,
    /// What its client asks again, once, if the instance dies.
    pub(super) again: Option<Request>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct OpenJobs {
    jobs: Slab<(RequestId, OpenJob)>,
    places: LookupMap<RequestId, u32>,
}

impl OpenJobs {
    /// Adds a job; tells whether it was new.
    pub(super) fn insert(&mut self, request: RequestId, job: OpenJob) -> bool {
        let place = self.jobs.insert((request, job));
        self.places.insert(request, place).is_none()
    }

    pub(super) fn get(&self, request: &RequestId) -> Option<&OpenJob> {
        let place = *self.places.get(request)?;
        self.jobs.get(place).map(|(_, job)| job)
    }

    /// A node has it; tells whether none had it before.
    pub(super) fn reach(&mut self, request: &RequestId) -> bool {
        let job = self.places.get(request).and_then(|&place| self.jobs.get_mut(place));
        job.is_some_and(|(_, job)| !std::mem::replace(&mut job.reached, true))
    }

    pub(super) fn remove(&mut self, request: &RequestId) -> Option<OpenJob> {
        let place = self.places.remove(request)?;
        self.jobs.remove(place).map(|(_, job)| job)
    }

    /// Takes out all jobs that an instance owes, in a fixed order.
    pub(super) fn take_of(&mut self, server: u16) -> Vec<(RequestId, OpenJob)> {
        let owed = self.jobs.iter().filter(|(_, (_, job))| job.server == server);
        let owed: Vec<_> = owed.map(|(_, &entry)| entry).collect();
        for (request, _) in &owed {
            self.remove(request);
        }
        owed
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(RequestId, OpenJob)> {
        self.jobs.iter().map(|(_, entry)| entry)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}
