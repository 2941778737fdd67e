//! What goes from instance to instance directly, never through the store: audio and results.

use axum::extract::ws::Utf8Bytes;
use bytes::{BufMut, Bytes, BytesMut};
use lingua_core::instance::{AnswerOutcome, JobId};
use lingua_core::{LeaseId, NodeRef, SessionId};
use lingua_protocol::{ErrorCode, ToNode};
use serde::{Deserialize, Serialize};

use crate::event::{JobForNode, Signal};
use crate::instances::header::{JobName, NodeName, Outcome, job, job_name, node, node_name};
use crate::rooms::RoomMessage;
use crate::sockets;

/// Longest start of a parcel, in which its parts are named.
const HEAD_MAX: usize = 4_096;

/// A parcel. The header that belongs to it goes through the receiver's inbox.
#[derive(Debug)]
pub(crate) enum Parcel {
    /// To the owner of a node's socket: a job as the node gets it.
    Job { job: JobId, attempt: u32, lease: LeaseId, frame: Utf8Bytes },
    /// To a job's origin: its node has it.
    Dispatched { job: JobId, attempt: u32, node: NodeRef },
    /// To a job's origin: its node's first text, ready for the client.
    Partial { job: JobId, session: SessionId, index: u32, messages: [Utf8Bytes; 2] },
    /// To a job's origin: what its node said, ready for the client.
    Answer(Box<AnswerParcel>),
    /// What instances say of rooms.
    Room(Box<RoomMessage>),
    /// To members of a room: what another one has said, ready for them.
    Heard { room: u32, sessions: Vec<SessionId>, message: Utf8Bytes },
    /// To a member of a room, from another one.
    Signal(Box<Signal>),
}

/// A node's answer to a job of another instance.
#[derive(Debug)]
pub(crate) struct AnswerParcel {
    pub(crate) job: JobId,
    pub(crate) attempt: u32,
    // For an origin to which no header comes.
    pub(crate) outcome: AnswerOutcome,
    pub(crate) session: SessionId,
    pub(crate) index: u32,
    pub(crate) error: Option<ErrorCode>,
    pub(crate) events: Vec<Utf8Bytes>,
    pub(crate) translation: Option<String>,
}

/// What the hub gives a link; the link's own task encodes the audio.
#[derive(Debug)]
pub(crate) enum ToInstance {
    Job(Box<JobForNode>),
    Parcel(Parcel),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Head {
    Job { job: JobName, attempt: u32, lease: u64 },
    Dispatched { job: JobName, attempt: u32, node: NodeName },
    Partial { job: JobName, session: u64, index: u32 },
    Answer(AnswerHead),
    Room,
    Heard { room: u32, sessions: Vec<u64> },
    Signal { from: u64, room: u32, to: u64 },
}

#[derive(Serialize, Deserialize)]
struct AnswerHead {
    job: JobName,
    attempt: u32,
    outcome: Outcome,
    session: u64,
    index: u32,
    error: Option<ErrorCode>,
    translated: bool,
}

impl ToInstance {
    /// As one frame: a line that names the parts, then the parts.
    pub(super) fn encode(self) -> Bytes {
        let (head, parts) = match self {
            Self::Job(for_node) => {
                let assign = for_node.assign;
                let frame = ToNode::from(sockets::assign(&for_node)).to_text();
                let (job, attempt) = (job_name(assign.job), assign.attempt);
                (Head::Job { job, attempt, lease: assign.lease.0 }, vec![frame.into()])
            }
            Self::Parcel(parcel) => parcel.split(),
        };
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let head = serde_json::to_vec(&(head, &lengths)).expect("string keys into memory");
        let mut frame = BytesMut::with_capacity(head.len() + 1 + lengths.iter().sum::<usize>());
        frame.put_slice(&head);
        frame.put_u8(b'\n');
        for part in parts {
            frame.put_slice(part.as_str().as_bytes());
        }
        frame.freeze()
    }
}

impl Parcel {
    /// Sessions that one parcel names, at most: so many fit into its head.
    pub(crate) const SESSIONS_MAX: usize = 128;

    fn split(self) -> (Head, Vec<Utf8Bytes>) {
        match self {
            Self::Job { job, attempt, lease, frame } => {
                (Head::Job { job: job_name(job), attempt, lease: lease.0 }, vec![frame])
            }
            Self::Dispatched { job, attempt, node } => {
                let (job, node) = (job_name(job), node_name(node));
                (Head::Dispatched { job, attempt, node }, Vec::new())
            }
            Self::Partial { job, session, index, messages } => {
                let head = Head::Partial { job: job_name(job), session: session.0, index };
                (head, messages.into())
            }
            Self::Room(message) => {
                let message = serde_json::to_string(&message).expect("string keys into memory");
                (Head::Room, vec![message.into()])
            }
            Self::Heard { room, sessions, message } => {
                let sessions = sessions.into_iter().map(|session| session.0).collect();
                (Head::Heard { room, sessions }, vec![message])
            }
            Self::Signal(signal) => {
                let Signal { from, room, to, message } = *signal;
                (Head::Signal { from: from.0, room, to: to.0 }, vec![message])
            }
            Self::Answer(answer) => {
                let translated = answer.translation.is_some();
                let head = AnswerHead {
                    job: job_name(answer.job),
                    attempt: answer.attempt,
                    outcome: answer.outcome.into(),
                    session: answer.session.0,
                    index: answer.index,
                    error: answer.error,
                    translated,
                };
                let translation = answer.translation.map(Utf8Bytes::from);
                let parts = answer.events.into_iter().chain(translation).collect();
                (Head::Answer(head), parts)
            }
        }
    }

