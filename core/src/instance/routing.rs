//! Jobs whose session and node are held by different instances.

use crate::Op;
use crate::instance::jobs::key_of;
use crate::instance::link::Then;
use crate::instance::{Assign, Cx, Instance, Output, Routed};

impl Instance {
    pub(super) fn take_routed(&mut self, cx: &mut Cx<'_>, message: Routed) {
        match message {
            // The reservation has aged on the way: it must be made to last first.
            Routed::Assign(assign) => self.confirm(cx, assign),
            Routed::Full(job, attempt) => self.held_back(cx, key_of(job), attempt),
            Routed::Answer(answer, node) => self.answered(cx, node, answer),
            Routed::Lost(job, attempt) => self.attempt_lost(cx, key_of(job), attempt),
            Routed::Cancel(node, job) => cx.send(Output::Cancel(node, job)),
        }
    }

    pub(super) fn confirm(&mut self, cx: &mut Cx<'_>, assign: Assign) {
        let confirm = Op::Confirm(assign.node, assign.lease);
        self.step(cx, confirm, Then::Confirmed(Box::new(assign)));
    }

    /// The store has said whether a routed job's reservation lives.
    pub(super) fn confirmed(&mut self, cx: &mut Cx<'_>, assign: &Assign, lives: bool) {
        if !lives || !self.send_to_node(cx, assign) {
            self.refuse_routed(cx, assign);
        }
    }

    pub(super) fn refuse_routed(&mut self, cx: &mut Cx<'_>, assign: &Assign) {
        if assign.job.origin == self.config.id {
            self.held_back(cx, key_of(assign.job), assign.attempt);
            return;
        }
        let full = Routed::Full(assign.job, assign.attempt);
        cx.send(Output::Route(assign.job.origin, full));
    }
}
