//! Nodes: registration, generations, heartbeats, drain, removal.

use std::collections::VecDeque;

use crate::presence::Presence;
use crate::state::limits::ModelLosses;
use crate::state::op::{Register, RegisterError, Report, StaleGeneration};
use crate::state::{Node, State};
use crate::{Capabilities, Micros, ModelId, NodeNum, NodeRef};

/// Leases that a new node has room for; more come with the jobs.
const LEASES_AT_FIRST: u32 = 16;

/// Usage older than this is unknown.
const USAGE_LIFE: Micros = Micros::secs(600);

/// How a registered node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStatus {
    /// Slots taken, by leases or by jobs that the node reports beyond them.
    pub running: u32,
    /// All its slots.
    pub max_jobs: u32,
    /// Whether it may be given jobs.
    pub state: NodeState,
}

/// Whether a node may be given jobs, and why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeState {
    /// It has free slots.
    Ready,
    /// All its slots are taken.
    Full,
    /// It asked for no new jobs.
    Draining,
    /// It is over its resource threshold.
    Overused,
    /// It has not reported since it registered.
    Unheard,
}

impl NodeState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Ready, Self::Full, Self::Draining, Self::Overused, Self::Unheard];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Full => "full",
            Self::Draining => "draining",
            Self::Overused => "overused",
            Self::Unheard => "unheard",
        }
    }
}

impl State {
    /// How a node stands; absent where its generation is not current.
    pub fn node_status(&self, node: NodeRef) -> Option<NodeStatus> {
        let node = self.current(node).ok()?;
        let state = match node {
            node if node.draining => NodeState::Draining,
            node if node.overused => NodeState::Overused,
            node if !node.presence.is_heard() => NodeState::Unheard,
            node if node.busy() >= node.max_jobs => NodeState::Full,
            _ => NodeState::Ready,
        };
        Some(NodeStatus { running: node.busy(), max_jobs: node.max_jobs, state })
    }

    /// Opens a generation. Leases of the former one stay until they end: the jobs may still run.
    pub(super) fn register(
        &mut self,
        now: Micros,
        register: &Register,
    ) -> Result<NodeRef, RegisterError> {
        if !Self::MAX_JOBS.contains(&register.max_jobs) {
            return Err(RegisterError::MaxJobs(register.max_jobs));
        }
        let num = self.number(now, register)?;
        self.leave_index(num);
        if let Err(full) = self.directory.list(num, &register.caps) {
            self.nodes[num.index()].live = false;
            return Err(full.into());
        }
        self.free.resize(self.directory.class_count(), Default::default());
        let forget_counter = self.config.missing_counter;
        let node = &mut self.nodes[num.index()];
        node.generation += 1;
        node.live = true;
        node.owner = register.owner;
        node.max_jobs = register.max_jobs;
        node.draining = false;
        node.overused = false;
        node.unleased = 0;
        node.unleased_before = 0;
        node.presence = Presence::new(now);
        if forget_counter {
            node.counter = 0;
        }
        let generation = node.generation;
        self.refresh(num);
        Ok(NodeRef { num, generation })
    }

    /// Takes note of a report and renews the node's leases.
    pub(super) fn heartbeat(
        &mut self,
        now: Micros,
        node_ref: NodeRef,
        report: &Report,
    ) -> Result<(), StaleGeneration> {
        self.current(node_ref)?;
        let num = node_ref.num;
        self.sweep_node(now, num);
        self.list_changes(num, report);
        let life = self.config.lease;
        let usage_max = self.config.usage_max;
        let node = &mut self.nodes[num.index()];
        node.presence.beat(now);
        if let Some(max_jobs) = report.max_jobs.filter(|max| Self::MAX_JOBS.contains(max)) {
            node.max_jobs = max_jobs;
        }
        node.renew(now, life, report.running);
        let beyond = report.running.saturating_sub(node.leases.len() as u32);
        node.unleased = beyond.min(node.unleased_before);
        node.unleased_before = beyond;
        if report.usage.iter().any(Option::is_some) {
            node.usage_known_at = now;
            let busiest = report.usage.iter().flatten().max().copied().unwrap_or(0);
            node.overused = usage_max.is_some_and(|max| busiest >= max);
        } else if now - node.usage_known_at > USAGE_LIFE {
            node.overused = false;
        }
        self.refresh(num);
        Ok(())
    }

    pub(super) fn drain(&mut self, node: NodeRef, draining: bool) -> Result<(), StaleGeneration> {
        self.current(node)?;
        self.nodes[node.num.index()].draining = draining;
        self.refresh(node.num);
        Ok(())
    }

