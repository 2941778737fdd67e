//! Nodes: which socket is which node's, and what is sent there.

use std::collections::HashMap;
use std::sync::Arc;

use lingua_core::instance::{Assign, Input, JobId};
use lingua_core::{Micros, NodeRef, RegisterError, State};
use lingua_protocol::{
    CloseCode, ErrorCode, ErrorMessage, JobCancel, NodeId, NodeRegisterAck, Note, ShortText,
};

use crate::event::{JobForNode, OpenNode, Outbox, Outgoing, SocketId};
use crate::hub::answers::Receivers;
use crate::hub::counts::NodeGone;
use crate::hub::{Hub, NodeSample};
use crate::profile::{Beat, Profile, Services};
use crate::wire::{self, text};

/// Jobs for which a node lacked a model that bar it until its next heartbeat.
const LACKING_MAX: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Nodes {
    // Registrations under way, oldest first.
    opening: Vec<Node>,
    sockets: HashMap<SocketId, NodeRef>,
    nodes: HashMap<NodeRef, Node>,
}

#[derive(Debug)]
struct Node {
    name: Arc<str>,
    socket: SocketId,
    outbox: Outbox,
    // The operator's wish.
    drained: bool,
    // Jobs since the last heartbeat for which it lacked a model.
    lacking: u32,
    // What follows is shown and decides nothing.
    profile: Arc<Profile>,
    services: Services,
    usage: [Option<u16>; 3],
    heard: Micros,
    since: Micros,
}

impl Nodes {
    pub(super) fn of_socket(&self, socket: SocketId) -> Option<NodeRef> {
        self.sockets.get(&socket).copied()
    }

    /// A node's name; empty where it is gone.
    pub(super) fn name(&self, node: NodeRef) -> &str {
        self.nodes.get(&node).map_or("", |entry| &entry.name)
    }

    pub(super) fn samples<'a>(&'a self, state: &'a State) -> impl Iterator<Item = NodeSample> + 'a {
        self.nodes.iter().filter_map(|(&node, entry)| {
            Some(NodeSample {
                name: entry.name.clone(),
                profile: entry.profile.clone(),
                status: state.node_status(node)?,
                services: entry.services,
                usage: entry.usage,
                heard: entry.heard,
                since: entry.since,
            })
        })
    }

    fn send(&self, node: NodeRef, message: Outgoing) {
        if let Some(node) = self.nodes.get(&node) {
            node.outbox.post(message);
        }
    }
}

impl Hub {
    pub(super) fn open_node(&mut self, open: OpenNode) {
        let OpenNode { socket, register, profile, services, outbox } = open;
        let now = self.clock.now();
        self.nodes.opening.push(Node {
            name: register.name.clone(),
            socket,
            outbox,
            drained: false,
            lacking: 0,
            profile: Arc::new(profile),
            services,
            usage: [None; 3],
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
            Ok(node) => {
                let id = NodeId::new(&entry.name).expect("the name came from a node id");
                let message = Note::cut("registered");
                let status = ShortText::cut("registering");
                let ack = NodeRegisterAck { node_id: id, message, status };
                entry.outbox.post(Outgoing::Text(text!(ToNode, ack)));
                nodes.sockets.insert(entry.socket, node);
                let max_jobs = self.state.node_status(node).map_or(0, |status| status.max_jobs);
                let pairs = entry.profile.languages.pairs(self.state.config().pool_rule);
                self.log.node_registered(self.clock.now(), &entry.name, max_jobs, &pairs);
                nodes.nodes.insert(node, entry);
                self.counts.registered += 1;
            }
            Err(error) => {
                self.counts.registrations_refused += 1;
                self.log.node_refused(self.clock.now(), &entry.name, &error);
                entry.outbox.post(refusal(ErrorCode::InvalidCapabilitySchema, &error.to_string()));
            }
        }
    }

    pub(super) fn take_heartbeat(&mut self, socket: SocketId, beat: Beat) {
        let Some(node) = self.nodes.of_socket(socket) else { return };
        if let Some(entry) = self.nodes.nodes.get_mut(&node) {
            entry.heard = self.clock.now();
            entry.usage = beat.report.usage;
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
        let held = entry.lacking >= LACKING_MAX;
        self.handle(Input::Drain(node, draining || held));
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
        let replaced = self.nodes.opening.iter().any(|opening| opening.name == entry.name);
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
        self.nodes.opening.retain(|opening| opening.socket != socket);
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
        let running = self.state.loads().get(node.num.index()).copied().unwrap_or(0);
        self.log.node_lost(now, &entry.name, why, running);
        if matches!(why, NodeGone::Replaced) {
            return;
        }
        let directory = self.state.directory();
        let mut pairs = entry.profile.languages.pairs(self.state.config().pool_rule);
        pairs.retain(|&pair| {
            let others = directory.shards(pair).map_or(0, |shards| shards.len());
            others == u32::from(directory.speaks(node.num, pair))
        });
        if !pairs.is_empty() {
            self.log.pools_empty(now, &entry.name, &pairs);
        }
    }

    pub(super) fn assign(&mut self, assign: Assign) {
        let Some(open) = self.answers.assigned(&assign) else { return };
        let utterance = open.utterance.clone();
        let for_room = open.receivers != Receivers::Speaker;
        self.tell_dispatched(&assign, &utterance.choices.trace);
        self.log.dispatched(self.clock.now(), &assign, self.nodes.name(assign.node));
        // A node that does not take it is closed by its own task; the job is then dispatched anew.
        let job = JobForNode { assign, utterance, for_room };
        self.nodes.send(assign.node, Outgoing::Job(Box::new(job)));
        let hangover = assign.reason.map_or(Micros::ZERO, |reason| reason.hangover(&self.finalize));
        self.counts.dispatched(&assign, self.clock.now() - assign.sent - hangover);
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
