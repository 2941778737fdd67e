//! The closed set of operations on shared state, and their replies.
//!
//! Each operation is one atomic step. All it needs travels inside: identities, spans, random
//! words. The one thing added from outside is `now`.

use std::sync::Arc;

use crate::state::steps::{Find, Intended, Move, Open, Reserve, Reserved};
use crate::{
    Capabilities, Features, InstanceId, LanguagesError, LeaseId, Micros, ModelId, Needs, NodeNum,
    NodeRef, PairFull, RequestId, SessionId, Snapshot,
};

/// Most candidates of one dispatch.
pub const CANDIDATES_MAX: usize = 16;

/// Most nodes that a dispatch may have to avoid.
pub const EXCLUDED_MAX: usize = 8;

/// A short list of node numbers, held inline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeList<const N: usize> {
    nodes: [NodeNum; N],
    len: u8,
}

impl<const N: usize> Default for NodeList<N> {
    fn default() -> Self {
        Self { nodes: [NodeNum(u32::MAX); N], len: 0 }
    }
}

impl<const N: usize> NodeList<N> {
    /// Adds a node; tells whether there was room.
    pub fn push(&mut self, node: NodeNum) -> bool {
        let room = usize::from(self.len) < N;
        if room {
            self.nodes[usize::from(self.len)] = node;
            self.len += 1;
        }
        room
    }

    /// The nodes in order.
    pub fn as_slice(&self) -> &[NodeNum] {
        &self.nodes[..usize::from(self.len)]
    }

    /// The nodes in order, to reorder.
    pub fn as_mut_slice(&mut self) -> &mut [NodeNum] {
        &mut self.nodes[..usize::from(self.len)]
    }

    /// Whether the node is listed.
    pub fn contains(&self, node: NodeNum) -> bool {
        self.as_slice().contains(&node)
    }
}

/// Nodes to try, in order.
pub type Candidates = NodeList<CANDIDATES_MAX>;

/// Nodes that may not be chosen: they have seen this session and index already.
pub type Excluded = NodeList<EXCLUDED_MAX>;

/// An atomic step on shared state.
#[derive(Debug, Clone)]
pub enum Op {
    /// A node opens a socket. Home: the node.
    Register(Box<Register>),
    /// A node reports; its leases are renewed. Home: the node.
    Heartbeat(NodeRef, Report),
    /// A node asks for no new jobs, or for jobs again. Home: the node.
    Drain(NodeRef, bool),
    /// A node's socket is gone for good. Home: the node.
    Remove(NodeRef),
    /// A node lacks a model that it had listed. Home: the node.
    ModelLost(NodeRef, ModelId),
    /// Open a request and reserve a slot for it, in one step. Homes: session and node.
    Dispatch(Dispatch),
    /// Write a request's intent (Cluster). Home: the session.
    Open(Open),
    /// Take a slot for an intent (Cluster). Home: the node.
    Reserve(Reserve),
    /// Point an intent elsewhere (Cluster). Home: the session.
    Move(Move),
    /// Tell a session that a lease has ended (Cluster). Home: the session.
    End(RequestId, LeaseId),
    /// Look for nodes with a free slot (Cluster). Home: the capability class.
    Find(Find),
    /// Say whether a node has a free slot (Cluster). Home: the capability class.
    Hint(NodeNum, bool),
    /// Make a reservation last. Home: the node.
    Confirm(NodeRef, LeaseId),
    /// Give a slot back. Home: the node.
    Release(Release),
    /// Tie a session's next job to a node. Home: the session.
    RecordAffinity(RecordAffinity),
    /// Untie a session. Home: the session.
    ClearAffinity(SessionId),
    /// Win the right to do expensive work for a model once per window. Home: the model.
    Debounce(ModelId, Micros),
    /// Copy what an instance ranks by. Home: all.
    Snapshot,
}

impl Op {
    /// Name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Register(_) => "register",
            Self::Heartbeat(..) => "heartbeat",
            Self::Drain(..) => "drain",
            Self::Remove(_) => "remove",
            Self::ModelLost(..) => "model_lost",
            Self::Dispatch(_) => "dispatch",
            Self::Open(_) => "open",
            Self::Reserve(_) => "reserve",
            Self::Move(_) => "move",
            Self::End(..) => "end",
            Self::Find(_) => "find",
            Self::Hint(..) => "hint",
            Self::Confirm(..) => "confirm",
            Self::Release(_) => "release",
            Self::RecordAffinity(_) => "record_affinity",
            Self::ClearAffinity(_) => "clear_affinity",
            Self::Debounce(..) => "debounce",
            Self::Snapshot => "snapshot",
        }
    }
}

/// What a node says at registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// Its name, unique.
    pub name: Arc<str>,
    /// What it can do.
    pub caps: Capabilities,
    /// Concurrent jobs, 1..=1024.
    pub max_jobs: u32,
    /// The instance that holds its socket.
    pub owner: InstanceId,
}

/// What a node says in a heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Jobs it works on.
    pub running: u32,
    /// CPU, GPU and memory use in permille; unknown is absent.
    pub usage: [Option<u16>; 3],
    /// Models present, sorted, where the heartbeat lists them.
    pub models: Option<Vec<ModelId>>,
    /// Features offered, where they may have changed.
    pub features: Option<Features>,
    /// A new maximum, where the heartbeat carries one.
    pub max_jobs: Option<u32>,
}

