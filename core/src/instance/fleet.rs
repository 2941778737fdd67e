//! Nodes whose sockets this instance holds, and the gate in front of them.
//!
//! The store alone cannot keep `running ≤ max_jobs`: a lost write or an expiry frees a slot on
//! which the machine still works. So the owner of the socket counts jobs sent and not answered.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::instance::jobs::key_of;
use crate::instance::link::Then;
use crate::instance::{Answer, Assign, Cx, Instance, JobId, Output, Routed};
use crate::presence::Presence;
use crate::{Micros, NodeRef, Op, Register, RegisterError, Report};

/// Answers remembered per socket.
const ANSWERED_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Fleet {
    conns: Vec<Option<Conn>>,
}

#[derive(Debug)]
struct Conn {
    node: NodeRef,
    open: bool,
    max_jobs: u32,
    // Whether it has ever acknowledged a job: not all nodes do.
    acks: bool,
    // Jobs sent and not answered: what the machine may be working on.
    sent: VecDeque<Sent>,
    // Jobs the machine works on that this socket did not send: those of a former one.
    foreign: u32,
    // Jobs answered lately: a repeated answer frees nothing.
    answered: VecDeque<(JobId, u32)>,
    // Jobs missing in the last heartbeat.
    missing_before: u32,
    // Nothing is sent before the first heartbeat of this generation has told what runs.
    presence: Presence,
    // When its presence is looked at next.
    armed: Micros,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    job: JobId,
    attempt: u32,
    at: Micros,
    acked: bool,
}

impl Fleet {
    pub(super) fn awaits_ack(&self, node: NodeRef, job: JobId, attempt: u32) -> bool {
        let conn = self.conns.get(node.num.index()).and_then(Option::as_ref);
        conn.filter(|conn| conn.node == node).is_some_and(|conn| {
            let told = |sent: &&Sent| sent.job == job && sent.attempt == attempt;
            conn.sent.iter().find(told).is_some_and(|sent| !sent.acked)
        })
    }

    fn get_mut(&mut self, node: NodeRef) -> Option<&mut Conn> {
        let conn = self.conns.get_mut(node.num.index())?.as_mut()?;
        (conn.node.generation == node.generation).then_some(conn)
    }
}

impl Conn {
    /// Jobs that the machine may be working on.
    fn taken(&self) -> u32 {
        self.sent.len() as u32 + self.foreign
    }

    /// An answer has come. One that this socket did not ask for ends a job of a former one.
    fn settle(&mut self, job: JobId, attempt: u32) {
        let told = |sent: &Sent| sent.job == job && sent.attempt == attempt;
        if let Some(at) = self.sent.iter().position(told) {
            self.sent.remove(at);
        } else if !self.answered.contains(&(job, attempt)) {
            self.foreign = self.foreign.saturating_sub(1);
        }
        if self.answered.len() == ANSWERED_MAX {
            self.answered.pop_front();
        }
        self.answered.push_back((job, attempt));
    }

    /// Heals the gate: jobs that two heartbeats in a row do not report are not there. Jobs sent
    /// after the heartbeat before the last may still be on their way.
    fn heal(&mut self, running: u32) -> u32 {
        if self.presence.is_heard() {
            self.foreign = self.foreign.min(running);
        } else {
            self.foreign = running.saturating_sub(self.sent.len() as u32);
        }
        let before = self.presence.last_seen();
        let settled = self.sent.iter().filter(|sent| sent.at < before).count() as u32;
        let missing = settled.saturating_sub(running);
        let mut gone = missing.min(self.missing_before);
        self.missing_before = missing - gone;
        let vanished = gone;
        self.sent.retain(|sent| {
            let drop = gone > 0 && sent.at < before;
            gone -= u32::from(drop);
            !drop
        });
        vanished
    }
}

/// How a node whose socket an instance holds stands at its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Jobs that the machine may be working on.
    pub taken: u32,
    /// All its slots.
    pub max_jobs: u32,
    /// Whether this generation has reported.
    pub heard: bool,
}

impl Instance {
    /// How a node stands at its gate; absent where this instance holds no open socket of it.
    pub fn gate(&self, node: NodeRef) -> Option<Gate> {
        let conn = self.fleet.conns.get(node.num.index())?.as_ref();
        let conn = conn.filter(|conn| conn.node == node && conn.open)?;
        let (taken, max_jobs) = (conn.taken(), conn.max_jobs);
        Some(Gate { taken, max_jobs, heard: conn.presence.is_heard() })
    }

    pub(super) fn open_node(&mut self, cx: &mut Cx<'_>, mut register: Box<Register>) {
        register.owner = self.config.id;
        let then = Then::Registered(register.clone());
        self.step(cx, Op::Register(register), then);
    }

    pub(super) fn registered(
        &mut self,
        cx: &mut Cx<'_>,
        register: Register,
        result: Result<NodeRef, RegisterError>,
    ) {
        let name: Arc<str> = register.name;
        if let Ok(node) = result {
            let at = node.num.index();
            if at >= self.fleet.conns.len() {
                self.fleet.conns.resize_with(at + 1, || None);
            }
            let former = self.fleet.conns[at].take();
            if let Some(former) = &former {
                self.counters.rejoined += former.sent.len() as u64;
                if former.open {
                    cx.send(Output::CloseNode(former.node));
                }
            }
            let presence = Presence::new(cx.now);
            self.fleet.conns[at] = Some(Conn {
                node,
                open: true,
                max_jobs: register.max_jobs,
                acks: false,
                sent: former.map(|former| former.sent).unwrap_or_default(),
                foreign: 0,
                answered: VecDeque::new(),
                missing_before: 0,
                presence,
                armed: presence.until(),
            });
            self.timers.presences.push(Reverse((presence.until(), node)));
        }
        cx.send(Output::Registered(name, result));
    }

