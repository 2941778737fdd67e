//! How attempts and jobs end: answers, losses, second tries, waiting in vain.

use crate::finalize::Reason;
use crate::instance::jobs::{Job, Phase, key_of};
use crate::instance::link::Then;
use crate::instance::slab::Key;
use crate::instance::{
    Answer, AnswerOutcome, Cx, Ending, Failure, Final, Instance, Output, Refused, Routed, WhenFull,
};
use crate::{Grant, Micros, NodeNum, NodeRef, Op, Release};

/// Attempts made anew after a node was lost or late.
const SECOND_TRIES_MAX: u8 = 1;

impl Instance {
    /// A node of any instance has answered a job of this one.
    pub(super) fn answered(&mut self, cx: &mut Cx<'_>, node: NodeRef, answer: Answer) {
        let key = key_of(answer.job);
        let current = self.jobs.get(key).filter(|job| {
            job.is_running(answer.attempt)
                && job.grant.is_some_and(|grant| grant.node.num == node.num)
        });
        let Some(job) = current else {
            self.counters.stale_answers += 1;
            return;
        };
        match answer.outcome {
            AnswerOutcome::Result => {
                if let Some(session) = job.session {
                    self.merge_buffered(cx, session, key, node.num);
                }
                self.finish(cx, key, Ending::Answered);
            }
            AnswerOutcome::Silence => self.finish(cx, key, Ending::Silence),
            AnswerOutcome::Error => self.finish(cx, key, Ending::Failed(Failure::NodeError)),
            AnswerOutcome::ModelNotAvailable(model) => {
                self.counters.model_losses += 1;
                self.step(cx, Op::ModelLost(node, model), Then::Rest);
                let window = self.config.model_window;
                self.step(cx, Op::Debounce(model, window), Then::Refresh(model));
                self.try_again(cx, key, Failure::ModelNotAvailable);
            }
        }
    }

    /// The node of an attempt is lost.
    pub(super) fn attempt_lost(&mut self, cx: &mut Cx<'_>, key: Key, attempt: u32) {
        if self.jobs.get(key).is_some_and(|job| job.is_running(attempt)) {
            self.try_again(cx, key, Failure::NodeLost);
        }
    }

    /// An attempt was not answered in time.
    pub(super) fn attempt_is_late(&mut self, cx: &mut Cx<'_>, key: Key, attempt: u32) {
        let late = self.jobs.get(key).filter(|job| job.is_running(attempt));
        let Some(grant) = late.and_then(|job| job.grant) else { return };
        self.cancel(cx, key, grant);
        self.try_again(cx, key, Failure::JobTimeout);
    }

    /// One further attempt on another node; the store fences the former one.
    fn try_again(&mut self, cx: &mut Cx<'_>, key: Key, failure: Failure) {
        let Some(job) = self.jobs.get_mut(key) else { return };
        if job.second_tries >= SECOND_TRIES_MAX {
            self.finish(cx, key, Ending::Failed(failure));
            return;
        }
        job.second_tries += 1;
        job.lost_by = Some(failure);
        if let Some(grant) = job.grant {
            job.excluded.push(grant.node.num);
        }
        self.counters.redispatched += 1;
        self.exclude_seen(key);
        self.attempt(cx, key, None);
    }

    pub(super) fn deadline_came(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(job) = self.jobs.get(key) else { return };
        if let Some(grant) = job.held() {
            self.cancel(cx, key, grant);
        }
        self.finish(cx, key, Ending::TimedOut);
    }

    pub(super) fn store_is_down(&mut self, cx: &mut Cx<'_>, key: Key, attempt: u32) {
        if self.jobs.get(key).is_some_and(|job| job.attempt == attempt) {
            self.finish(cx, key, Ending::Failed(Failure::DependencyDown));
        }
    }

    fn cancel(&mut self, cx: &mut Cx<'_>, key: Key, grant: Grant) {
        let job = self.job_id(key);
        if grant.owner == self.config.id {
            cx.send(Output::Cancel(grant.node, job));
        } else {
            cx.send(Output::Route(grant.owner, Routed::Cancel(grant.node, job)));
        }
    }

    /// Ends a job: its slot is given back and its final message takes its turn.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, key: Key, ending: Ending) {
        self.start_next_language(cx, key);
        let Some(job) = self.jobs.remove(key) else { return };
        if job.is_waiting() {
            self.waiting.remove(&job.needs, key);
        }
        let last = Final { request: job.request, ending, sent: job.sent, waited: job.waited };
        match job.session {
            Some(session) => self.deliver(cx, session, key, last),
            None => cx.send(Output::Final(last)),
        }
        if let Some(Grant { node, lease, .. }) = job.held() {
            let (attempt, request) = (job.attempt, job.request);
            self.release(cx, Release { node, lease, attempt, request });
        }
    }

    pub(super) fn wait(&mut self, cx: &mut Cx<'_>, key: Key) {
        let WhenFull::Wait { max_wait, max_waiting } = self.config.when_full else { return };
        if self.waiting.len() >= max_waiting {
            self.finish(cx, key, Ending::Refused(Refused::Wait));
            return;
        }
        let Some(job) = self.jobs.get_mut(key) else { return };
        if job.phase != Phase::Waiting && job.attempt <= 1 && max_wait != Micros::NEVER {
            self.timers.waits.push_back((cx.now + max_wait, key));
        }
        job.phase = Phase::Waiting;
        let needs = job.needs;
        self.waiting.push(needs, key);
    }

    /// Takes a job out of the waiting ones, to try a slot that may be free.
    pub(super) fn stop_waiting(&mut self, cx: &Cx<'_>, key: Key) {
        if let Some(job) = self.jobs.get_mut(key) {
            job.phase = Phase::Dispatching;
            job.waited = cx.now - job.waits_since;
        }
    }

    pub(super) fn give_up_wait(&mut self, cx: &mut Cx<'_>, key: Key) {
        if self.jobs.get(key).is_some_and(Job::is_waiting) {
            self.finish(cx, key, Ending::Refused(Refused::Wait));
        }
    }

    /// Audio that a node kept is answered by a later job of the session at the same node. The gate
    /// counts on: whether the node still works on it, only the node can tell.
    fn merge_buffered(&mut self, cx: &mut Cx<'_>, session: Key, by: Key, node: NodeNum) {
        while let Some(earlier) = self.buffered_before(session, by, node) {
            self.counters.merged += 1;
            self.finish(cx, earlier, Ending::Merged);
        }
    }

    fn buffered_before(&self, session: Key, by: Key, node: NodeNum) -> Option<Key> {
        let index = self.jobs.get(by)?.request.index;
        let open = self.sessions.get(session)?.open_jobs();
        open.iter().copied().find(|&key| {
            self.jobs.get(key).is_some_and(|job| {
                job.request.index < index
                    && job.reason.is_some_and(Reason::leaves_tail)
                    && job.held().is_some_and(|grant| grant.node.num == node)
            })
        })
    }
}
