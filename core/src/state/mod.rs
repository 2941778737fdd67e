//! What all schedulers share, changed only by atomic steps.
//!
//! This one definition is executed three times: here in a process, as scripts in Redis, and here
//! again behind the simulator's modelled store.

pub(crate) mod directory;
mod dump;
mod hints;
pub(crate) mod homes;
mod intents;
mod leases;
mod limits;
pub(crate) mod nodes;
pub(crate) mod op;
mod requests;
mod reserve;
pub(crate) mod restore;
pub(crate) mod shards;
pub(crate) mod steps;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::lookup::LookupMap;
use crate::presence::Presence;
use crate::rank_set::RankSet;
use crate::{Directory, LeaseId, Micros, ModelId, NodeNum, PoolRule, RequestId, SessionId};

use leases::Lease;
use op::{Op, Reply};
use requests::{Affinity, Answer};

/// Rules of a [`State`]. Every figure of DESIGN section 3 that concerns shared state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateConfig {
    /// Which pairs a node joins.
    pub pool_rule: PoolRule,
    /// Largest number of members of one shard, 1..=100.
    pub shard_size: usize,
    /// How capacity is enforced.
    pub capacity: CapacityCheck,
    /// Life of a confirmed lease without renewal.
    pub lease: Micros,
    /// Life of a reservation until it is confirmed.
    pub unconfirmed: Micros,
    /// How long an answer is kept after it ended.
    pub answer_life: Micros,
    /// Usage in permille at which a node takes no new jobs; absent: not looked at.
    pub usage_max: Option<u16>,
    /// Sessions stay with their first node for good, as the deployed scheduler has it.
    pub pin_sessions: bool,
    /// Nodes that left stay listed, as pool sets kept alive by any member have it.
    pub stale_members: bool,
    /// A counter is lost when its node registers anew and reads as "no jobs".
    pub missing_counter: bool,
}

impl Default for StateConfig {
    fn default() -> Self {
        Self {
            pool_rule: PoolRule::AsrXTts,
            shard_size: 100,
            capacity: CapacityCheck::Lease,
            lease: Micros::secs(30),
            unconfirmed: Micros::secs(5),
            answer_life: Micros::secs(600),
            usage_max: None,
            pin_sessions: false,
            stale_members: false,
            missing_counter: false,
        }
    }
}

/// How capacity is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CapacityCheck {
    /// Leases in a set; never more than the node's maximum.
    #[default]
    Lease,
    /// The documented script: a bare counter, compared with the maximum as strings.
    AsDocumented,
    /// Not at all: jobs queue at the node.
    Off,
}

#[derive(Debug, Clone)]
struct Node {
    generation: u32,
    // A removed node keeps its slot and generation, so that its old socket cannot touch a new one.
    live: bool,
    owner: crate::InstanceId,
    max_jobs: u32,
    // In order of grant. Jobs end in nearly that order, so both ends must be cheap.
    leases: VecDeque<Lease>,
    // Jobs the node reports beyond its leases, seen in two heartbeats in a row.
    unleased: u32,
    unleased_before: u32,
    draining: bool,
    overused: bool,
    usage_known_at: Micros,
    // Nothing is granted before the first heartbeat has told what is running.
    presence: Presence,
    // The bare counter of the documented script.
    counter: u32,
    model_losses: limits::ModelLosses,
    // When this node stands in the expiry queue; NEVER when it does not.
    expiry_at: Micros,
}

/// A copy of what an instance ranks by.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Who can do what.
    pub directory: Directory,
    /// Jobs at each node, by node number, leased or reported.
    pub loads: Vec<u32>,
    /// Who is registered: generation by node number; absent when gone.
    pub live: Vec<Option<u32>>,
}

/// Whatever executes the operations in this process: a [`State`], or a wrapper that watches one.
pub trait SharedState {
    /// One atomic step.
    fn apply(&mut self, now: Micros, op: &Op) -> Reply;
    /// Who can do what.
    fn directory(&self) -> &Directory;
    /// Jobs at each node, by node number.
    fn loads(&self) -> &[u32];
}

impl SharedState for State {
    fn apply(&mut self, now: Micros, op: &Op) -> Reply {
        Self::apply(self, now, op)
    }

    fn directory(&self) -> &Directory {
        &self.directory
    }

    fn loads(&self) -> &[u32] {
        &self.loads
    }
}

/// Shared state.
#[derive(Debug, Clone)]
pub struct State {
    config: StateConfig,
    nodes: Vec<Node>,
    number_of: LookupMap<Arc<str>, NodeNum>,
    directory: Directory,
    // By class: nodes with a free slot.
    free: Vec<RankSet>,
    // By node number; kept dense beside `nodes` for the policies that compare loads.
    loads: Vec<u32>,
    // Earliest lease expiry per node; entries may be outdated, see `Node::expiry_at`.
    expiries: BinaryHeap<Reverse<(Micros, NodeNum)>>,
    requests: LookupMap<RequestId, Answer>,
    // Ended requests in order of their removal.
    ended: VecDeque<(Micros, RequestId)>,
    affinities: LookupMap<SessionId, Affinity>,
    debounces: LookupMap<ModelId, Micros>,
    lease_total: u64,
    // On a Cluster alone, in place of `requests` and `free`.
    intents: intents::Intents,
    verdicts: reserve::Verdicts,
    hints: hints::Hints,
}

impl State {
    /// Most nodes.
    pub const NODES_MAX: u32 = 1 << 20;