    pub(super) fn take_heartbeat(&mut self, cx: &mut Cx<'_>, node: NodeRef, report: Report) {
        let Some(conn) = self.fleet.get_mut(node).filter(|conn| conn.open) else {
            self.counters.stale_generations += 1;
            return;
        };
        let vanished = conn.heal(report.running);
        conn.presence.beat(cx.now);
        if let Some(max_jobs) = report.max_jobs {
            conn.max_jobs = max_jobs;
        }
        // Once its own interval is known a node is missed sooner than before.
        if conn.presence.until() < conn.armed {
            conn.armed = conn.presence.until();
            self.timers.presences.push(Reverse((conn.armed, node)));
        }
        self.counters.vanished_jobs += u64::from(vanished);
        let room = conn.taken() < conn.max_jobs;
        self.step(cx, Op::Heartbeat(node, report), Then::Reported(node));
        self.hint(cx, node.num, room);
    }

    pub(super) fn drain_node(&mut self, cx: &mut Cx<'_>, node: NodeRef, draining: bool) {
        self.step(cx, Op::Drain(node, draining), Then::Rest);
    }

    /// Sends a job through the gate; tells whether it was let through.
    pub(super) fn send_to_node(&mut self, cx: &mut Cx<'_>, assign: &Assign) -> bool {
        let gate = self.config.gate;
        let Some(conn) = self.fleet.get_mut(assign.node).filter(|conn| conn.open) else {
            return false;
        };
        if gate && (!conn.presence.is_heard() || conn.taken() >= conn.max_jobs) {
            return false;
        }
        let Assign { node, job, attempt, .. } = *assign;
        conn.sent.push_back(Sent { job, attempt, at: cx.now, acked: false });
        if conn.acks {
            let late = cx.now + self.config.ack_timeout;
            self.timers.acks.push_back((late, (node, job, attempt)));
        }
        cx.send(Output::Assign(*assign));
        true
    }

    pub(super) fn take_ack(&mut self, node: NodeRef, job: JobId, attempt: u32) {
        let Some(conn) = self.fleet.get_mut(node).filter(|conn| conn.open) else {
            self.counters.stale_generations += 1;
            return;
        };
        conn.acks = true;
        let told = |sent: &&mut Sent| sent.job == job && sent.attempt == attempt;
        if let Some(sent) = conn.sent.iter_mut().find(told) {
            sent.acked = true;
        }
    }

    /// A node that acknowledges its jobs has not acknowledged this one: it did not get it.
    pub(super) fn ack_is_late(&mut self, cx: &mut Cx<'_>, node: NodeRef, job: JobId, attempt: u32) {
        if !self.fleet.awaits_ack(node, job, attempt) {
            return;
        }
        self.counters.unacknowledged += 1;
        if job.origin == self.config.id {
            self.attempt_is_late(cx, key_of(job), attempt);
        } else {
            cx.send(Output::Cancel(node, job));
            cx.send(Output::Route(job.origin, Routed::Lost(job, attempt)));
        }
    }

    pub(super) fn take_answer(&mut self, cx: &mut Cx<'_>, node: NodeRef, answer: Answer) {
        let Some(conn) = self.fleet.get_mut(node).filter(|conn| conn.open) else {
            self.counters.stale_generations += 1;
            return;
        };
        conn.settle(answer.job, answer.attempt);
        if answer.job.origin == self.config.id {
            self.answered(cx, node, answer);
        } else {
            cx.send(Output::Route(answer.job.origin, Routed::Answer(answer, node)));
        }
    }

    /// The socket is gone. The node gets no new jobs; its attempts wait for it to return.
    pub(super) fn lose_socket(&mut self, cx: &mut Cx<'_>, node: NodeRef) {
        let Some(conn) = self.fleet.get_mut(node).filter(|conn| conn.open) else { return };
        conn.open = false;
        self.timers.rejoins.push_back((cx.now + self.config.rejoin, node));
        self.step(cx, Op::Remove(node), Then::Rest);
    }

    pub(super) fn give_up_rejoin(&mut self, cx: &mut Cx<'_>, node: NodeRef) {
        if self.fleet.get_mut(node).is_some_and(|conn| !conn.open) {
            self.lose_node(cx, node);
        }
    }

    /// A silent node is dead for its owner: there is no socket to come back on.
    pub(super) fn check_presence(&mut self, cx: &mut Cx<'_>, node: NodeRef) {
        let Some(conn) = self.fleet.get_mut(node).filter(|conn| conn.open) else { return };
        // What it has said may still lie at the socket of a process that stood still.
        let until = conn.presence.until() + self.late;
        if until > cx.now {
            if conn.armed <= cx.now {
                conn.armed = until;
                self.timers.presences.push(Reverse((conn.armed, node)));
            }
            return;
        }
        cx.send(Output::CloseNode(node));
        self.step(cx, Op::Remove(node), Then::Rest);
        self.lose_node(cx, node);
    }

    /// The store knows a newer generation: the node has opened a socket elsewhere.
    pub(super) fn generation_ended(&mut self, cx: &mut Cx<'_>, node: NodeRef) {
        if self.fleet.get_mut(node).is_some() {
            cx.send(Output::CloseNode(node));
            self.lose_node(cx, node);
        }
    }

    fn lose_node(&mut self, cx: &mut Cx<'_>, node: NodeRef) {
        let Some(conn) = self.fleet.conns[node.num.index()].take() else { return };
        for sent in conn.sent {
            if sent.job.origin == self.config.id {
                self.attempt_lost(cx, key_of(sent.job), sent.attempt);
            } else {
                let lost = Routed::Lost(sent.job, sent.attempt);
                cx.send(Output::Route(sent.job.origin, lost));
            }
        }
    }
}
