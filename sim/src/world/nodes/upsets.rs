//! What faults do to a node without ending it: it hangs, or its maximum of jobs changes.

use lingua_core::NodeRef;

use super::Phase;
use crate::world::mail::{Leg, Mail};
use crate::world::{Event, World};

impl World {
    /// A node takes another maximum, or that of the file again, and reports at once.
    pub(in crate::world) fn node_changes_max_jobs(&mut self, at: u32, max_jobs: Option<u32>) {
        let node = &mut self.nodes[at as usize];
        node.max_jobs = max_jobs.unwrap_or(node.max_jobs_of_file);
        let silent = node.silent;
        if let Some(node_ref) = node.socket.and_then(|socket| socket.node).filter(|_| !silent) {
            self.node_reports(at, node_ref);
        }
        self.start_works(at);
    }

    /// An instance has heard of a node's maximum: what it sent before is under way.
    pub(in crate::world) fn confirm_max_jobs(&mut self, node_ref: NodeRef, max_jobs: u32) {
        let latency = self.latency(Leg::Node);
        let Some(&at) = self.node_of_num.get(node_ref.num.index()) else { return };
        let arrives = (self.now + latency).max(self.nodes[at as usize].down_clear);
        self.post(arrives, Mail::MaxJobsHeard(node_ref, max_jobs));
    }

    /// Everything that was sent before an instance heard of the node's maximum has arrived.
    pub(in crate::world) fn max_jobs_is_told(&mut self, node_ref: NodeRef, max_jobs: u32) {
        if let Some(&at) = self.node_of_num.get(node_ref.num.index()) {
            self.nodes[at as usize].max_jobs_told = max_jobs;
        }
    }

    /// A node hangs half-open: its socket stays, nothing comes out of it.
    pub(in crate::world) fn node_hangs(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        if node.phase == Phase::Up && node.socket.is_some() {
            node.silent = true;
            self.trace.node_is(self.now, at, "silent");
            node.hung_at = Some(self.now);
        }
    }

    /// A hung node wakes: it has lost its work and opens a new socket.
    pub(in crate::world) fn node_unhangs(&mut self, at: u32) {
        self.trace.node_is(self.now, at, "wakes");
        self.trace.jobs_lost(self.now, at);
        let node = &mut self.nodes[at as usize];
        node.silent = false;
        node.works.clear();
        node.queued.clear();
        node.life += 1;
        self.node_level_changed(at, false);
        self.node_closes_socket(at);
        self.queue.push(self.now, Event::NodeWake(at));
    }

    /// The owner of a node's socket has noticed that it hangs.
    pub(in crate::world) fn hang_noticed(&mut self, node_ref: NodeRef) {
        let Some(&at) = self.node_of_num.get(node_ref.num.index()) else { return };
        if let Some(hung) = self.nodes.get_mut(at as usize).and_then(|node| node.hung_at.take()) {
            self.recorder.hang_noticed(self.now - hung);
        }
    }
}
