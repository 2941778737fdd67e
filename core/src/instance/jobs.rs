//! Jobs: from an utterance to the node that works on it.

use crate::affinity::AffinityStep;
use crate::finalize::Reason;
use crate::instance::link::Then;
use crate::instance::slab::Key;
use crate::instance::{
    Assign, Cx, Ending, Failure, Instance, JobId, Output, Refused, Request, Routed, WhenFull, Work,
};
use crate::select::{self, Choice};
use crate::{
    AffinityOutcome, Dispatch, Dispatched, Excluded, Grant, InstanceId, LeaseId, Micros, Needs,
    NodeNum, Op, Outcome, RecordAffinity, Refusal, Release, RequestId, Via,
};

/// Times a job may be held back at the owner of a node's socket.
const GATE_REFUSALS_MAX: u8 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A step at the store is under way.
    Dispatching,
    /// No slot yet.
    Waiting,
    /// At a node, or on its way there.
    Running,
}

#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: RequestId,
    pub(super) needs: Needs,
    pub(super) session: Option<Key>,
    pub(super) reason: Option<Reason>,
    speech: Micros,
    bytes: u64,
    pub(super) sent: Micros,
    deadline: Micros,
    // The first language of an utterance uses affinity.
    first_language: bool,
    admitted: bool,
    // The job of the utterance's next language: dispatched after this one, to another node.
    pub(super) next_language: Option<Key>,
    pub(super) phase: Phase,
    pub(super) attempt: u32,
    pub(super) grant: Option<Grant>,
    affinity: AffinityOutcome,
    pub(super) excluded: Excluded,
    pub(super) second_tries: u8,
    gate_refusals: u8,
    // Why an earlier attempt ended, if one did.
    pub(super) lost_by: Option<Failure>,
    pub(super) waits_since: Micros,
    pub(super) waited: Micros,
}

impl Job {
    pub(super) fn is_dispatching(&self, attempt: u32) -> bool {
        self.phase == Phase::Dispatching && self.attempt == attempt
    }

    pub(super) fn is_running(&self, attempt: u32) -> bool {
        self.phase == Phase::Running && self.attempt == attempt
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.phase == Phase::Waiting
    }

    pub(super) fn held(&self) -> Option<Grant> {
        if self.phase == Phase::Running { self.grant } else { None }
    }
}

/// What a new job is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewJob {
    pub(super) request: Request,
    pub(super) session: Option<Key>,
    pub(super) reason: Option<Reason>,
    pub(super) first_language: bool,
    /// Whether it is done at all: it was there before the drain.
    pub(super) admitted: bool,
}

impl Instance {
    /// A whole utterance without a session of this instance.
    pub(super) fn take_request(&mut self, cx: &mut Cx<'_>, request: Request) {
        let admitted = !self.draining;
        let new = NewJob { request, session: None, reason: None, first_language: true, admitted };
        let job = self.create_job(cx, new);
        self.start(cx, job);
    }

    pub(super) fn create_job(&mut self, cx: &Cx<'_>, new: NewJob) -> Key {
        let deadline = cx.now + self.config.deadline;
        let job = Job {
            request: new.request.id,
            needs: new.request.needs,
            session: new.session,
            reason: new.reason,
            speech: new.request.speech,
            bytes: new.request.bytes,
            sent: new.request.sent,
            deadline,
            first_language: new.first_language,
            admitted: new.admitted,
            next_language: None,
            phase: Phase::Dispatching,
            attempt: 0,
            grant: None,
            affinity: AffinityOutcome::None,
            excluded: Excluded::default(),
            second_tries: 0,
            gate_refusals: 0,
            lost_by: None,
            waits_since: cx.now,
            waited: Micros::ZERO,
        };
        let key = self.jobs.insert(job);
        self.timers.deadlines.push_back((deadline, key));
        key
    }

