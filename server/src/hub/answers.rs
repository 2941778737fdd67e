//! Open requests: their audio, the job that works on them, the answer until its turn comes.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use lingua_core::instance::{Answer, AnswerOutcome, Assign, Ending, Failure, Final, Input, JobId};
use lingua_core::{Micros, NodeNum, Pair, RequestId};
use lingua_protocol::{
    ErrorCode, ErrorMessage, Json, MissingReason, MissingResult, Note, RefusedUtterance, TraceId,
    UiEvent, UiEventKind, UiStatus,
};

use crate::clock::unix_ms;
use crate::event::{NodeAnswer, NodePartial, Outgoing, UtteranceAudio};
use crate::hub::Hub;
use crate::wire::{self, text};

#[derive(Debug, Default)]
pub(super) struct Answers {
    requests: HashMap<RequestId, Open>,
    jobs: HashMap<JobId, RequestId>,
}

#[derive(Debug)]
struct Open {
    pair: Pair,
    audio: Arc<UtteranceAudio>,
    opened: Micros,
    job: Option<Assigned>,
    messages: Vec<Utf8Bytes>,
    // What the last node that failed said.
    error: Option<ErrorCode>,
}

#[derive(Debug, Clone, Copy)]
struct Assigned {
    job: JobId,
    attempt: u32,
    node: NodeNum,
}

impl Answers {
    pub(super) fn is_open(&self, request: &RequestId) -> bool {
        self.requests.contains_key(request)
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// The pair of every job that a node has.
    pub(super) fn running(&self) -> impl Iterator<Item = Pair> + '_ {
        self.requests.values().filter(|open| open.job.is_some()).map(|open| open.pair)
    }

    pub(super) fn open(
        &mut self,
        request: RequestId,
        pair: Pair,
        audio: Arc<UtteranceAudio>,
        now: Micros,
    ) {
        let open = Open { pair, audio, opened: now, job: None, messages: Vec::new(), error: None };
        self.requests.insert(request, open);
    }

    /// Notes which attempt works on a request from here on; gives its audio.
    pub(super) fn assigned(&mut self, assign: &Assign) -> Option<Arc<UtteranceAudio>> {
        let open = self.requests.get_mut(&assign.request)?;
        let node = assign.node.num;
        open.job = Some(Assigned { job: assign.job, attempt: assign.attempt, node });
        self.jobs.insert(assign.job, assign.request);
        Some(open.audio.clone())
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

    /// Only the current attempt's answer counts, from the node that has it, about what it was given.
    pub(super) fn take_answer(&mut self, answer: NodeAnswer) {
        let Some(node) = self.nodes.of_socket(answer.socket) else { return };
        let request = self.answers.jobs.get(&answer.job).copied();
        let open = request.and_then(|request| {
            let open = self.answers.requests.get_mut(&request)?;
            let assigned = open.job?;
            let current = assigned.job == answer.job
                && assigned.attempt == answer.attempt
                && assigned.node == node.num
                && wire::plain(request.session) == answer.session
                && request.index == answer.index;
            current.then_some(open)
        });
        match open {
            Some(open) => {
                open.messages = answer.messages;
                open.error = answer.error;
            }
            None => self.counts.stale_results += 1,
        }
        // The instance frees the slot of whatever attempt the node has done with.
        let NodeAnswer { job, attempt, outcome, .. } = answer;
        self.handle(Input::Answer(node, Answer { job, attempt, outcome }));
    }

    /// A first text goes on at once, if its node has the job.
    pub(super) fn relay_partial(&mut self, partial: NodePartial) {
        let NodePartial { socket, job, session, index, messages } = partial;
        let node = self.nodes.of_socket(socket);
        let Some(request) = self.answers.jobs.get(&job) else { return };
        let assigned = self.answers.requests.get(request).and_then(|open| open.job);
        let current = assigned.is_some_and(|assigned| {
            assigned.job == job && Some(assigned.node) == node.map(|node| node.num)
        });
        if current && wire::plain(request.session) == session && request.index == index {
            for message in messages {
                self.sessions.send(session, Outgoing::Text(message));
            }
        }
    }

    /// The final message of a request, in its turn.
    pub(super) fn finish(&mut self, last: &Final) {
        let request = last.request;
        let open = self.answers.requests.remove(&request);
        if let Some(job) = open.as_ref().and_then(|open| open.job) {
            self.answers.jobs.remove(&job.job);
        }
        let trace = self.sessions.trace(request.session).cloned();
        if let (Some(open), Some(trace)) = (open, trace) {
            for message in self.messages_of(last, open, trace) {
                self.sessions.send(request.session, Outgoing::Text(message));
            }
        }
        self.counts.ended(last.ending, self.clock.now() - last.sent);
        self.sessions.settle(request.session);
    }

    fn messages_of(&self, last: &Final, open: Open, trace: TraceId) -> Vec<Utf8Bytes> {
        let missing = |reason| {
            let missing = MissingResult {
                session_id: wire::session_id(last.request.session),
                utterance_index: last.request.index.into(),
                reason,
                created_at_ms: unix_ms(),
                trace_id: Some(trace.clone()),
            };
            vec![text!(ToSession, missing)]
        };
        let said = open.error.clone();
        match last.ending {
            Ending::Answered if open.messages.is_empty() => missing(MissingReason::SilenceDetected),
            Ending::Answered => open.messages,
            Ending::Silence => missing(MissingReason::SilenceDetected),
            Ending::Merged => missing(MissingReason::MergedIntoNext),
            Ending::TimedOut => missing(MissingReason::GapTimeout),
            Ending::Refused(refused) => {
                let message = format!("no node for this utterance ({})", refused.name());
                failure(last, &open, trace, ErrorCode::NoAvailableNode, &message, true)
            }
            Ending::Failed(failed) => {
                let code = match failed {
                    Failure::NodeLost => ErrorCode::NodeUnavailable,
                    Failure::JobTimeout => ErrorCode::JobTimeout,
                    Failure::NodeError => said.unwrap_or(ErrorCode::ProcessingError),
                    Failure::ModelNotAvailable => ErrorCode::ModelNotAvailable,
                    Failure::DependencyDown => ErrorCode::SchedulerDependencyDown,
                };
                let message = format!("the utterance was not translated ({})", failed.name());
                let retryable = failed != Failure::NodeError;
                failure(last, &open, trace, code, &message, retryable)
            }
        }
    }
}

/// The error that is an utterance's final message, and the event that shows it.
fn failure(
    last: &Final,
    open: &Open,
    trace: TraceId,
    code: ErrorCode,
    message: &str,
    retryable: bool,
) -> Vec<Utf8Bytes> {
    let utterance_index = last.request.index.into();
    let event = UiEvent {
        trace_id: trace,
        session_id: wire::session_id(last.request.session),
        job_id: open.job.map(|assigned| wire::job_id(assigned.job)),
        utterance_index,
        event: UiEventKind::Error,
        elapsed_ms: None,
        status: UiStatus::Error,
        error_code: Some(code.clone()),
        hint: Some(Note::cut("Say it again in a moment.")),
    };
    let details = RefusedUtterance { utterance_index, retryable };
    let message = Note::cut(message);
    let details = Json::of(&details).ok();
    vec![text!(ToSession, ErrorMessage { code, message, details }), text!(ToSession, event)]
}

/// What the core is told of a node's error code.
pub(crate) fn outcome_of(success: bool, empty: bool) -> AnswerOutcome {
    match (success, empty) {
        (true, false) => AnswerOutcome::Result,
        (true, true) => AnswerOutcome::Silence,
        (false, _) => AnswerOutcome::Error,
    }
}
