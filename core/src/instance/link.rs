//! Steps on shared state: answered at once when it is embedded, under way when it is remote.

use crate::instance::across::Walk;
use crate::instance::slab::{Key, Slab};
use crate::instance::{Assign, Cx, Instance, Output, Store, Token};
use crate::{
    Grant, Micros, ModelId, NodeNum, NodeRef, Op, Outcome, Register, Release, Reply, RequestId,
    Reserved, SessionId, Snapshot,
};

/// How long a late grant is waited for; its lease is over by then.
const ORPHAN_LIFE: Micros = Micros::secs(60);
/// Times a step is sent again within the store's time-out.
const RESENDS: u64 = 4;

/// What to go on with when a step is answered.
#[derive(Debug, Clone)]
pub(super) enum Then {
    /// Send the job or look elsewhere.
    Dispatched(Key, (u32, RequestId)),
    /// Go on with a dispatch on a Cluster.
    Walk(Box<Walk>),
    /// A slot is given back on a Cluster: the session and the class are told.
    Ended(Release),
    /// Send a routed job or give it back.
    Confirmed(Box<Assign>),
    /// A slot may be free for a waiter.
    Freed(NodeNum),
    /// A node is registered.
    Registered(Box<Register>),
    /// A heartbeat was taken: its node may have room.
    Reported(NodeRef),
    /// Do a model's expensive work, once.
    Refresh(ModelId),
    /// A session is untied: its next job may go anywhere.
    Cleared(SessionId),
    /// Give the slot back: the request has failed meanwhile.
    GiveBack,
    /// Nothing.
    Rest,
}

#[derive(Debug)]
struct Pending {
    op: Box<Op>,
    then: Then,
    gives_up: Micros,
}

#[derive(Debug, Default)]
pub(super) struct Links {
    pending: Slab<Pending>,
    pub(super) snapshot: Snapshot,
}

impl Links {
    pub(super) fn is_pending(&self, key: Key) -> bool {
        self.pending.get(key).is_some()
    }
}

impl Instance {
    /// Starts a step and goes on with `then` when it is answered.
    pub(super) fn step(&mut self, cx: &mut Cx<'_>, op: Op, then: Then) {
        if let Store::Embedded(state) = &mut cx.store {
            let reply = state.apply(cx.now, &op);
            self.go_on(cx, then, reply);
            return;
        }
        let op = Box::new(op);
        let gives_up = cx.now + self.config.store_timeout;
        let pending = Pending { op: op.clone(), then, gives_up };
        let key = self.links.pending.insert(pending);
        self.expect_reply(cx, key);
        cx.send(Output::Store(token(key), op));
    }

    fn expect_reply(&mut self, cx: &Cx<'_>, key: Key) {
        let patience = Micros(self.config.store_timeout.0 / RESENDS);
        self.timers.store.push_back((cx.now + patience, key));
    }

    /// A reply of a remote store. A second reply to a step that was sent twice changes nothing.
    pub(super) fn take_reply(&mut self, cx: &mut Cx<'_>, token: Token, reply: Reply) {
        let Some(pending) = self.links.pending.remove(key(token)) else { return };
        if matches!(pending.then, Then::GiveBack) {
            self.give_back(cx, &pending.op, &reply);
        } else {
            self.go_on(cx, pending.then, reply);
        }
    }

    /// A grant for which nobody waits any more must not hold its slot.
    fn give_back(&mut self, cx: &mut Cx<'_>, op: &Op, reply: &Reply) {
        if let (Op::Reserve(r), Reply::Reserved(Reserved::Granted { grant, .. })) = (op, reply) {
            self.give_back_late(cx, *grant, r.attempt, r.request);
            return;
        }
        let (Op::Dispatch(d), Reply::Dispatched(dispatched)) = (op, reply) else { return };
        let (Outcome::Granted(grant) | Outcome::Repeated(grant)) = dispatched.outcome else {
            return;
        };
        self.give_back_late(cx, grant, d.attempt, d.request);
    }

