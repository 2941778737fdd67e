//! The shared store behind a network. Each of its servers carries out steps one after the other;
//! a Cluster has several, and a step goes to the one that serves its home's slot.

use lingua_core::instance::{Input, Token};
use lingua_core::{Home, InstanceId, Micros, Op, Reply, SharedState, State};
use lingua_scenarios::{Scheduler, StoreKind};

use crate::streams::{Purpose, Stream, Streams, mix};
use crate::world::crash_points::CrashPoints;
use crate::world::mail::{Leg, Mail};
use crate::world::{Event, World};

/// Changes of membership reach all snapshots within this span.
const PUBLISH: Micros = Micros::millis(100);

/// Servers of a Cluster, replicas apart.
pub(super) const CLUSTER: usize = 3;

/// One server.
#[derive(Debug, Default)]
pub(super) struct StoreServer {
    // Nanoseconds of virtual time until which it is busy.
    busy_until: u64,
    pub(super) busy: u64,
    pub(super) stalled_until: Micros,
}

pub(super) struct Store {
    pub(super) servers: Vec<StoreServer>,
    pub(super) crash_points: CrashPoints,
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
        let count = if scheduler.store == StoreKind::RedisCluster { CLUSTER } else { 1 };
        Self {
            servers: (0..count).map(|_| StoreServer::default()).collect(),
            crash_points: CrashPoints::default(),
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

    pub(super) fn is_cluster(&self) -> bool {
        self.servers.len() > 1
    }

    /// Busy time of the busiest server, nanoseconds.
    pub(super) fn busiest(&self) -> u64 {
        self.servers.iter().map(|server| server.busy).max().unwrap_or(0)
    }

    /// A server, or all of them, carries out nothing until then; tells when the stall ends.
    pub(super) fn stall(&mut self, only: Option<usize>, until: Micros) -> Micros {
        let mut ends = until;
        for (at, server) in self.servers.iter_mut().enumerate() {
            if only.is_none_or(|only| only == at) {
                server.stalled_until = server.stalled_until.max(until);
                ends = ends.max(server.stalled_until);
            }
        }
        ends
    }

    fn is_stalled(&self, now: Micros) -> bool {
        self.servers.iter().any(|server| server.stalled_until > now)
    }
}

/// The server that serves a home's slot.
pub(super) fn server_of(home: Home, servers: usize) -> usize {
    let hash = match home {
        Home::Session(session) => mix(session.0),
        Home::Node(node) => mix(1 << 32 | u64::from(node.0)),
        Home::Class(class) => mix(2 << 32 | u64::from(class.number())),
        Home::Model(model) => mix(3 << 32 | u64::from(model.0)),
        Home::All => 0,
    };
    (hash % servers as u64) as usize
}

impl World {
    pub(super) fn send_step(&mut self, from: u16, at: Micros, token: Token, op: Box<Op>) {
        let latency = self.latency(Leg::Store);
        if self.servers[usize::from(from)].cut.to_store {
            self.recorder.mark("step_cut_off");
            return;
        }
        let at_server = self.store_server_of(&op);
        let instance = &mut self.servers[usize::from(from)];
        // Commands of one connection keep their order, and a server takes one at a time.
        let clear = &mut instance.steps_clear[at_server];
        let arrives = (at + latency).max(*clear);
        *clear = arrives;
        let id = instance.id;
        let server = &mut self.store.servers[at_server];
        let starts = (arrives.0 * 1_000).max(server.busy_until);
        let starts = starts.max(server.stalled_until.0 * 1_000);
        let cost = self.costs.store_op.nanos();
        server.busy_until = starts + cost;
        server.busy += cost;
        self.trace.step(at_server, id, &op, arrives, [starts, starts + cost]);
        let late = self.faults.late_release(&op, &mut self.store.losses);
        let done = Micros((starts + cost).div_ceil(1_000)) + late;
        self.recorder.store_latency(done - at + latency);
        self.post(done, Mail::Step(id, token, op));
    }

    pub(super) fn store_executes(&mut self, from: InstanceId, token: Token, op: &Op) {
        self.store.ops += 1;
        self.store.heartbeat_ops += u64::from(matches!(op, Op::Heartbeat(..)));
        let clock = self.now + self.store.clock_ahead;
        let at_server = self.store_server_of(op);
        let reply = self.watch.apply(clock, op);
        self.hear_watch();
        if self.store.is_cluster() {
            self.note_crash_points(from, op, &reply);
        }
        if matches!(op, Op::Register(_) | Op::Remove(_) | Op::Drain(..) | Op::ModelLost(..)) {
            self.publish();
        }
        let Some(&server) = self.server_of.get(&from) else { return };
        if self.servers[usize::from(server)].cut.from_store || self.reply_is_lost() {
            self.recorder.mark("reply_lost");
            self.note_lost_reply(op);
            return;
        }
        self.send_reply(server, from, token, reply, at_server);
    }

    fn store_server_of(&self, op: &Op) -> usize {
        let servers = self.store.servers.len();
        if servers == 1 { 0 } else { server_of(self.watch.state().home(op), servers) }
    }

    fn reply_is_lost(&mut self) -> bool {
        let share = self.faults.reply_loss();
        share > 0.0 && self.store.losses.uniform() < share
    }

    fn send_reply(
        &mut self,
        server: u16,
        to: InstanceId,
        token: Token,
        reply: Reply,
        at_server: usize,
    ) {
        let latency = self.latency(Leg::Store);
        let clear = &mut self.servers[usize::from(server)].replies_clear[at_server];
        let arrives = (self.now + latency).max(*clear);
        *clear = arrives;
        self.post(arrives, Mail::Reply(to, token, Box::new(reply)));
    }

    /// How much later than its turn an event arrives; nothing when it is lost.
    fn event_delay(&mut self) -> Option<Micros> {
        let losses = &mut self.store.losses;
        if self.faults.event_is_lost(losses) {
            self.recorder.mark("event_lost");
            return None;
        }
        let late = self.faults.event_delay(losses);
        if late > Micros::ZERO {
            self.recorder.mark("event_overtaken");
        }
        Some(late)
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
        let (id, cut) = (server.id, server.cut);
        let on_schedule = self.now.0.is_multiple_of(self.store.snapshot_age.0.max(1));
        // A whole snapshot is asked for, an event just comes.
        let cut = cut.from_store || (on_schedule && cut.to_store);
        if !cut && !self.store.is_stalled(self.now) {
            let late = if on_schedule { Some(Micros::ZERO) } else { self.event_delay() };
            if let Some(late) = late {
                let snapshot = Box::new(self.watch.state().snapshot());
                let arrives = self.now + self.latency(Leg::Store) + late;
                self.post(arrives, Mail::Input(id, Input::Snapshot(snapshot)));
            }
        }
        if on_schedule {
            self.queue.push(self.now + self.store.snapshot_age, Event::Snapshot(at));
        }
    }
}
