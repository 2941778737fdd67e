//! Jobs that wait for a slot: first come, first served, over all pairs of the node that is free.

use std::collections::VecDeque;

use crate::instance::slab::Key;
use crate::instance::{Cx, Instance};
use crate::{Needs, NodeNum};

/// Waiting jobs by what they need, each queue in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    // Few kinds of needs at a time, walked in order of their first arrival.
    queues: Vec<(Needs, VecDeque<(u64, Key)>)>,
    arrivals: u64,
    len: usize,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn has(&self, needs: &Needs) -> bool {
        self.len > 0 && self.queues.iter().any(|(n, queue)| n == needs && !queue.is_empty())
    }

    pub(super) fn push(&mut self, needs: Needs, key: Key) {
        self.arrivals += 1;
        self.len += 1;
        let entry = (self.arrivals, key);
        match self.queues.iter_mut().find(|(n, _)| *n == needs) {
            Some((_, queue)) => queue.push_back(entry),
            None => self.queues.push((needs, VecDeque::from([entry]))),
        }
    }

    /// Puts a job back to where it was.
    fn put_back(&mut self, needs: &Needs, entry: (u64, Key)) {
        if let Some((_, queue)) = self.queues.iter_mut().find(|(n, _)| n == needs) {
            queue.push_front(entry);
            self.len += 1;
        }
    }

    pub(super) fn remove(&mut self, needs: &Needs, key: Key) {
        if let Some((_, queue)) = self.queues.iter_mut().find(|(n, _)| n == needs)
            && let Some(at) = queue.iter().position(|&(_, k)| k == key)
        {
            queue.remove(at);
            self.len -= 1;
        }
    }

    /// The queue whose first job is the oldest that could be taken.
    fn oldest(&self, fits: impl Fn(&Needs) -> bool) -> Option<usize> {
        let fronts = self.queues.iter().enumerate().filter_map(|(at, (needs, queue))| {
            let &(arrival, _) = queue.front()?;
            fits(needs).then_some((arrival, at))
        });
        fronts.min().map(|(_, at)| at)
    }

    fn pop(&mut self, at: usize) -> Option<(Needs, (u64, Key))> {
        let (needs, queue) = &mut self.queues[at];
        let entry = queue.pop_front()?;
        self.len -= 1;
        Some((*needs, entry))
    }
}

impl Instance {
    /// A node may have room: the oldest job that it could take tries.
    pub(super) fn serve_waiters(&mut self, cx: &mut Cx<'_>, node: NodeNum) {
        if self.waiting.len() == 0 {
            return;
        }
        let directory = self.view(&cx.store).directory;
        let oldest = self.waiting.oldest(|needs| directory.fits(node, needs));
        let Some((needs, entry)) = oldest.and_then(|at| self.waiting.pop(at)) else { return };
        let key = entry.1;
        self.stop_waiting(cx, key);
        self.attempt(cx, key, Some(node));
        // Refused at once (embedded): it was put at the end of its queue; its place is the front.
        if self.jobs.get(key).is_some_and(|job| job.is_waiting()) {
            self.waiting.remove(&needs, key);
            self.waiting.put_back(&needs, entry);
        }
    }
}
