//! What messages and steps are called in a trace.

use lingua_core::instance::{AnswerOutcome, Input, Routed};
use lingua_core::{Op, Reply, SessionId};

/// A message that an instance is about to handle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(super) name: &'static str,
    pub(super) session: Option<SessionId>,
}

impl Message {
    pub(super) fn of(input: &Input) -> Self {
        let (name, session) = match input {
            Input::SessionOpened(session, _) => ("session opened", Some(*session)),
            Input::Chunk(session, _) => ("chunk", Some(*session)),
            Input::Late(_) => ("late", None),
            Input::Playing(session, _) => ("playing", Some(*session)),
            Input::SessionSetup(session, _) => ("session setup", Some(*session)),
            Input::SessionClosed(session) => ("session closed", Some(*session)),
            Input::Utterance(session, _) => ("utterance", Some(*session)),
            Input::Request(request) => ("request", Some(request.id.session)),
            Input::NodeOpened(_) => ("node opened", None),
            Input::Heartbeat(..) => ("heartbeat", None),
            Input::Drain(..) => ("drain", None),
            Input::Acked(..) => ("ack", None),
            Input::Answer(..) => ("answer", None),
            Input::NodeClosed(_) => ("node closed", None),
            Input::Store(_, reply) => (reply_name(reply), None),
            Input::Routed(routed) => (routed_name(routed), None),
            Input::Snapshot(_) => ("snapshot", None),
            Input::Tick => ("tick", None),
        };
        Self { name, session }
    }
}

fn reply_name(reply: &Reply) -> &'static str {
    match reply {
        Reply::Registered(_) => "reply: registered",
        Reply::Node(_) => "reply: node",
        Reply::Dispatched(_) => "reply: dispatched",
        Reply::Intended(_) => "reply: intended",
        Reply::Reserved(_) => "reply: reserved",
        Reply::Found(_) => "reply: found",
        Reply::Confirmed(_) => "reply: confirmed",
        Reply::Released(_) => "reply: released",
        Reply::Done => "reply: done",
        Reply::First(_) => "reply: first",
        Reply::Snapshot(_) => "reply: snapshot",
    }
}

fn routed_name(routed: &Routed) -> &'static str {
    match routed {
        Routed::Assign(_) => "routed: assign",
        Routed::Full(..) => "routed: full",
        Routed::Answer(..) => "routed: answer",
        Routed::Lost(..) => "routed: lost",
        Routed::Cancel(..) => "routed: cancel",
    }
}

/// A step on shared state, and the session it is for.
pub(super) fn step(op: &Op) -> (&'static str, Option<SessionId>) {
    match op {
        Op::Register(_) => ("register", None),
        Op::Heartbeat(..) => ("heartbeat", None),
        Op::Drain(..) => ("drain", None),
        Op::Remove(_) => ("remove", None),
        Op::ModelLost(..) => ("model lost", None),
        Op::Dispatch(dispatch) => ("dispatch", Some(dispatch.request.session)),
        Op::Open(open) => ("open", Some(open.request.session)),
        Op::Reserve(reserve) => ("reserve", Some(reserve.request.session)),
        Op::Move(m) => ("move", Some(m.request.session)),
        Op::End(request, _) => ("end", Some(request.session)),
        Op::Find(_) => ("find", None),
        Op::Hint(..) => ("hint", None),
        Op::Confirm(..) => ("confirm", None),
        Op::Release(release) => ("release", Some(release.request.session)),
        Op::RecordAffinity(record) => ("record affinity", Some(record.session)),
        Op::ClearAffinity(session) => ("clear affinity", Some(*session)),
        Op::Debounce(..) => ("debounce", None),
        Op::Snapshot => ("snapshot", None),
    }
}

/// How a job ended at its node.
pub(super) fn ending(answer: Option<AnswerOutcome>) -> &'static str {
    match answer {
        Some(AnswerOutcome::Result) => "result",
        Some(AnswerOutcome::Silence) => "silence",
        Some(AnswerOutcome::ModelNotAvailable(_)) => "model_not_available",
        Some(AnswerOutcome::Error) => "error",
        None => "buffered",
    }
}
