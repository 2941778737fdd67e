//! What socket tasks tell the hub, and what the hub gives them to send.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use lingua_core::instance::{AnswerOutcome, Assign, JobId};
use lingua_core::{Lang, Micros, Needs, Register, SessionId};
use lingua_protocol::{
    AudioFormat, CloseCode, ErrorCode, Features, GroupId, Language, LanguageList, Mode, Pipeline,
    SampleRate, ShortText, TraceId, TurnId,
};
use tokio::sync::{mpsc, oneshot};

use crate::hub::Sample;
use crate::instances::Shared;
use crate::ledger::{Account, Held};
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
    /// A client plays a result.
    PlayStarted(SessionId),
    /// A client has played a result of this group.
    PlayEnded(SessionId, GroupId),
    /// A session asks something of a room.
    Room(SessionId, RoomRequest),
    /// A session has something for another member of its room.
    Signal(Box<Signal>),
    /// A session is over.
    SessionClosed(SessionId),
    /// A node registered.
    NodeOpened(Box<OpenNode>),
    /// A node reported.
    Heartbeat(SocketId, Box<Beat>),
    /// A node has a job: which, and which attempt.
    Acked(SocketId, JobId, u32),
    /// The operator wants a node of this name to get no new jobs, or to get jobs again. Tells
    /// whether there is one.
    DrainNode(Box<str>, bool, oneshot::Sender<bool>),
    /// A node answered a job.
    Answer(Box<NodeAnswer>),
    /// A node has a first text.
    Partial(Box<NodePartial>),
    /// A node's socket is gone.
    NodeClosed(SocketId),
    /// The server is about to stop: nothing new is admitted. Tells how many answers are owed.
    Drain(oneshot::Sender<usize>),
    /// From what is beside the hub where the state is shared.
    Shared(Shared),
    /// Somebody asks how things are.
    Sample(oneshot::Sender<Sample>),
}

/// A new session.
#[derive(Debug)]
pub(crate) struct OpenSession {
    pub(crate) session: SessionId,
    pub(crate) needs: Needs,
    pub(crate) choices: Arc<Choices>,
    pub(crate) account: Account,
    /// Room codes that its socket got wrong.
    pub(crate) wrong_codes: Arc<AtomicU32>,
    pub(crate) outbox: Outbox,
}

/// What a client chose for its jobs. Nodes get it as it came.
#[derive(Debug, Clone)]
pub(crate) struct Choices {
    pub(crate) trace: TraceId,
    pub(crate) src_lang: Language,
    pub(crate) tgt_lang: Language,
    pub(crate) dialect: Option<ShortText>,
    pub(crate) features: Option<Features>,
    pub(crate) mode: Option<Mode>,
    pub(crate) lang_a: Option<Language>,
    pub(crate) lang_b: Option<Language>,
    pub(crate) auto_langs: Option<LanguageList>,
    pub(crate) enable_streaming_asr: bool,
    pub(crate) partial_update_interval_ms: u64,
    /// What is to be done for a room; else it is always the same.
    pub(crate) pipeline: Option<Pipeline>,
    /// Whether a whole utterance was ended by hand.
    pub(crate) manual_cut: bool,
}

/// A piece of speech.
#[derive(Debug)]
pub(crate) struct AudioPiece {
    pub(crate) session: SessionId,
    pub(crate) audio: Bytes,
    pub(crate) held: Held,
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
    pub(crate) choices: Arc<Choices>,
    pub(crate) speech: Micros,
    pub(crate) audio: UtteranceAudio,
    /// When it was read from the socket.
    pub(crate) heard: Instant,
}

/// An utterance with what all its jobs share.
#[derive(Debug)]
pub(crate) struct Utterance {
    pub(crate) choices: Arc<Choices>,
    pub(crate) turn: TurnId,
    pub(crate) audio: UtteranceAudio,
}

/// The audio of one utterance.
#[derive(Debug)]
pub(crate) struct UtteranceAudio {
    pub(crate) bytes: Bytes,
    /// Counts them until the last job is over.
    pub(crate) _held: Held,
    pub(crate) format: AudioFormat,
    pub(crate) rate: SampleRate,
}

/// What a session asks of a room.
#[derive(Debug)]
pub(crate) enum RoomRequest {
    /// A new room, in its tenant's shard if it has one, and to be in it.
    Create(Option<u16>, Newcomer),
    /// To enter a room, where the code may be one.
    Join(Option<u32>, Newcomer),
    /// To leave a room.
    Leave(Option<u32>),
    /// To hear another member's own voice, or not to.
    Voice { room: Option<u32>, of: Option<SessionId>, hears: bool },
}

/// What one member of a room tells another to connect directly, ready to send.
#[derive(Debug)]
pub(crate) struct Signal {
    pub(crate) from: SessionId,
    pub(crate) room: u32,
    pub(crate) to: SessionId,
    pub(crate) message: Utf8Bytes,
}

/// Who enters a room.
#[derive(Debug)]
pub(crate) struct Newcomer {
    pub(crate) name: Option<ShortText>,
    pub(crate) preferred: Option<Lang>,
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
    pub(crate) events: Vec<Utf8Bytes>,
    /// Complete but for what is known when its turn comes.
    pub(crate) translation: Option<String>,
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
    pub(crate) utterance: Arc<Utterance>,
    pub(crate) for_room: bool,
}

/// Where the hub puts a socket's messages.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<Outgoing>,
    overflow: Arc<AtomicBool>,
}

impl Outbox {
    /// An outbox for so many messages; what is put in comes out at the receiver, and the flag is set
    /// when one found no room.
    pub(crate) fn new(room: usize) -> (Self, mpsc::Receiver<Outgoing>, Arc<AtomicBool>) {
        let (sender, receiver) = mpsc::channel(room);
        let overflow = Arc::new(AtomicBool::new(false));
        (Self { sender, overflow: overflow.clone() }, receiver, overflow)
    }

    /// Puts a message in that may be lost, where at least half of the room is free.
    pub(crate) fn offer(&self, message: Outgoing) {
        if self.sender.capacity() * 2 >= self.sender.max_capacity() {
            self.post(message);
        }
    }

    /// Puts a message in. Where there is no room, or nobody takes it, the socket is closed by its
    /// own task.
    pub(crate) fn post(&self, message: Outgoing) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.sender.try_send(message) {
            // There are messages to take, so the task will look.
            self.overflow.store(true, Ordering::Relaxed);
        }
    }
}