    /// Range of a node's maximum of concurrent jobs.
    pub const MAX_JOBS: std::ops::RangeInclusive<u32> = 1..=1_024;

    /// An empty state.
    pub fn new(config: StateConfig) -> Self {
        Self {
            directory: Directory::new(config.pool_rule, config.shard_size),
            config,
            nodes: Vec::new(),
            number_of: LookupMap::default(),
            free: Vec::new(),
            loads: Vec::new(),
            expiries: BinaryHeap::new(),
            requests: LookupMap::default(),
            ended: VecDeque::new(),
            affinities: LookupMap::default(),
            debounces: LookupMap::default(),
            lease_total: 0,
            intents: intents::Intents::default(),
            verdicts: reserve::Verdicts::default(),
            hints: hints::Hints::default(),
        }
    }

    /// One atomic step.
    pub fn apply(&mut self, now: Micros, op: &Op) -> Reply {
        match op {
            Op::Register(register) => Reply::Registered(self.register(now, register)),
            Op::Heartbeat(node, report) => Reply::Node(self.heartbeat(now, *node, report)),
            Op::Drain(node, draining) => Reply::Node(self.drain(*node, *draining)),
            Op::Remove(node) => Reply::Node(self.remove(now, *node)),
            Op::ModelLost(node, model) => Reply::Node(self.model_lost(now, *node, *model)),
            Op::Dispatch(dispatch) => Reply::Dispatched(self.dispatch(now, dispatch)),
            Op::Open(open) => Reply::Intended(self.open(now, open)),
            Op::Reserve(reserve) => Reply::Reserved(self.reserve(now, reserve)),
            Op::Move(m) => Reply::Intended(self.move_intent(now, m)),
            Op::End(request, lease) => {
                self.end_intent(now, *request, *lease);
                Reply::Done
            }
            Op::Find(find) => Reply::Found(self.find(find)),
            Op::Hint(node, free) => {
                self.hint(*node, *free);
                Reply::Done
            }
            Op::Confirm(node, lease) => Reply::Confirmed(self.confirm(now, *node, *lease)),
            Op::Release(release) => Reply::Released(self.release(now, release)),
            Op::RecordAffinity(record) => {
                self.record_affinity(now, record);
                Reply::Done
            }
            Op::ClearAffinity(session) => {
                self.affinities.remove(session);
                Reply::Done
            }
            Op::Debounce(model, window) => Reply::First(self.debounce(now, *model, *window)),
            Op::Snapshot => Reply::Snapshot(Box::new(self.snapshot())),
        }
    }

    /// The rules.
    pub fn config(&self) -> &StateConfig {
        &self.config
    }

    /// Who can do what.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Jobs at each node, by node number.
    pub fn loads(&self) -> &[u32] {
        &self.loads
    }

    /// A copy of what an instance ranks by.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            directory: self.directory.clone(),
            loads: self.loads.clone(),
            live: self.nodes.iter().map(|n| n.live.then_some(n.generation)).collect(),
        }
    }

    /// Leases held on a node.
    pub fn lease_count(&self, node: NodeNum) -> u32 {
        self.nodes.get(node.index()).map_or(0, |node| node.leases.len() as u32)
    }

    /// All leases of all nodes.
    pub fn leases(&self) -> impl Iterator<Item = (NodeNum, LeaseId, Micros)> + '_ {
        self.nodes.iter().enumerate().flat_map(|(num, node)| {
            let num = NodeNum(num as u32);
            node.leases.iter().map(move |lease| (num, lease.id, lease.expires))
        })
    }

    /// Whether a lease is held on a node.
    pub fn holds(&self, node: NodeNum, lease: LeaseId) -> bool {
        let node = self.nodes.get(node.index());
        node.is_some_and(|node| node.leases.iter().any(|l| l.id == lease))
    }

    /// How many leases are held.
    pub fn lease_total(&self) -> u64 {
        self.lease_total
    }

    /// Leases held for one request; more than one would be a fault.
    pub fn leases_of(&self, request: RequestId) -> impl Iterator<Item = LeaseId> + '_ {
        let all = self.nodes.iter().flat_map(|node| &node.leases);
        all.filter(move |lease| lease.request == request).map(|lease| lease.id)
    }

    /// Ends every lease that has expired, on all nodes.
    pub fn sweep_all(&mut self, now: Micros) {
        for num in 0..self.nodes.len() as u32 {
            self.sweep_node(now, NodeNum(num));
        }
    }

    /// Whether a node has a slot that no lease and no reported job takes.
    pub fn has_room(&self, node: NodeNum) -> bool {
        self.nodes.get(node.index()).is_some_and(|node| node.busy() < node.max_jobs)
    }

    /// Whether a node has not been heard of for too long.
    pub fn presence_is_over(&self, now: Micros, node: crate::NodeRef) -> bool {
        self.nodes.get(node.num.index()).is_none_or(|node| node.presence.until() <= now)
    }

    /// Reads what the release of a request's slot on a node will look at, for callers that know of it
    /// beforehand. The number means nothing: whoever uses it makes sure that it has been read.
    pub fn foresee(&self, node: NodeNum, request: &RequestId) -> u32 {
        let lease = self.nodes.get(node.index()).and_then(|node| node.leases.front());
        let answer = self.requests.get(request);
        lease.map_or(0, |lease| lease.attempt) ^ answer.map_or(0, |answer| answer.attempt)
    }

    /// Whether a registered node's presence is still good.
    pub fn is_live(&self, node: crate::NodeRef) -> bool {
        self.current(node).is_ok()
    }
}
