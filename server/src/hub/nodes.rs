//! Nodes: which socket is which node's, and what is sent there.

use std::collections::HashMap;
use std::sync::Arc;

use lingua_core::instance::{Assign, Input, Instance, JobId};
use lingua_core::{Micros, NodeRef, Register, RegisterError, Report};
use lingua_protocol::{
    CloseCode, ErrorCode, ErrorMessage, JobCancel, NodeId, NodeRegisterAck, Note, ShortText,
};

use crate::event::{JobForNode, OpenNode, Outbox, Outgoing, SocketId};
use crate::hub::answers::Receivers;
use crate::hub::counts::NodeGone;
use crate::hub::home::Home;
use crate::hub::{Abroad, Hub, NodeSample};
use crate::profile::{Beat, Profile, Services};
use crate::wire::{self, text};

/// Jobs for which a node lacked a model that bar it until its next heartbeat.
const LACKING_MAX: u32 = 10;

/// A silent node has been silent for longer.
const JUST_HEARD: Micros = Micros::millis(2_500);

/// After so long beyond the time for returning the instance has given former nodes up.
const FORMER_GIVEN_UP: Micros = Micros::millis(500);

#[derive(Debug, Default)]
pub(super) struct Nodes {
    // Registrations under way, oldest first.
    opening: Vec<Node>,
    sockets: HashMap<SocketId, NodeRef>,
    nodes: HashMap<NodeRef, Node>,
    // After a store has lost everything: until when nobody registers, and who waits. As many as
    // there are sockets at most.
    closed_until: Micros,
    waiting: Vec<OpenNode>,
}

#[derive(Debug, Clone)]
struct Node {
    name: Arc<str>,
    socket: SocketId,
    outbox: Outbox,
    // What it is registered with, and what it reported last: for a store that has forgotten it.
    register: Box<Register>,
    report: Option<Report>,
    // Whether its generation's first report is on its way to the store.
    announced: bool,
    // Its socket is gone while it registers.
    closed: bool,
    // It was registered before, on the same socket.
    again: bool,
    // The operator's wish.
    drained: bool,
    // Jobs since the last heartbeat for which it lacked a model.
    lacking: u32,
    // What follows is shown and decides nothing.
    profile: Arc<Profile>,
    services: Services,
    heard: Micros,
    since: Micros,
}

impl Node {
    /// Whether it gets no new jobs by the operator's wish, or because it lacks models.
    fn is_held(&self) -> bool {
        self.drained || self.lacking >= LACKING_MAX
    }
}

impl Nodes {
    pub(super) fn of_socket(&self, socket: SocketId) -> Option<NodeRef> {
        self.sockets.get(&socket).copied()
    }

    /// Whether a node reports for the first time: only from then on it may be given jobs.
    pub(super) fn is_first_report(&mut self, node: NodeRef) -> bool {
        let entry = self.nodes.get_mut(&node);
        entry.is_some_and(|entry| !std::mem::replace(&mut entry.announced, true))
    }

    /// A node's name; empty where it is gone.
    pub(super) fn name(&self, node: NodeRef) -> &str {
        self.nodes.get(&node).map_or("", |entry| &entry.name)
    }

    pub(super) fn samples<'a>(
        &'a self,
        home: &'a Home,
        instance: &'a Instance,
    ) -> impl Iterator<Item = NodeSample> + 'a {
        self.nodes.iter().filter_map(|(&node, entry)| {
            let usage = entry.report.as_ref().map_or([None; 3], |report| report.usage);
            Some(NodeSample {
                name: entry.name.clone(),
                profile: entry.profile.clone(),
                status: home.status(instance, node, entry.is_held(), usage)?,
                services: entry.services,
                usage,
                heard: entry.heard,
                since: entry.since,
            })
        })
    }

    pub(super) fn send(&self, node: NodeRef, message: Outgoing) {
        if let Some(node) = self.nodes.get(&node) {
            node.outbox.post(message);
        }
    }
}

impl Hub {
    pub(super) fn open_node(&mut self, open: OpenNode) {
        if self.clock.now() < self.nodes.closed_until {
            self.nodes.waiting.push(open);
            return;
        }
        let OpenNode { socket, register, profile, services, outbox } = open;
        let now = self.clock.now();
        self.nodes.opening.push(Node {
            name: register.name.clone(),
            socket,
            outbox,
            register: register.clone(),
            report: None,
            announced: false,
            closed: false,
            again: false,
            drained: false,
            lacking: 0,
            profile: Arc::new(profile),
            services,
            heard: now,
            since: now,
        });
        self.handle(Input::NodeOpened(register));
    }

