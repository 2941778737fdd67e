//! The shared store behind a network: one server that carries out steps one after the other.

use lingua_core::instance::{Input, Token};
use lingua_core::{InstanceId, Micros, Op, Reply, SharedState, State};
use lingua_scenarios::Scheduler;

use crate::streams::{Purpose, Stream, Streams};
use crate::world::mail::{Leg, Mail};
use crate::world::{Event, World};

/// Changes of membership reach all snapshots within this span.
const PUBLISH: Micros = Micros::millis(100);

pub(super) struct Store {
    // Nanoseconds of virtual time until which the server is busy.
    busy_until: u64,
    pub(super) busy: u64,
    pub(super) stalled_until: Micros,
    pub(super) ops: u64,
    pub(super) heartbeat_ops: u64,
    // What its clock shows is this much ahead of time.
    pub(super) clock_ahead: Micros,
    pub(super) checkpoint: Option<Box<State>>,
    pub(super) losses: Stream,
    snapshot_age: Micros,
    incremental: bool,
    publish_scheduled: bool,
}

impl Store {
    pub(super) fn new(scheduler: &Scheduler, streams: &Streams) -> Self {
        Self {
            busy_until: 0,
            busy: 0,
            stalled_until: Micros::ZERO,
            ops: 0,
            heartbeat_ops: 0,
            clock_ahead: Micros::ZERO,
            checkpoint: None,
            losses: streams.stream(Purpose::Faults, 1),
            snapshot_age: Micros(scheduler.snapshot_age.micros()),
            incremental: scheduler.snapshot_incremental,
            publish_scheduled: false,
        }
    }
}

impl World {
    pub(super) fn send_step(&mut self, from: u16, at: Micros, token: Token, op: Box<Op>) {
        let latency = self.latency(Leg::Store);
        let server = &mut self.servers[usize::from(from)];
        if server.cut_off {
            self.recorder.mark("step_cut_off");
            return;
        }
        // Commands of one connection keep their order, and the server takes one at a time.
        let arrives = (at + latency).max(server.steps_clear);
        server.steps_clear = arrives;
        let id = server.id;
        let starts = (arrives.0 * 1_000).max(self.store.busy_until);
        let starts = starts.max(self.store.stalled_until.0 * 1_000);
        let cost = self.costs.store_op.nanos();
        self.store.busy_until = starts + cost;
        self.store.busy += cost;
        self.trace.step(id, &op, arrives, [starts, starts + cost]);
        let late = self.faults.late_release(&op, &mut self.store.losses);
        let done = Micros((starts + cost).div_ceil(1_000)) + late;
        self.recorder.store_latency(done - at + latency);
        self.post(done, Mail::Step(id, token, op));
    }

    pub(super) fn store_executes(&mut self, from: InstanceId, token: Token, op: &Op) {
        self.store.ops += 1;
        self.store.heartbeat_ops += u64::from(matches!(op, Op::Heartbeat(..)));
        let clock = self.now + self.store.clock_ahead;
        let reply = self.watch.apply(clock, op);
        self.hear_watch();
        if matches!(op, Op::Register(_) | Op::Remove(_) | Op::Drain(..) | Op::ModelLost(..)) {
            self.publish();
        }
        let Some(&server) = self.server_of.get(&from) else { return };
        if self.servers[usize::from(server)].cut_off || self.reply_is_lost() {
            self.recorder.mark("reply_lost");
            return;
        }
        self.send_reply(server, from, token, reply);
    }

    fn reply_is_lost(&mut self) -> bool {
        let share = self.faults.reply_loss();
        share > 0.0 && self.store.losses.uniform() < share
    }

    fn send_reply(&mut self, server: u16, to: InstanceId, token: Token, reply: Reply) {
        let latency = self.latency(Leg::Store);
        let server = &mut self.servers[usize::from(server)];
        let arrives = (self.now + latency).max(server.replies_clear);
        server.replies_clear = arrives;
        self.post(arrives, Mail::Reply(to, token, Box::new(reply)));
    }

    /// Membership has changed: the snapshots learn of it soon.
    fn publish(&mut self) {
        if !self.store.incremental || self.store.publish_scheduled {
            return;
        }
        self.store.publish_scheduled = true;
        for at in 0..self.servers.len() as u16 {
            self.queue.push(self.now + PUBLISH, Event::Snapshot(at));
        }
    }

    /// A whole snapshot, on its schedule or because membership has changed.
    pub(super) fn renew_snapshot(&mut self, at: u16) {
        self.store.publish_scheduled = false;
        let server = &self.servers[usize::from(at)];
        if !server.up || self.now > self.end {
            return;
        }
        let id = server.id;
        let reachable = !server.cut_off && self.store.stalled_until <= self.now;
        if reachable {
            let snapshot = Box::new(self.watch.state().snapshot());
            let latency = self.latency(Leg::Store);
            self.post(self.now + latency, Mail::Input(id, Input::Snapshot(snapshot)));
        }
        let on_schedule = self.now.0.is_multiple_of(self.store.snapshot_age.0.max(1));
        if on_schedule {
            self.queue.push(self.now + self.store.snapshot_age, Event::Snapshot(at));
        }
    }
}