    pub(super) fn give_back_late(
        &mut self,
        cx: &mut Cx<'_>,
        grant: Grant,
        attempt: u32,
        request: RequestId,
    ) {
        self.counters.late_grants += 1;
        let (node, lease) = (grant.node, grant.lease);
        self.release(cx, Release { node, lease, attempt, request });
    }

    /// No reply yet: the step is sent again, since all steps may be repeated; in the end the
    /// request fails.
    pub(super) fn store_is_late(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(pending) = self.links.pending.get_mut(key) else { return };
        let waits_on = cx.now < pending.gives_up;
        if waits_on {
            if !matches!(pending.then, Then::GiveBack) {
                let op = pending.op.clone();
                self.counters.store_retries += 1;
                cx.send(Output::Store(token(key), op));
            }
            self.expect_reply(cx, key);
            return;
        }
        let reserves = matches!(*pending.op, Op::Dispatch(_) | Op::Reserve(_));
        let dispatch = match &pending.then {
            Then::Dispatched(job, (attempt, _)) => Some((*job, *attempt)),
            Then::Walk(walk) if reserves => Some(walk.asked()),
            _ => None,
        };
        if let Some((job, attempt)) = dispatch {
            // The reply may still come, and with it a slot that nobody wants any more.
            pending.then = Then::GiveBack;
            pending.gives_up = cx.now + ORPHAN_LIFE;
            self.expect_reply(cx, key);
            self.store_is_down(cx, job, attempt);
            return;
        }
        let Some(pending) = self.links.pending.remove(key) else { return };
        match pending.then {
            Then::Confirmed(assign) => self.refuse_routed(cx, &assign),
            Then::Registered(register) => self.open_node(cx, register),
            Then::Cleared(session) => self.clear_again(session),
            Then::Walk(walk) => {
                let (job, attempt) = walk.asked();
                self.store_is_down(cx, job, attempt);
            }
            Then::Dispatched(..)
            | Then::Ended(_)
            | Then::Freed(_)
            | Then::Reported(_)
            | Then::Refresh(_)
            | Then::GiveBack
            | Then::Rest => {}
        }
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, then: Then, reply: Reply) {
        match (then, reply) {
            (Then::Dispatched(job, asked), Reply::Dispatched(dispatched)) => {
                self.dispatched(cx, job, asked, dispatched);
            }
            (Then::Confirmed(assign), Reply::Confirmed(lives)) => {
                self.confirmed(cx, &assign, lives);
            }
            (Then::Walk(walk), reply) => self.walk_on(cx, walk, &reply),
            (Then::Ended(release), Reply::Released(released)) => {
                self.tell_ended(cx, &release, released);
                self.serve_waiters(cx, release.node.num);
            }
            (Then::Freed(node), Reply::Released(_)) => self.serve_waiters(cx, node),
            (Then::Registered(register), Reply::Registered(result)) => {
                self.registered(cx, *register, result);
            }
            (Then::Reported(node), Reply::Node(Ok(()))) => self.serve_waiters(cx, node.num),
            (Then::Reported(node), Reply::Node(Err(_))) => self.generation_ended(cx, node),
            (Then::Refresh(model), Reply::First(true)) => cx.send(Output::RefreshModel(model)),
            (Then::Refresh(_), Reply::First(false))
            | (Then::Cleared(_) | Then::GiveBack | Then::Rest, _) => {}
            (then, reply) => unreachable!("{then:?} cannot be answered by {reply:?}"),
        }
    }

    pub(super) fn release(&mut self, cx: &mut Cx<'_>, release: Release) {
        let cluster = self.config.cluster;
        let then = if cluster { Then::Ended(release) } else { Then::Freed(release.node.num) };
        self.step(cx, Op::Release(release), then);
    }
}

fn token(key: Key) -> Token {
    Token(u64::from(key.version) << 32 | u64::from(key.slot))
}

fn key(token: Token) -> Key {
    Key { slot: token.0 as u32, version: (token.0 >> 32) as u32 }
}
