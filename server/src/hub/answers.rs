//! Open requests: their audio, the job that works on them, the answer until its turn comes.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use lingua_core::instance::{Answer, AnswerOutcome, Assign, Input, JobId, Opened};
use lingua_core::{Micros, NodeNum, NodeRef, Pair, RequestId, SessionId};
use lingua_protocol::{ErrorCode, TraceId, UiEvent, UiEventKind, UiStatus};

use crate::event::{NodeAnswer, NodePartial, Outgoing, Utterance};
use crate::hub::Hub;
use crate::instances::{Parcel, ToInstance};
use crate::wire::{self, text};

#[derive(Debug, Default)]
pub(super) struct Answers {
    requests: HashMap<RequestId, Open>,
    jobs: HashMap<JobId, RequestId>,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) pair: Pair,
    pub(super) utterance: Arc<Utterance>,
    opened: Micros,
    pub(super) receivers: Receivers,
    // Whether it is the utterance's first language: its first texts are the ones shown.
    first: bool,
    pub(super) job: Option<Assigned>,
    pub(super) events: Vec<Utf8Bytes>,
    pub(super) translation: Option<String>,
    // What the last node that failed said.
    pub(super) error: Option<ErrorCode>,
}

/// Who hears how a request ended. The speaker sees its progress in either case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Receivers {
    /// Whoever spoke.
    Speaker,
    /// Those members of the speaker's room, while they are in it.
    Room(u32, Vec<SessionId>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Assigned {
    pub(super) job: JobId,
    attempt: u32,
    node: NodeNum,
    // Its result is here and waits for its turn.
    answered: bool,
}

impl Answers {
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// The pair of every job that a node has.
    pub(super) fn running(&self) -> impl Iterator<Item = Pair> + '_ {
        self.requests.values().filter(|open| open.job.is_some()).map(|open| open.pair)
    }

    pub(super) fn open(
        &mut self,
        opened: &Opened,
        utterance: Arc<Utterance>,
        receivers: Receivers,
        now: Micros,
    ) {
        let open = Open {
            pair: opened.needs.pair,
            utterance,
            opened: now,
            receivers,
            first: opened.first,
            job: None,
            events: Vec::new(),
            translation: None,
            error: None,
        };
        self.requests.insert(opened.request, open);
    }

    /// Takes out a request that has ended.
    pub(super) fn end(&mut self, request: &RequestId) -> Option<Open> {
        let open = self.requests.remove(request)?;
        if let Some(job) = open.job {
            self.jobs.remove(&job.job);
        }
        Some(open)
    }

    /// The trace of an open request.
    pub(super) fn trace(&self, request: &RequestId) -> Option<TraceId> {
        self.requests.get(request).map(|open| open.utterance.choices.trace.clone())
    }

    /// The open request that an answer belongs to: that of the current attempt, from the node that
    /// has it, about what it was given. The first one counts.
    pub(super) fn accept(
        &mut self,
        job: JobId,
        attempt: u32,
        node: NodeNum,
        (session, index): (SessionId, u32),
    ) -> Option<&mut Open> {
        let request = self.jobs.get(&job).copied()?;
        let open = self.requests.get_mut(&request)?;
        let assigned = open.job.as_mut()?;
        let current = !assigned.answered
            && assigned.job == job
            && assigned.attempt == attempt
            && assigned.node == node
            && wire::plain(request.session) == session
            && request.index == index;
        assigned.answered |= current;
        current.then_some(open)
    }

    /// Notes which attempt works on a request from here on.
    pub(super) fn assigned(&mut self, assign: &Assign) -> Option<&Open> {
        let open = self.requests.get_mut(&assign.request)?;
        let node = assign.node.num;
        let (job, attempt) = (assign.job, assign.attempt);
        open.job = Some(Assigned { job, attempt, node, answered: false });
        self.jobs.insert(assign.job, assign.request);
        Some(open)
    }
}

impl Hub {
    pub(super) fn tell_dispatched(&self, assign: &Assign, trace: &TraceId) {
        let request = assign.request;
        let open = self.answers.requests.get(&request);
        let since = open.map(|open| (self.clock.now() - open.opened).0 / 1_000);
        let event = UiEvent {
            trace_id: trace.clone(),
            session_id: wire::session_id(request.session),
            job_id: Some(wire::job_id(assign.job)),
            utterance_index: request.index.into(),
            event: UiEventKind::Dispatched,
            elapsed_ms: since,
            status: UiStatus::Ok,
            error_code: None,
            hint: None,
        };
        self.sessions.send(request.session, Outgoing::Text(text!(ToSession, event)));
    }

    /// A node has answered.
    pub(super) fn take_answer(&mut self, answer: NodeAnswer) {
        if self.abroad.as_ref().is_some_and(|abroad| abroad.is_guest(answer.job)) {
            self.take_guest_answer(answer);
            return;
        }
        let Some(node) = self.nodes.of_socket(answer.socket) else { return };
        let about = (answer.session, answer.index);
        let open = self.answers.accept(answer.job, answer.attempt, node.num, about);
        match open {
            Some(open) => {
                open.events = answer.events;
                open.translation = answer.translation;
                open.error = answer.error;
            }
            None => self.refuse_result(node, answer.job, answer.attempt),
        }
        // The instance frees the slot of whatever attempt the node has done with.
        let NodeAnswer { job, attempt, outcome, .. } = answer;
        self.handle(Input::Answer(node, Answer { job, attempt, outcome }));
        self.heard_outcome(node, outcome);
    }

    pub(super) fn heard_outcome(&mut self, node: NodeRef, outcome: AnswerOutcome) {
        if let AnswerOutcome::ModelNotAvailable(_) = outcome {
            self.lacks_model(node);
        }
    }

    /// A first text goes on at once, if its node has the job.
    pub(super) fn relay_partial(&mut self, partial: NodePartial) {
        let NodePartial { socket, job, session, index, messages } = partial;
        let Some(node) = self.nodes.of_socket(socket) else { return };
        match &self.abroad {
            Some(abroad) if abroad.is_guest(job) => {
                if abroad.has_guest(job, None, node.num, (session, index)) {
                    let partial = Parcel::Partial { job, session, index, messages };
                    abroad.send(job.origin, ToInstance::Parcel(partial));
                }
            }
            _ => self.pass_on_partial(job, node.num, (session, index), messages),
        }
    }

    pub(super) fn pass_on_partial(
        &mut self,
        job: JobId,
        node: NodeNum,
        (session, index): (SessionId, u32),
        messages: [Utf8Bytes; 2],
    ) {
        let Some(request) = self.answers.jobs.get(&job) else { return };
        let open = self.answers.requests.get(request).filter(|open| open.first);
        let assigned = open.and_then(|open| open.job);
        let current = assigned.is_some_and(|assigned| assigned.job == job && assigned.node == node);
        if current && wire::plain(request.session) == session && request.index == index {
            for message in messages {
                self.sessions.send(session, Outgoing::Text(message));
            }
        }
    }
}