/// One attempt to give a request to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// What is asked.
    pub request: RequestId,
    /// Which attempt; only rises.
    pub attempt: u32,
    /// The lease it would hold.
    pub lease: LeaseId,
    /// What the node must be able to do.
    pub needs: Needs,
    /// Whether the session's affinity is tried first.
    pub affinity: bool,
    /// A node asked for by the request, tried after affinity.
    pub preferred: Option<NodeNum>,
    /// Nodes to avoid.
    pub excluded: Excluded,
    /// Nodes to try, chosen by the policy.
    pub candidates: Candidates,
    /// Starts a walk of the free index when no candidate could be had; absent: no walk.
    pub scan: Option<u32>,
    /// No lease of this attempt lives longer.
    pub deadline: Micros,
}

/// Gives a slot back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Where the slot is.
    pub node: NodeRef,
    /// Which reservation.
    pub lease: LeaseId,
    /// The attempt that held it.
    pub attempt: u32,
    /// The request it answered.
    pub request: RequestId,
}

/// Ties a session's next job to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAffinity {
    /// Whose.
    pub session: SessionId,
    /// To which node and generation.
    pub node: NodeRef,
    /// For how long.
    pub life: Micros,
    /// Only this utterance may use it; absent: any.
    pub only: Option<u32>,
}

/// Answer to an [`Op`].
#[derive(Debug, Clone)]
pub enum Reply {
    /// To `Register`.
    Registered(Result<NodeRef, RegisterError>),
    /// To `Heartbeat`, `Drain`, `Remove`, `ModelLost`: whether the generation is current.
    Node(Result<(), StaleGeneration>),
    /// To `Dispatch`.
    Dispatched(Dispatched),
    /// To `Open` and `Move`.
    Intended(Intended),
    /// To `Reserve`.
    Reserved(Reserved),
    /// To `Find`: nodes in the order of the walk.
    Found(Candidates),
    /// To `Confirm`: whether the lease still lives.
    Confirmed(bool),
    /// To `Release`.
    Released(Released),
    /// To `RecordAffinity`, `ClearAffinity`, `End` and `Hint`.
    Done,
    /// To `Debounce`: whether this caller does the work.
    First(bool),
    /// To `Snapshot`.
    Snapshot(Box<Snapshot>),
}

/// Why a registration is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The maximum is out of range.
    #[error("max_jobs is {0}: 1 to 1024 are allowed")]
    MaxJobs(u32),
    /// Too few or too many languages.
    #[error(transparent)]
    Languages(#[from] LanguagesError),
    /// One of its pairs has no shard left.
    #[error(transparent)]
    PairFull(#[from] PairFull),
    /// No number is left.
    #[error("{0} nodes are registered, which is the limit")]
    TooManyNodes(u32),
}

/// The generation is not the current one: its socket has been replaced or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("node generation is not current")]
pub struct StaleGeneration;

/// Outcome of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatched {
    /// What became of it.
    pub outcome: Outcome,
    /// How the session's affinity fared.
    pub affinity: AffinityOutcome,
    /// Nodes tried.
    pub tried: u16,
}

/// What became of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A slot is reserved.
    Granted(Grant),
    /// The same attempt had been answered before.
    Repeated(Grant),
    /// A later attempt of the request exists.
    Superseded,
    /// No slot.
    Refused(Refusal),
}

/// A reserved slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Where.
    pub node: NodeRef,
    /// The instance that holds the node's socket.
    pub owner: InstanceId,
    /// The reservation.
    pub lease: LeaseId,
    /// How the node was found.
    pub via: Via,
}

/// How a node was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// The session's affinity.
    Affinity,
    /// Asked for by the request.
    Preferred,
    /// Among the candidates.
    Candidate,
    /// By the walk of the free index.
    Scan,
}

/// Why no slot was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// No available node meets the needs.
    NoFittingNode,
    /// All that were tried are full.
    Full,
}

impl Refusal {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoFittingNode => "no_fitting_node",
            Self::Full => "full",
        }
    }
}

/// How a session's affinity fared in a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffinityOutcome {
    /// None was recorded, or it was not to be tried.
    None,
    /// The job went where it should.
    Kept,
    /// It did not.
    Missed(MissCause),
}

/// Why an affinity was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MissCause {
    /// The node is gone, or a new generation is there.
    Offline,
    /// All its slots are taken.
    Full,
    /// It takes no new jobs: draining or over its resource threshold.
    Unavailable,
    /// It no longer speaks the pair or lacks a feature or model.
    LeftPool,
    /// It has seen this utterance already.
    Excluded,
}

impl MissCause {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Full => "full",
            Self::Unavailable => "unavailable",
            Self::LeftPool => "left_pool",
            Self::Excluded => "excluded",
        }
    }
}

/// Outcome of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// The slot is free again.
    Freed {
        /// Whether the node had no other one.
        was_full: bool,
    },
    /// There is no such lease (released, expired, or lost): nothing changed.
    NoLease,
    /// Another attempt holds it: nothing changed.
    StaleAttempt,
}
