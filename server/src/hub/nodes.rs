//! Nodes: which socket is which node's, and what is sent there.

use std::collections::HashMap;
use std::sync::Arc;

use lingua_core::instance::{Assign, Input, JobId};
use lingua_core::{NodeRef, RegisterError};
use lingua_protocol::{
    CloseCode, ErrorCode, ErrorMessage, JobCancel, NodeId, NodeRegisterAck, Note, ShortText,
};

use crate::event::{JobForNode, OpenNode, Outbox, Outgoing, SocketId};
use crate::hub::Hub;
use crate::hub::answers::Receivers;
use crate::wire::{self, text};

#[derive(Debug, Default)]
pub(super) struct Nodes {
    // Registrations under way, oldest first.
    opening: Vec<(Arc<str>, SocketId, Outbox)>,
    sockets: HashMap<SocketId, NodeRef>,
    nodes: HashMap<NodeRef, Node>,
}

#[derive(Debug)]
struct Node {
    name: Arc<str>,
    socket: SocketId,
    outbox: Outbox,
}

impl Nodes {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn of_socket(&self, socket: SocketId) -> Option<NodeRef> {
        self.sockets.get(&socket).copied()
    }

    fn send(&self, node: NodeRef, message: Outgoing) {
        if let Some(node) = self.nodes.get(&node) {
            node.outbox.post(message);
        }
    }
}

impl Hub {
    pub(super) fn open_node(&mut self, open: OpenNode) {
        let OpenNode { socket, register, outbox } = open;
        self.nodes.opening.push((register.name.clone(), socket, outbox));
        self.handle(Input::NodeOpened(register));
    }

    pub(super) fn node_registered(&mut self, name: &str, result: Result<NodeRef, RegisterError>) {
        let nodes = &mut self.nodes;
        let Some(at) = nodes.opening.iter().position(|(opening, ..)| **opening == *name) else {
            return;
        };
        let (name, socket, outbox) = nodes.opening.remove(at);
        match result {
            Ok(node) => {
                let id = NodeId::new(&name).expect("the name came from a node id");
                let message = Note::cut("registered");
                let status = ShortText::cut("registering");
                let ack = NodeRegisterAck { node_id: id, message, status };
                outbox.post(Outgoing::Text(text!(ToNode, ack)));
                nodes.sockets.insert(socket, node);
                nodes.nodes.insert(node, Node { name, socket, outbox });
            }
            Err(error) => {
                self.counts.registrations_refused += 1;
                outbox.post(refusal(ErrorCode::InvalidCapabilitySchema, &error.to_string()));
            }
        }
    }

    /// A node that was silent too long, or whose id a newer socket took.
    pub(super) fn expel_node(&mut self, node: NodeRef) {
        let Some(entry) = self.nodes.nodes.remove(&node) else { return };
        self.nodes.sockets.remove(&entry.socket);
        // The instance closes the old socket before it answers the new one.
        let replaced = self.nodes.opening.iter().any(|(name, ..)| *name == entry.name);
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
        self.nodes.opening.retain(|&(_, opening, _)| opening != socket);
        let Some(node) = self.nodes.sockets.remove(&socket) else { return };
        self.nodes.nodes.remove(&node);
        self.handle(Input::NodeClosed(node));
    }

    pub(super) fn assign(&mut self, assign: Assign) {
        let Some(open) = self.answers.assigned(&assign) else { return };
        let utterance = open.utterance.clone();
        let for_room = open.receivers != Receivers::Speaker;
        self.tell_dispatched(&assign, &utterance.choices.trace);
        // A node that does not take it is closed by its own task; the job is then dispatched anew.
        let node = assign.node;
        self.nodes.send(node, Outgoing::Job(Box::new(JobForNode { assign, utterance, for_room })));
        self.counts.assigned += 1;
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