    /// Ends a generation: the node is in no index; its leases end with their attempts.
    pub(super) fn remove(&mut self, now: Micros, node: NodeRef) -> Result<(), StaleGeneration> {
        self.current(node)?;
        self.sweep_node(now, node.num);
        self.nodes[node.num.index()].live = false;
        self.refresh(node.num);
        if !self.config.stale_members {
            self.directory.unlist(node.num);
        }
        Ok(())
    }

    /// Takes a model out of a node's index until a heartbeat lists it again.
    pub(super) fn model_lost(
        &mut self,
        now: Micros,
        node: NodeRef,
        model: ModelId,
    ) -> Result<(), StaleGeneration> {
        self.current(node)?;
        self.nodes[node.num.index()].model_losses.count(now, model);
        let Some(caps) = self.directory.capabilities(node.num) else { return Ok(()) };
        let mut caps = caps.clone();
        caps.models.retain(|&m| m != model);
        self.relist(node.num, &caps);
        Ok(())
    }

    /// The node of a current generation.
    pub(super) fn current(&self, node: NodeRef) -> Result<&Node, StaleGeneration> {
        match self.nodes.get(node.num.index()) {
            Some(n) if n.live && n.generation == node.generation => Ok(n),
            _ => Err(StaleGeneration),
        }
    }

    /// The number of a name, given for good at its first registration.
    fn number(&mut self, now: Micros, register: &Register) -> Result<NodeNum, RegisterError> {
        if let Some(&num) = self.number_of.get(&register.name) {
            self.sweep_node(now, num);
            return Ok(num);
        }
        let num = NodeNum(self.nodes.len() as u32);
        if num.0 >= Self::NODES_MAX {
            return Err(RegisterError::TooManyNodes(Self::NODES_MAX));
        }
        self.nodes.push(Node::new(register));
        self.loads.push(0);
        self.number_of.insert(register.name.clone(), num);
        Ok(num)
    }

    /// Moves a node to the class of what it now says that it has.
    fn list_changes(&mut self, num: NodeNum, report: &Report) {
        let Some(caps) = self.directory.capabilities(num) else { return };
        let models = report.models.as_ref().filter(|models| **models != caps.models);
        let features = report.features.filter(|features| *features != caps.features);
        if models.is_none() && features.is_none() {
            return;
        }
        let mut caps = caps.clone();
        caps.features = features.unwrap_or(caps.features);
        if let Some(models) = models {
            caps.models.clone_from(models);
        }
        self.relist(num, &caps);
    }

    /// A node that may come to another class must not stay in the free index of its former one.
    fn leave_index(&mut self, num: NodeNum) {
        if let Some(class) = self.directory.class_of_node(num) {
            self.free[class.0 as usize].remove(num.0);
        }
    }

    fn relist(&mut self, num: NodeNum, caps: &Capabilities) {
        self.leave_index(num);
        // The pairs are the same ones the node has just left, so there is room.
        let listed = self.directory.list(num, caps);
        assert!(listed.is_ok(), "a node left each shard that it joins");
        self.free.resize(self.directory.class_count(), Default::default());
        self.refresh(num);
    }

    /// Brings the indexes in line with a node after any change to it.
    pub(super) fn refresh(&mut self, num: NodeNum) {
        let node = &self.nodes[num.index()];
        let busy = node.busy();
        self.loads[num.index()] = busy;
        let may_take = may_take(node);
        let listed_dead = self.config.stale_members && !node.live;
        let has_room = may_take && busy < node.max_jobs;
        let Some(class) = self.directory.class_of_node(num) else { return };
        self.directory.set_available(num, may_take || listed_dead);
        let free = &mut self.free[class.0 as usize];
        if has_room {
            free.insert(num.0);
        } else {
            free.remove(num.0);
        }
    }
}

/// Whether a node may be given jobs, room apart.
pub(super) fn may_take(node: &Node) -> bool {
    node.live && node.presence.is_heard() && !node.draining && !node.overused
}

impl Node {
    fn new(register: &Register) -> Self {
        Self {
            generation: 0,
            live: false,
            owner: register.owner,
            max_jobs: register.max_jobs,
            leases: VecDeque::with_capacity(register.max_jobs.min(LEASES_AT_FIRST) as usize),
            unleased: 0,
            unleased_before: 0,
            draining: false,
            overused: false,
            usage_known_at: Micros::ZERO,
            presence: Presence::new(Micros::ZERO),
            counter: 0,
            model_losses: ModelLosses::default(),
            expiry_at: Micros::NEVER,
        }
    }

    /// Slots taken, by leases or by jobs the node has beyond them.
    pub(super) fn busy(&self) -> u32 {
        self.leases.len() as u32 + self.unleased
    }
}
