//! What goes into an instance and what comes out.

use std::sync::Arc;

use crate::finalize::{Chunk, Reason};
use crate::{
    AffinityOutcome, InstanceId, LeaseId, Micros, ModelId, Needs, NodeRef, Op, Refusal, Register,
    RegisterError, Reply, Report, RequestId, SessionId, Snapshot, Via,
};

/// Most target languages of one utterance.
pub const TARGETS_MAX: usize = 8;

/// A job's name on the wire: unique over all instances, and it tells which one made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    /// The instance that made it.
    pub origin: InstanceId,
    /// Its place there.
    pub slot: u32,
    /// Which use of that place.
    pub version: u32,
}

/// An event.
#[derive(Debug, Clone)]
pub enum Input {
    /// A client opened a session.
    SessionOpened(SessionId, Setup),
    /// A client sent audio.
    Chunk(SessionId, Chunk),
    /// From here on audio and reports are heard so much later than they came: the process lags behind
    /// its sockets.
    Late(Micros),
    /// A client begins to play a result, or has played it.
    Playing(SessionId, bool),
    /// A client changed its languages; the open utterance keeps its own.
    SessionSetup(SessionId, Setup),
    /// A client's socket is gone.
    SessionClosed(SessionId),
    /// A client's whole utterance, without segmenting.
    Utterance(SessionId, WholeUtterance),
    /// A bare arrival: one job of no session.
    Request(Request),
    /// A node registered on a socket of this instance.
    NodeOpened(Box<Register>),
    /// A node of this instance reported.
    Heartbeat(NodeRef, Report),
    /// A node of this instance asks for no new jobs, or for jobs again.
    Drain(NodeRef, bool),
    /// A node of this instance says that it has a job: which, and which attempt.
    Acked(NodeRef, JobId, u32),
    /// A node of this instance answered a job.
    Answer(NodeRef, Answer),
    /// A node's socket is gone.
    NodeClosed(NodeRef),
    /// The store replied.
    Store(Token, Reply),
    /// Another instance sent something.
    Routed(Box<Routed>),
    /// A newer snapshot is there.
    Snapshot(Box<Snapshot>),
    /// Time has passed.
    Tick,
}

/// What a session's jobs need; copies share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    targets: Arc<[Needs]>,
}

impl Setup {
    /// One job per distinct target; the first one uses affinity.
    ///
    /// # Panics
    /// Without a target, or with more than [`TARGETS_MAX`].
    pub fn new(needs: &[Needs]) -> Self {
        assert!((1..=TARGETS_MAX).contains(&needs.len()), "1 to {TARGETS_MAX} targets");
        Self { targets: needs.into() }
    }

    /// The targets in order.
    pub fn targets(&self) -> &[Needs] {
        &self.targets
    }
}

/// An utterance that a client cut itself. Its answers leave in the order of the cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeUtterance {
    /// The client's own count.
    pub index: u32,
    /// Its targets.
    pub setup: Setup,
    /// Length of the speech.
    pub speech: Micros,
    /// Decoded bytes.
    pub bytes: u64,
    /// The client's own time of sending.
    pub sent: Micros,
}

/// What one job answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub id: RequestId,
    /// What the node must be able to do.
    pub needs: Needs,
    /// Length of the speech.
    pub speech: Micros,
    /// Decoded bytes.
    pub bytes: u64,
    /// The client's own time of sending.
    pub sent: Micros,
}

/// A node's answer to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Which job.
    pub job: JobId,
    /// Which attempt.
    pub attempt: u32,
    /// What it says.
    pub outcome: AnswerOutcome,
}

/// What a node says of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// Here is the translation.
    Result,
    /// There was no speech in it.
    Silence,
    /// The node lacks the model.
    ModelNotAvailable(ModelId),
    /// Anything else went wrong.
    Error,
}

/// Something to send.
#[derive(Debug, Clone)]
pub enum Output {
    /// Give a job to a node of this instance.
    Assign(Assign),
    /// Tell a node to drop a job.
    Cancel(NodeRef, JobId),
    /// Close a node's socket: it is dead or replaced.
    CloseNode(NodeRef),
    /// Tell a node what became of its registration.
    Registered(Arc<str>, Result<NodeRef, RegisterError>),
    /// The final message of an utterance in one language.
    Final(Final),
    /// A step for the store.
    Store(Token, Box<Op>),
    /// A message for another instance.
    Route(InstanceId, Routed),
    /// Do the expensive work for a model: refresh the catalogue, tell the others.
    RefreshModel(ModelId),
    /// A job was made: its final message is owed from here on.
    Opened(Opened),
    /// What a dispatch looked at; it costs that much.
    Work(Work),
}

