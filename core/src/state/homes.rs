//! Where each operation has its home, and what a slot that fails over loses.

use crate::state::State;
use crate::state::op::Op;
use crate::{ClassId, ModelId, NodeNum, SessionId};

/// What decides the slot of an operation on a Cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Home {
    /// A session: intents and affinity.
    Session(SessionId),
    /// A node: its leases and what it reports.
    Node(NodeNum),
    /// A capability class: its free index.
    Class(ClassId),
    /// A model: its debounce.
    Model(ModelId),
    /// All slots.
    All,
}

impl State {
    /// The home of an operation. A node that registers for the first time has none yet.
    pub fn home(&self, op: &Op) -> Home {
        match op {
            Op::Register(register) => {
                self.number_of.get(&register.name).map_or(Home::All, |&num| Home::Node(num))
            }
            Op::Heartbeat(node, _)
            | Op::Drain(node, _)
            | Op::Remove(node)
            | Op::ModelLost(node, _)
            | Op::Confirm(node, _) => Home::Node(node.num),
            Op::Release(release) => Home::Node(release.node.num),
            Op::Reserve(reserve) => Home::Node(reserve.target.node),
            Op::Dispatch(d) => Home::Session(d.request.session),
            Op::Open(open) => Home::Session(open.request.session),
            Op::Move(m) => Home::Session(m.request.session),
            Op::End(request, _) => Home::Session(request.session),
            Op::RecordAffinity(record) => Home::Session(record.session),
            Op::ClearAffinity(session) => Home::Session(*session),
            Op::Hint(node, _) => {
                self.directory.class_of_node(*node).map_or(Home::Node(*node), Home::Class)
            }
            Op::Find(find) => Home::Class(find.class),
            Op::Debounce(model, _) => Home::Model(*model),
            Op::Snapshot => Home::All,
        }
    }

    /// Some slots fail over to an older copy: what their homes have written since is lost.
    pub fn fail_over(&mut self, replica: Self, lost: impl Fn(Home) -> bool) {
        let Self { nodes, directory, intents, affinities, debounces, .. } = replica;
        let lost_session = |session| lost(Home::Session(session));
        self.intents.by_request.take_over(intents.by_request, |r| lost_session(r.session));
        self.affinities.take_over(affinities, |&session| lost_session(session));
        self.debounces.take_over(debounces, |&model| lost(Home::Model(model)));
        self.verdicts.forget(|num| lost(Home::Node(num)));
        for at in 0..self.nodes.len() {
            let num = NodeNum(at as u32);
            if !lost(Home::Node(num)) {
                continue;
            }
            if let Some(class) = self.directory.class_of_node(num) {
                self.free[class.0 as usize].remove(num.0);
            }
            self.lease_total -= self.nodes[at].leases.len() as u64;
            self.directory.unlist(num);
            match nodes.get(at) {
                Some(node) => self.nodes[at] = node.clone(),
                // It registered since: its name and number stay, as they are given for good.
                None => {
                    self.nodes[at].live = false;
                    self.nodes[at].leases.clear();
                }
            }
            self.nodes[at].expiry_at = crate::Micros::NEVER;
            self.lease_total += self.nodes[at].leases.len() as u64;
            if let Some(caps) = directory.capabilities(num) {
                // A pair that is full by now leaves the node out until it registers again.
                self.nodes[at].live &= self.directory.list(num, caps).is_ok();
            }
            self.free.resize(self.directory.class_count(), Default::default());
            self.refresh(num);
            self.sweep_node(crate::Micros::ZERO, num);
        }
    }
}
