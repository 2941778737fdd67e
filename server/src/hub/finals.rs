//! Final messages: one per utterance, language and receiver.

use std::collections::BTreeMap;

use axum::extract::ws::Utf8Bytes;
use lingua_core::SessionId;
use lingua_core::instance::{Ending, Failure, Final};
use lingua_protocol::{
    ErrorCode, ErrorMessage, Json, MissingReason, MissingResult, Note, RefusedUtterance, TraceId,
    UiEvent, UiEventKind, UiStatus,
};

use serde::Serialize;

use crate::clock::unix_ms;
use crate::event::Outgoing;
use crate::hub::Hub;
use crate::hub::answers::{Open, Receivers};
use crate::hub::groups::Part;
use crate::instances::{Parcel, ToInstance};
use crate::rooms::home;
use crate::wire::{self, text};

/// What is said of an utterance that has ended.
struct Said {
    // For the speaker, before the final message.
    progress: Vec<Utf8Bytes>,
    last: Utf8Bytes,
    // For the speaker, after it.
    failed: Option<Utf8Bytes>,
}

impl Hub {
    /// The final message of a request, in its turn.
    pub(super) fn finish(&mut self, last: &Final) {
        let speaker = last.request.session;
        let open = self.answers.end(&last.request);
        let now = self.clock.now();
        if let Some(mut open) = open {
            self.log.ended(now, last, &open);
            if matches!(last.ending, Ending::Refused(_)) {
                self.sessions.forget(&last.request);
            }
            let said = self.said(last, &mut open);
            for message in said.progress {
                self.sessions.send(speaker, Outgoing::Text(message));
            }
            match &open.receivers {
                Receivers::Speaker => self.sessions.send(speaker, Outgoing::Text(said.last)),
                Receivers::Room(room, listeners) => {
                    self.tell_listeners(*room, listeners, &said.last);
                }
            }
            if let Some(message) = said.failed {
                self.sessions.send(speaker, Outgoing::Text(message));
            }
        }
        self.counts.ended(last.ending, now - last.sent);
        self.sessions.settle(speaker);
    }

    /// Tells members of a room, wherever they are, if they are still there.
    fn tell_listeners(&self, room: u32, listeners: &[SessionId], message: &Utf8Bytes) {
        let mut elsewhere: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for &listener in listeners {
            if self.rooms.is_here(listener) {
                self.hand_result(room, listener, message.clone());
            } else {
                elsewhere.entry(home(listener)).or_default().push(listener);
            }
        }
        let Some(abroad) = &self.abroad else { return };
        for (to, sessions) in elsewhere {
            for sessions in sessions.chunks(Parcel::SESSIONS_MAX) {
                let (sessions, message) = (sessions.to_vec(), message.clone());
                abroad.send(to, ToInstance::Parcel(Parcel::Heard { room, sessions, message }));
            }
        }
    }

    /// A result for a member of a room who is of this instance.
    pub(super) fn hand_result(&self, room: u32, listener: SessionId, message: Utf8Bytes) {
        if self.sessions.room(listener) == Some(room) {
            self.sessions.send(listener, Outgoing::Text(message));
        }
    }

    fn said(&mut self, last: &Final, open: &mut Open) -> Said {
        match last.ending {
            Ending::Answered if let Some(translation) = open.translation.take() => {
                let plain = open.receivers == Receivers::Speaker;
                let now = self.clock.now();
                // A room's listeners play it in sessions of their own.
                let part = plain.then(|| self.sessions.next_part(last.request.session, now));
                let tail = Tail { part: part.flatten(), scheduler_sent_at_ms: unix_ms() };
                let last = wire::extended(translation, &tail);
                Said { progress: std::mem::take(&mut open.events), last, failed: None }
            }
            _ => nothing_said(last, open),
        }
    }
}

/// What a translation takes along when its turn has come.
#[derive(Serialize)]
struct Tail {
    #[serde(flatten)]
    part: Option<Part>,
    scheduler_sent_at_ms: i64,
}

/// An utterance that ended without a translation.
fn nothing_said(last: &Final, open: &mut Open) -> Said {
    let trace = open.utterance.choices.trace.clone();
    let missing = |reason| {
        let missing = MissingResult {
            session_id: wire::session_id(last.request.session),
            utterance_index: last.request.index.into(),
            reason,
            created_at_ms: unix_ms(),
            trace_id: Some(trace.clone()),
        };
        Said { progress: Vec::new(), last: text!(ToSession, missing), failed: None }
    };
    match last.ending {
        Ending::Answered | Ending::Silence => missing(MissingReason::SilenceDetected),
        Ending::Merged => missing(MissingReason::MergedIntoNext),
        Ending::TimedOut => missing(MissingReason::GapTimeout),
        Ending::Refused(refused) => {
            let message = format!("no node for this utterance ({})", refused.name());
            failure(last, open, trace, ErrorCode::NoAvailableNode, &message, true)
        }
        Ending::Failed(failed) => {
            let code = match failed {
                Failure::NodeLost => ErrorCode::NodeUnavailable,
                Failure::JobTimeout => ErrorCode::JobTimeout,
                Failure::NodeError => open.error.take().unwrap_or(ErrorCode::ProcessingError),
                Failure::ModelNotAvailable => ErrorCode::ModelNotAvailable,
                Failure::DependencyDown => ErrorCode::SchedulerDependencyDown,
            };
            let message = format!("the utterance was not translated ({})", failed.name());
            let retryable = failed != Failure::NodeError;
            failure(last, open, trace, code, &message, retryable)
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
) -> Said {
    let speaker = wire::session_id(last.request.session);
    let utterance_index = last.request.index.into();
    let event = UiEvent {
        trace_id: trace,
        session_id: speaker.clone(),
        job_id: open.job.map(|assigned| wire::job_id(assigned.job)),
        utterance_index,
        event: UiEventKind::Error,
        elapsed_ms: None,
        status: UiStatus::Error,
        error_code: Some(code.clone()),
        hint: Some(Note::cut("Say it again in a moment.")),
    };
    let session_id = (open.receivers != Receivers::Speaker).then_some(speaker);
    let details = Json::of(&RefusedUtterance { utterance_index, retryable, session_id }).ok();
    let error = ErrorMessage { code, message: Note::cut(message), details };
    let failed = Some(text!(ToSession, event));
    Said { progress: Vec::new(), last: text!(ToSession, error), failed }
}