    /// A new job: newcomers queue behind those that wait for the same.
    pub(super) fn start(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(job) = self.jobs.get(key) else { return };
        if !job.admitted {
            self.finish(cx, key, Ending::Refused(Refused::Draining));
        } else if self.waiting.has(&job.needs) {
            self.wait(cx, key);
        } else {
            self.attempt(cx, key, None);
        }
    }

    /// Asks the store for a slot, at `preferred` first.
    pub(super) fn attempt(&mut self, cx: &mut Cx<'_>, key: Key, preferred: Option<NodeNum>) {
        let Some(job) = self.jobs.get(key) else { return };
        let attempt = job.attempt + 1;
        let words = cx.draws.words(job.request, attempt);
        let pinned = job.session.and_then(|session| self.pinned_shard(cx.now, session));
        let turn = self.turns.get(&job.needs.pair).copied().unwrap_or(0);
        let choice = Choice {
            needs: job.needs,
            excluded: &job.excluded,
            sample: self.config.sample,
            quirks: self.quirks(pinned),
            turn,
        };
        let chosen = select::choose(self.config.policy, self.view(&cx.store), &choice, &words);
        let uses_affinity = job.first_language
            && (self.config.pin_sessions
                || self.is_tied(job.session)
                    && (self.config.affinity_rule.only_next()
                        || job.reason.is_none_or(|reason| {
                            self.step_of(reason) != AffinityStep::ClearBefore
                        })));
        let dispatch = Dispatch {
            request: job.request,
            attempt,
            lease: LeaseId::new(self.config.id, self.next_lease),
            needs: job.needs,
            affinity: uses_affinity,
            preferred,
            excluded: job.excluded,
            candidates: chosen.candidates,
            scan: self.config.policy.scans().then(|| words.scan()),
            deadline: job.deadline,
        };
        self.next_lease += 1;
        if self.config.policy == select::Policy::RoundRobin {
            self.turns.insert(dispatch.needs.pair, turn.wrapping_add(1));
        }
        let Some(job) = self.jobs.get_mut(key) else { return };
        job.attempt = attempt;
        job.phase = Phase::Dispatching;
        let former = job.grant.take();
        cx.send(Output::Work(Work { looked_at: chosen.looked_at }));
        if self.config.cluster {
            self.walk(cx, key, dispatch, former);
            return;
        }
        let asked = (attempt, dispatch.request);
        self.step(cx, Op::Dispatch(dispatch), Then::Dispatched(key, asked));
    }

    fn step_of(&self, reason: Reason) -> AffinityStep {
        self.config.affinity_rule.step(reason)
    }

    /// The store has answered an attempt.
    pub(super) fn dispatched(
        &mut self,
        cx: &mut Cx<'_>,
        key: Key,
        (attempt, request): (u32, RequestId),
        dispatched: Dispatched,
    ) {
        let current = self.jobs.get_mut(key).filter(|job| job.attempt == attempt);
        let Some(job) = current else {
            // The job ended while its slot was asked for.
            if let Outcome::Granted(grant) = dispatched.outcome {
                self.give_back_late(cx, grant, attempt, request);
            }
            return;
        };
        job.affinity = dispatched.affinity;
        match dispatched.outcome {
            Outcome::Granted(grant) => self.granted(cx, key, grant),
            Outcome::Repeated(grant) => {
                self.counters.repeated_grants += 1;
                self.granted(cx, key, grant);
            }
            Outcome::Superseded => self.finish(cx, key, Ending::Failed(Failure::NodeLost)),
            Outcome::Refused(refusal) => self.refused(cx, key, refusal),
        }
    }