    pub(super) fn node_registered(&mut self, name: &str, result: Result<NodeRef, RegisterError>) {
        let nodes = &mut self.nodes;
        let Some(at) = nodes.opening.iter().position(|opening| *opening.name == *name) else {
            return;
        };
        let entry = nodes.opening.remove(at);
        match result {
            // Its socket went while it registered.
            Ok(node) if entry.closed => self.handle(Input::NodeClosed(node)),
            Ok(node) if entry.again => self.go_on_with(node, entry),
            Ok(node) => {
                let id = NodeId::new(&entry.name).expect("the name came from a node id");
                let message = Note::cut("registered");
                let status = ShortText::cut("registering");
                let ack = NodeRegisterAck { node_id: id, message, status };
                entry.outbox.post(Outgoing::Text(text!(ToNode, ack)));
                nodes.sockets.insert(entry.socket, node);
                let max_jobs = entry.register.max_jobs;
                let pairs = entry.profile.languages.pairs(self.home.pool_rule());
                self.log.node_registered(self.clock.now(), &entry.name, max_jobs, &pairs);
                nodes.nodes.insert(node, entry);
                self.counts.registered += 1;
            }
            Err(error) => {
                self.counts.registrations_refused += 1;
                self.log.node_refused(self.clock.now(), &entry.name, &error);
                entry.outbox.post(refusal(ErrorCode::InvalidCapabilitySchema, &error.to_string()));
                if entry.again {
                    entry.outbox.post(Outgoing::Close(CloseCode::TryAgainLater));
                }
            }
        }
    }

    /// The store has forgotten this instance's nodes: each is registered anew, and goes on with the
    /// jobs that it has.
    pub(super) fn register_all_again(&mut self) {
        let mut nodes: Vec<_> = self
            .nodes
            .nodes
            .iter()
            .map(|(&node, entry)| {
                (node, Node { announced: false, closed: false, again: true, ..entry.clone() })
            })
            .collect();
        nodes.sort_unstable_by_key(|(node, _)| *node);
        for (_, entry) in nodes {
            let register = entry.register.clone();
            self.nodes.opening.push(entry);
            self.handle(Input::NodeOpened(register));
        }
    }

    /// This instance stops: where there are others its nodes get no new jobs, until they register
    /// there.
    pub(super) fn hand_nodes_over(&mut self) {
        if self.abroad.as_ref().is_none_or(Abroad::is_alone) {
            return;
        }
        let held = |(_, entry): &(_, &Node)| !entry.drained;
        let nodes = self.nodes.nodes.iter().map(|(&node, entry)| (node, entry));
        let mut nodes: Vec<_> = nodes.filter(held).map(|(node, _)| node).collect();
        nodes.sort_unstable();
        for node in nodes {
            if let Some(entry) = self.nodes.nodes.get_mut(&node) {
                entry.drained = true;
            }
            self.handle(Input::Drain(node, true));
        }
    }

    /// The store has lost the numbers of nodes. A number may come to another node, so none goes on:
    /// all sockets are closed, and whoever registers waits until the former ones are given up.
    pub(super) fn start_nodes_over(&mut self) {
        let mut nodes: Vec<_> = self.nodes.nodes.drain().collect();
        nodes.sort_unstable_by_key(|(node, _)| *node);
        for (node, entry) in nodes {
            self.nodes.sockets.remove(&entry.socket);
            entry.outbox.post(Outgoing::Close(CloseCode::GoingAway));
            self.node_gone(node, &entry, NodeGone::Closed);
            self.handle(Input::NodeClosed(node));
        }
        self.nodes.closed_until = self.clock.now() + self.rejoin + FORMER_GIVEN_UP;
    }

    /// Lets in those who had to wait.
    pub(super) fn admit_nodes(&mut self) {
        if self.nodes.waiting.is_empty() || self.clock.now() < self.nodes.closed_until {
            return;
        }
        for open in std::mem::take(&mut self.nodes.waiting) {
            self.open_node(open);
        }
    }

    /// When the next of them is let in.
    pub(super) fn next_admission(&self) -> Micros {
        if self.nodes.waiting.is_empty() { Micros::NEVER } else { self.nodes.closed_until }
    }

    /// A node has its new generation. What it reported last stands in for its next report, which
    /// may be long in coming.
    fn go_on_with(&mut self, node: NodeRef, entry: Node) {
        let (held, report) = (entry.is_held(), entry.report.clone());
        self.nodes.sockets.insert(entry.socket, node);
        self.nodes.nodes.insert(node, Node { again: false, ..entry });
        if let Some(report) = report {
            self.handle(Input::Heartbeat(node, report));
        }
        if held {
            self.handle(Input::Drain(node, true));
        }
    }

    pub(super) fn take_heartbeat(&mut self, socket: SocketId, beat: Beat) {
        let Some(node) = self.nodes.of_socket(socket) else { return };
        if let Some(entry) = self.nodes.nodes.get_mut(&node) {
            entry.heard = self.clock.now();
            entry.report = Some(beat.report.clone());
            if let Some(features) = beat.report.features {
                entry.register.caps.features = features;
            }
            if let Some(max_jobs) = beat.report.max_jobs {
                entry.register.max_jobs = max_jobs;
            }
            entry.services = beat.services;
            let held = entry.lacking >= LACKING_MAX && !entry.drained;
            entry.lacking = 0;
            if held {
                self.handle(Input::Drain(node, false));
            }
        }
        self.handle(Input::Heartbeat(node, beat.report));
    }