    /// The parcel of a frame; absent where it is none.
    pub(super) fn parse(mut frame: Bytes) -> Option<Self> {
        let end = frame.iter().take(HEAD_MAX).position(|&byte| byte == b'\n')?;
        let head = frame.split_to(end);
        let _ = frame.split_to(1);
        let (head, lengths): (Head, Vec<usize>) = serde_json::from_slice(&head).ok()?;
        if lengths.iter().try_fold(0_usize, |sum, &n| sum.checked_add(n))? != frame.len() {
            return None;
        }
        let parts = lengths.into_iter().map(|n| Utf8Bytes::try_from(frame.split_to(n)).ok());
        let mut parts: Vec<Utf8Bytes> = parts.collect::<Option<_>>()?;
        match head {
            Head::Job { job: name, attempt, lease } => {
                let [frame] = parts.try_into().ok()?;
                Some(Self::Job { job: job(name), attempt, lease: LeaseId(lease), frame })
            }
            Head::Dispatched { job: name, attempt, node: at } => {
                Some(Self::Dispatched { job: job(name), attempt, node: node(at) })
            }
            Head::Partial { job: name, session, index } => {
                let (job, session) = (job(name), SessionId(session));
                let messages = parts.try_into().ok()?;
                Some(Self::Partial { job, session, index, messages })
            }
            Head::Room => {
                let [message] = parts.try_into().ok()?;
                serde_json::from_str(&message).ok().map(|message| Self::Room(Box::new(message)))
            }
            Head::Heard { room, sessions } => {
                let [message] = parts.try_into().ok()?;
                let sessions = sessions.into_iter().map(SessionId).collect();
                Some(Self::Heard { room, sessions, message })
            }
            Head::Signal { from, room, to } => {
                let [message] = parts.try_into().ok()?;
                let (from, to) = (SessionId(from), SessionId(to));
                Some(Self::Signal(Box::new(Signal { from, room, to, message })))
            }
            Head::Answer(head) => {
                let translation = if head.translated { Some(parts.pop()?) } else { None };
                Some(Self::Answer(Box::new(AnswerParcel {
                    job: job(head.job),
                    attempt: head.attempt,
                    outcome: head.outcome.into(),
                    session: SessionId(head.session),
                    index: head.index,
                    error: head.error,
                    events: parts,
                    translation: translation.map(|text| text.as_str().to_owned()),
                })))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lingua_core::InstanceId;

    use super::*;

    const JOB: JobId = JobId { origin: InstanceId(7), slot: 3, version: 9 };

    fn answer(translation: Option<&str>) -> Parcel {
        Parcel::Answer(Box::new(AnswerParcel {
            job: JOB,
            attempt: 2,
            outcome: AnswerOutcome::Result,
            session: SessionId(5),
            index: 1,
            error: translation.is_none().then_some(ErrorCode::ModelNotAvailable),
            events: vec!["{}".into(), "新\n".into()],
            translation: translation.map(str::to_owned),
        }))
    }

    #[test]
    fn every_parcel_comes_as_it_went() {
        let (job, lease) = (JOB, LeaseId(u64::MAX));
        let node = NodeRef { num: lingua_core::NodeNum(1), generation: 2 };
        let messages = ["a".into(), "b".into()];
        let from = SessionId(u64::MAX);
        let most = vec![from; Parcel::SESSIONS_MAX];
        for make in [
            Parcel::Job { job, attempt: 1, lease, frame: "{\"a\":\n1}".into() },
            Parcel::Dispatched { job, attempt: 1, node },
            Parcel::Partial { job, session: SessionId(1 << 40), index: 0, messages },
            answer(Some("{\"text\":\"hello\"}")),
            answer(None),
            Parcel::Heard { room: 999_999, sessions: most, message: "{}".into() },
            Parcel::Room(Box::new(RoomMessage::Owns { shards: vec![(63, u64::MAX)] })),
            Parcel::Signal(Box::new(Signal {
                from,
                room: 5,
                to: SessionId(1),
                message: "s".into(),
            })),
        ] {
            let shown = format!("{make:?}");
            let frame = ToInstance::Parcel(make).encode();
            assert_eq!(format!("{:?}", Parcel::parse(frame).unwrap()), shown);
        }
    }

    #[test]
    fn what_is_no_parcel_is_none() {
        let good = ToInstance::Parcel(answer(Some("x"))).encode();
        for cut in [0, 1, good.len() - 1] {
            assert!(Parcel::parse(good.slice(..cut)).is_none(), "{cut}");
        }
        let huge = format!("[{{\"dispatched\":{{}}}},[{},1]]\n", usize::MAX);
        for text in ["\n", "{}\n", &huge, &"x".repeat(HEAD_MAX + 1)] {
            assert!(Parcel::parse(Bytes::copy_from_slice(text.as_bytes())).is_none(), "{text}");
        }
    }
}