/// A job for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assign {
    /// To which node.
    pub node: NodeRef,
    /// Which job.
    pub job: JobId,
    /// Which attempt.
    pub attempt: u32,
    /// Its reservation.
    pub lease: LeaseId,
    /// What it answers.
    pub request: RequestId,
    /// What it needs.
    pub needs: Needs,
    /// Length of the speech.
    pub speech: Micros,
    /// Decoded bytes.
    pub bytes: u64,
    /// Why the utterance ended; absent for whole utterances.
    pub reason: Option<Reason>,
    /// When the last chunk was sent, by the client's time.
    pub sent: Micros,
    /// How the session's affinity fared.
    pub affinity: AffinityOutcome,
    /// How the node was found.
    pub via: Via,
}

/// The final message of an utterance in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Final {
    /// What was asked.
    pub request: RequestId,
    /// What became of it.
    pub ending: Ending,
    /// When the last chunk was sent, by the client's time.
    pub sent: Micros,
    /// How long it waited for a slot.
    pub waited: Micros,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Translated.
    Answered,
    /// There was no speech in it.
    Silence,
    /// The node kept the audio and answered it with a later job.
    Merged,
    /// No slot.
    Refused(Refused),
    /// A typed failure.
    Failed(Failure),
    /// The deadline came.
    TimedOut,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// The store found no slot.
    NoSlot(Refusal),
    /// The owner of the node's socket kept it back too often.
    Gate,
    /// It waited too long, or too many wait already.
    Wait,
    /// The instance is draining.
    Draining,
}

impl Refused {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSlot(refusal) => refusal.name(),
            Self::Gate => "gate_refused",
            Self::Wait => "wait_limit",
            Self::Draining => "draining",
        }
    }
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The node died, and there was no second try left or possible.
    NodeLost,
    /// The node did not answer in time, twice.
    JobTimeout,
    /// The node said so.
    NodeError,
    /// No node has the model.
    ModelNotAvailable,
    /// The store is silent.
    DependencyDown,
}

impl Failure {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NodeLost => "node_lost",
            Self::JobTimeout => "job_timeout",
            Self::NodeError => "node_error",
            Self::ModelNotAvailable => "model_not_available",
            Self::DependencyDown => "dependency_down",
        }
    }
}

/// A message between instances. Headers only; audio goes from socket to socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routed {
    /// To the owner of the node's socket: give it this job.
    Assign(Assign),
    /// To the job's origin: the node is full or gone.
    Full(JobId, u32),
    /// To the job's origin: the node answered.
    Answer(Answer, NodeRef),
    /// To the job's origin: the node is lost.
    Lost(JobId, u32),
    /// To the owner of the node's socket: drop this job.
    Cancel(NodeRef, JobId),
}

/// A job was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// What is asked.
    pub request: RequestId,
    /// What it needs.
    pub needs: Needs,
    /// Length of the speech.
    pub speech: Micros,
    /// Decoded bytes.
    pub bytes: u64,
    /// Why the utterance ended; absent for whole utterances.
    pub reason: Option<Reason>,
    /// Whether it is the utterance's first job.
    pub first: bool,
}

/// What one choice cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Nodes looked at by the policy.
    pub looked_at: u32,
}

/// Names a step that is under way at a remote store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// Counts of rare paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Answers of an attempt that is no longer current.
    pub stale_answers: u64,
    /// Answers of a generation that is no longer current.
    pub stale_generations: u64,
    /// Jobs held back because the node had no room.
    pub gate_refused: u64,
    /// Attempts that their node did not acknowledge in time.
    pub unacknowledged: u64,
    /// Attempts made anew after a loss or a time-out.
    pub redispatched: u64,
    /// Attempts that went on with a node that came back in time.
    pub rejoined: u64,
    /// Steps sent to the store again because no reply came.
    pub store_retries: u64,
    /// Grants that came too late and were given back.
    pub late_grants: u64,
    /// The same attempt answered twice by the store.
    pub repeated_grants: u64,
    /// Intents pointed elsewhere because their node refused (Cluster).
    pub moved: u64,
    /// Intents of another instance that were followed (Cluster).
    pub followed: u64,
    /// Former attempts whose slot was given back before the next was asked for (Cluster).
    pub fenced: u64,
    /// Intents that the store had lost (Cluster).
    pub intents_lost: u64,
    /// Utterances merged into a later one.
    pub merged: u64,
    /// Slots given up because two heartbeats reported fewer jobs.
    pub vanished_jobs: u64,
    /// MODEL_NOT_AVAILABLE heard.
    pub model_losses: u64,
}