    fn granted(&mut self, cx: &mut Cx<'_>, key: Key, grant: Grant) {
        let Some(job) = self.jobs.get_mut(key) else { return };
        job.phase = Phase::Running;
        job.grant = Some(grant);
        let (request, session) = (job.request, job.session);
        if let Some(session) = session {
            self.note_seen(session, request.index, grant.node.num);
            self.pin_shard(cx, session, key, grant.node.num);
        }
        self.tie_session(cx, key, grant);
        self.start_next_language(cx, key);
        let Some(assign) = self.assign_of(key, grant) else { return };
        let late = cx.now + self.config.job_timeout;
        self.timers.attempts.push_back((late, (key, assign.attempt)));
        if grant.owner == self.config.id && grant.lease.instance() != self.config.id {
            // Another instance asked for this slot, so it is not confirmed yet.
            self.confirm(cx, assign);
        } else if grant.owner == self.config.id {
            if !self.send_to_node(cx, &assign) {
                self.held_back(cx, key, assign.attempt);
            }
        } else {
            cx.send(Output::Route(grant.owner, Routed::Assign(assign)));
        }
    }

    fn assign_of(&self, key: Key, grant: Grant) -> Option<Assign> {
        let job = self.jobs.get(key)?;
        Some(Assign {
            node: grant.node,
            job: self.job_id(key),
            attempt: job.attempt,
            lease: grant.lease,
            request: job.request,
            needs: job.needs,
            speech: job.speech,
            bytes: job.bytes,
            reason: job.reason,
            sent: job.sent,
            affinity: job.affinity,
            via: grant.via,
        })
    }

    /// Records the node of an utterance's first job, where its reason says so.
    fn tie_session(&mut self, cx: &mut Cx<'_>, key: Key, grant: Grant) {
        let Some(job) = self.jobs.get(key) else { return };
        let Some(reason) = job.reason.filter(|_| job.first_language) else { return };
        let ties = match self.step_of(reason) {
            AffinityStep::RecordAfter => true,
            AffinityStep::CarryOn => grant.via == Via::Affinity,
            AffinityStep::ClearBefore | AffinityStep::Keep => false,
        };
        if !ties || self.config.pin_sessions {
            return;
        }
        let only = self.config.affinity_rule.only_next().then_some(job.request.index + 1);
        let record = RecordAffinity {
            session: job.request.session,
            node: grant.node,
            life: self.config.affinity_life,
            only,
        };
        self.tie(cx, record);
    }

    pub(super) fn start_next_language(&mut self, cx: &mut Cx<'_>, key: Key) {
        let next = self.jobs.get_mut(key).and_then(|job| job.next_language.take());
        if let Some(next) = next {
            self.exclude_seen(next);
            self.start(cx, next);
        }
    }

    fn refused(&mut self, cx: &mut Cx<'_>, key: Key, refusal: Refusal) {
        self.start_next_language(cx, key);
        let Some(job) = self.jobs.get(key) else { return };
        if let WhenFull::Wait { .. } = self.config.when_full {
            self.wait(cx, key);
            return;
        }
        let ending = match job.lost_by {
            Some(failure) => Ending::Failed(failure),
            None => Ending::Refused(Refused::NoSlot(refusal)),
        };
        self.finish(cx, key, ending);
    }

    /// The owner of the node's socket did not let the job through.
    pub(super) fn held_back(&mut self, cx: &mut Cx<'_>, key: Key, attempt: u32) {
        let Some(job) = self.jobs.get_mut(key).filter(|job| job.is_running(attempt)) else {
            return;
        };
        let Some(grant) = job.grant.take() else { return };
        job.phase = Phase::Dispatching;
        job.gate_refusals += 1;
        job.excluded.push(grant.node.num);
        let give_up = job.gate_refusals > GATE_REFUSALS_MAX;
        let request = job.request;
        self.counters.gate_refused += 1;
        let release = Release { node: grant.node, lease: grant.lease, attempt, request };
        // The machine has no room, whatever the store says: no waiter is sent after this one.
        self.step(cx, Op::Release(release), Then::Rest);
        if give_up {
            self.finish(cx, key, Ending::Refused(Refused::Gate));
        } else {
            self.attempt(cx, key, None);
        }
    }

    pub(super) fn job_id(&self, key: Key) -> JobId {
        let origin: InstanceId = self.config.id;
        JobId { origin, slot: key.slot, version: key.version }
    }
}

pub(super) fn key_of(job: JobId) -> Key {
    Key { slot: job.slot, version: job.version }
}
