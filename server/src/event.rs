//! What socket tasks tell the hub, and what the hub gives them to send.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use lingua_core::instance::{AnswerOutcome, Assign, JobId};
use lingua_core::{Micros, Needs, Register, SessionId};
use lingua_protocol::{AudioFormat, CloseCode, ErrorCode, SampleRate, TraceId};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::hub::Sample;
use crate::profile::{Beat, Profile, Services};

/// One socket of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SocketId(pub(crate) u64);

/// From a socket to the hub.
#[derive(Debug)]
pub(crate) enum Event {
    /// A client opened a session.
    SessionOpened(Box<OpenSession>),
    /// A client sent audio.
    Chunk(AudioPiece),
    /// A client sent a whole utterance.
    Utterance(Box<WholeUtterance>),
    /// A session is over.
    SessionClosed(SessionId),
    /// A node registered.
    NodeOpened(Box<OpenNode>),
    /// A node reported.
    Heartbeat(SocketId, Box<Beat>),
    /// A node answered a job.
    Answer(Box<NodeAnswer>),
    /// A node has a first text.
    Partial(Box<NodePartial>),
    /// A node's socket is gone.
    NodeClosed(SocketId),
    /// The server is about to stop: nothing new is admitted. Tells how many answers are owed.
    Drain(oneshot::Sender<usize>),
    /// Somebody asks how things are.
    Sample(oneshot::Sender<Sample>),
}

/// A new session.
#[derive(Debug)]
pub(crate) struct OpenSession {
    pub(crate) session: SessionId,
    pub(crate) needs: Needs,
    pub(crate) trace: TraceId,
    pub(crate) outbox: Outbox,
}

/// A piece of speech.
#[derive(Debug)]
pub(crate) struct AudioPiece {
    pub(crate) session: SessionId,
    pub(crate) audio: Bytes,
    pub(crate) duration: Micros,
    pub(crate) format: AudioFormat,
    pub(crate) is_final: bool,
    /// When it was read from the socket.
    pub(crate) heard: Instant,
}

/// An utterance that needs no segmenting.
#[derive(Debug)]
pub(crate) struct WholeUtterance {
    pub(crate) session: SessionId,
    pub(crate) index: u32,
    pub(crate) needs: Needs,
    pub(crate) speech: Micros,
    pub(crate) audio: UtteranceAudio,
    /// When it was read from the socket.
    pub(crate) heard: Instant,
}

/// The audio of one utterance.
#[derive(Debug, Clone)]
pub(crate) struct UtteranceAudio {
    pub(crate) bytes: Bytes,
    pub(crate) format: AudioFormat,
    pub(crate) rate: SampleRate,
}

/// A new node.
#[derive(Debug)]
pub(crate) struct OpenNode {
    pub(crate) socket: SocketId,
    pub(crate) register: Box<Register>,
    pub(crate) profile: Profile,
    pub(crate) services: Services,
    pub(crate) outbox: Outbox,
}

/// A node's answer, its messages for the client made ready.
#[derive(Debug)]
pub(crate) struct NodeAnswer {
    pub(crate) socket: SocketId,
    pub(crate) job: JobId,
    pub(crate) attempt: u32,
    pub(crate) session: SessionId,
    pub(crate) index: u32,
    pub(crate) outcome: AnswerOutcome,
    pub(crate) messages: Vec<Utf8Bytes>,
    pub(crate) error: Option<ErrorCode>,
}

/// A node's first text, its messages for the client made ready.
#[derive(Debug)]
pub(crate) struct NodePartial {
    pub(crate) socket: SocketId,
    pub(crate) job: JobId,
    pub(crate) session: SessionId,
    pub(crate) index: u32,
    pub(crate) messages: [Utf8Bytes; 2],
}

/// From the hub to a socket.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A message that is ready.
    Text(Utf8Bytes),
    /// A job: the node's own task encodes the audio.
    Job(Box<JobForNode>),
    /// The last thing this socket sends.
    Close(CloseCode),
}

/// A job with its audio.
#[derive(Debug)]
pub(crate) struct JobForNode {
    pub(crate) assign: Assign,
    pub(crate) trace: TraceId,
    pub(crate) audio: Arc<UtteranceAudio>,
}

/// Where the hub puts a socket's messages.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<Outgoing>,
    overflow: Arc<Notify>,
}

impl Outbox {
    /// An outbox for so many messages; what is put in comes out at the receiver, and the bell rings
    /// when one found no room.
    pub(crate) fn new(room: usize) -> (Self, mpsc::Receiver<Outgoing>, Arc<Notify>) {
        let (sender, receiver) = mpsc::channel(room);
        let overflow = Arc::new(Notify::new());
        (Self { sender, overflow: overflow.clone() }, receiver, overflow)
    }

    /// Puts a message in. Where there is no room, or nobody takes it, the socket is closed by its
    /// own task.
    pub(crate) fn post(&self, message: Outgoing) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.sender.try_send(message) {
            self.overflow.notify_one();
        }
    }
}