    /// A node that lacks models one job after the other gets none until it reports again.
    pub(super) fn lacks_model(&mut self, node: NodeRef) {
        let Some(entry) = self.nodes.nodes.get_mut(&node) else { return };
        entry.lacking += 1;
        if entry.lacking == LACKING_MAX && !entry.drained {
            self.handle(Input::Drain(node, true));
        }
    }

    /// What the operator asks; tells whether there is such a node.
    pub(super) fn drain_node(&mut self, name: &str, draining: bool) -> bool {
        let mut nodes = self.nodes.nodes.iter_mut();
        let Some((&node, entry)) = nodes.find(|(_, entry)| *entry.name == *name) else {
            return false;
        };
        entry.drained = draining;
        let held = entry.is_held();
        self.handle(Input::Drain(node, held));
        true
    }

    /// A result that nobody waits for.
    pub(super) fn refuse_result(&mut self, node: NodeRef, job: JobId, attempt: u32) {
        self.counts.stale_results += 1;
        let job = wire::job_id(job);
        let message = format!("job_result: attempt {attempt} at {job} is not this node's, or over");
        self.nodes.send(node, refusal(ErrorCode::InvalidMessage, &message));
    }

    /// A node that was silent too long, or whose id a newer socket took.
    pub(super) fn expel_node(&mut self, node: NodeRef) {
        let Some(entry) = self.nodes.nodes.remove(&node) else { return };
        self.nodes.sockets.remove(&entry.socket);
        // The instance closes the old socket before it answers the new one.
        let newer = self.nodes.opening.iter().find(|opening| opening.name == entry.name);
        if newer.is_some_and(|newer| newer.socket == entry.socket) {
            // It goes on under a new generation.
            return;
        }
        // A node that was heard just now is not silent: it has opened a socket elsewhere.
        let replaced = newer.is_some() || self.clock.now() - entry.heard < JUST_HEARD;
        self.node_gone(node, &entry, if replaced { NodeGone::Replaced } else { NodeGone::Silent });
        let code = if replaced {
            let message = "a newer socket registered this node_id: give each node its own";
            entry.outbox.post(refusal(ErrorCode::NodeIdConflict, message));
            CloseCode::NodeIdConflict
        } else {
            CloseCode::Idle
        };
        entry.outbox.post(Outgoing::Close(code));
    }

    pub(super) fn close_node(&mut self, socket: SocketId) {
        self.nodes.waiting.retain(|open| open.socket != socket);
        for opening in self.nodes.opening.iter_mut().filter(|opening| opening.socket == socket) {
            opening.closed = true;
        }
        let Some(node) = self.nodes.sockets.remove(&socket) else { return };
        let Some(entry) = self.nodes.nodes.remove(&node) else { return };
        self.node_gone(node, &entry, NodeGone::Closed);
        self.handle(Input::NodeClosed(node));
    }

    /// Counts and tells that a node is no longer served; its place in the pools may be taken away
    /// before or after.
    fn node_gone(&mut self, node: NodeRef, entry: &Node, why: NodeGone) {
        self.counts.gone(why);
        let now = self.clock.now();
        let running = self.home.running(&self.instance, node);
        self.log.node_lost(now, &entry.name, why, running);
        if matches!(why, NodeGone::Replaced) {
            return;
        }
        let directory = self.home.directory(&self.instance);
        let mut pairs = entry.profile.languages.pairs(self.home.pool_rule());
        pairs.retain(|&pair| {
            let others = directory.shards(pair).map_or(0, |shards| shards.len());
            others == u32::from(directory.speaks(node.num, pair))
        });
        if !pairs.is_empty() {
            self.log.pools_empty(now, &entry.name, &pairs);
        }
    }

    pub(super) fn assign(&mut self, assign: Assign) {
        if self.abroad.as_ref().is_some_and(|abroad| abroad.is_guest(assign.job)) {
            self.assign_guest(&assign);
            return;
        }
        let Some(open) = self.answers.assigned(&assign) else { return };
        let utterance = open.utterance.clone();
        let for_room = open.receivers != Receivers::Speaker;
        self.tell_dispatched(&assign, &utterance.choices.trace);
        self.log.dispatched(self.clock.now(), &assign, self.nodes.name(assign.node));
        // A node that does not take it is closed by its own task; the job is then dispatched anew.
        let job = JobForNode { assign, utterance, for_room };
        self.nodes.send(assign.node, Outgoing::Job(Box::new(job)));
        self.count_dispatched(&assign);
    }

    pub(super) fn count_dispatched(&mut self, assign: &Assign) {
        let hangover = assign.reason.map_or(Micros::ZERO, |reason| reason.hangover(&self.finalize));
        self.counts.dispatched(assign, self.clock.now() - assign.sent - hangover);
    }

    pub(super) fn cancel(&mut self, node: NodeRef, job: JobId) {
        let cancel = JobCancel {
            job_id: wire::job_id(job),
            trace_id: None,
            reason: Some(Note::cut("job_timeout")),
        };
        self.nodes.send(node, Outgoing::Text(text!(ToNode, cancel)));
    }
}

pub(crate) fn refusal(code: ErrorCode, message: &str) -> Outgoing {
    let error = ErrorMessage { code, message: Note::cut(message), details: None };
    Outgoing::Text(text!(ToNode, error))
}
