//! Simulated nodes: they register, report, come and go, hang and die.

mod jobs;
mod upsets;

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use lingua_core::finalize::Reason;
use lingua_core::instance::{Answer, Input, JobId};
use lingua_core::{
    Capabilities, InstanceId, Micros, ModelId, NodeRef, Register, RegisterError, Report, RequestId,
};
use lingua_scenarios::{Dist, NodeGroup, Sampler, Scenario};

use crate::SimError;
use crate::setup;
use crate::streams::{Purpose, Stream};
use crate::world::mail::{Leg, Mail};
use crate::world::{Event, World};

/// Speech that a node keeps of a Timeout or MaxDuration cut for the session's next job.
const TAIL: Micros = Micros::millis(1_500);
/// First wait before a node connects again; it doubles up to the longest.
const BACKOFF: Micros = Micros::secs(5);
const BACKOFF_MAX: Micros = Micros::secs(60);
/// Jobs that may queue at a node whose capacity nobody checks.
const WORKS_MAX: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Up,
    Away,
}

#[derive(Debug, Clone, Copy)]
struct Socket {
    server: u16,
    id: InstanceId,
    // Known once the registration is answered.
    node: Option<NodeRef>,
}

/// A job at a node.
#[derive(Debug, Clone, Copy)]
struct Work {
    id: u32,
    job: JobId,
    attempt: u32,
    request: RequestId,
    speech: Micros,
    reason: Option<Reason>,
    uniform: f64,
    // The model that the job needs and the node turns out to lack.
    missing_model: Option<ModelId>,
}

pub(super) struct Node {
    name: Arc<str>,
    caps: Capabilities,
    pub(super) max_jobs: u32,
    // What the file gives it, and the latest maximum whose news has reached the scheduler.
    max_jobs_of_file: u32,
    max_jobs_told: u32,
    service: Arc<Sampler>,
    speech_factor: f64,
    heartbeat: Micros,
    heartbeat_jitter: f64,
    uptime: Option<Dist>,
    downtime: Option<Dist>,
    usage: [Option<u16>; 3],
    stream: Stream,
    phase: Phase,
    // Rises with each start of the machine: what it held before is gone.
    life: u32,
    beat_epoch: u32,
    pub(super) silent: bool,
    pub(super) slow: f64,
    leaving: bool,
    socket: Option<Socket>,
    attempts: u32,
    // Jobs being worked on, at most max_jobs, and those that queue behind them.
    works: Vec<Work>,
    queued: VecDeque<Work>,
    next_work: u32,
    unsent: Vec<Answer>,
    up_clear: Micros,
    down_clear: Micros,
    pub(super) jobs: u64,
    // Time integral of running jobs within the counted part.
    busy_area: u64,
    busy_since: Micros,
    oversold_since: Option<Micros>,
    // When it hung, until somebody notices.
    hung_at: Option<Micros>,
}

impl Node {
    /// Jobs assigned and not yet answered.
    fn jobs_held(&self) -> u32 {
        (self.works.len() + self.queued.len()) as u32
    }

    /// Reads what a job that comes or ends will look at.
    pub(super) fn foresee(&self) -> u32 {
        let work = self.works.first().map_or(0, |work| work.id);
        work ^ self.life ^ self.max_jobs ^ self.down_clear.0 as u32
    }

    /// More jobs than this are oversold: a lower maximum counts once the scheduler can know it.
    fn jobs_allowed(&self) -> u32 {
        self.max_jobs.max(self.max_jobs_told)
    }
}

/// Audio that a node keeps for a session's next job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    node: u32,
    life: u32,
    speech: Micros,
}

impl World {
    pub(super) fn start_nodes(&mut self, scenario: &Scenario) -> Result<(), SimError> {
        let rule = setup::pool_rule(self.scheduler.pool_rule);
        for (index, group) in scenario.nodes.iter().enumerate() {
            let caps = setup::capabilities(&self.names, group, rule)?;
            let service = Arc::new(group.service_time.sampler());
            let prefix = group.name_at(index);
            for n in 0..group.count {
                self.add_node(group, &caps, &service, format!("{prefix}-{n}"));
            }
        }
        Ok(())
    }

    fn add_node(
        &mut self,
        group: &NodeGroup,
        caps: &Capabilities,
        service: &Arc<Sampler>,
        name: String,
    ) {
        let at = self.nodes.len() as u32;
        let name: Arc<str> = name.into();
        let mut stream = self.streams.stream(Purpose::Nodes, u64::from(at));
        self.node_names.insert(name.clone(), at);
        if let Some(uptime) = &group.uptime {
            let span = Micros(uptime.sample(stream.uniform()).micros());
            self.queue.push(span, Event::NodeLeaves(at));
        }
        self.nodes.push(Node {
            name,
            caps: caps.clone(),
            max_jobs: group.max_jobs,
            max_jobs_of_file: group.max_jobs,
            max_jobs_told: group.max_jobs,
            service: service.clone(),
            speech_factor: group.speech_factor,
            heartbeat: setup::micros(group.heartbeat),
            heartbeat_jitter: group.heartbeat_jitter,
            uptime: group.uptime.clone(),
            downtime: group.downtime.clone(),
            usage: [group.cpu.map(|percent| (percent * 10.0) as u16), None, None],
            stream,
            phase: Phase::Up,
            life: 0,
            beat_epoch: 0,
            silent: false,
            slow: 1.0,
            leaving: false,
            socket: None,
            attempts: 0,
            works: Vec::with_capacity(group.max_jobs as usize),
            queued: VecDeque::new(),
            next_work: 0,
            unsent: Vec::new(),
            up_clear: Micros::ZERO,
            down_clear: Micros::ZERO,
            jobs: 0,
            busy_area: 0,
            busy_since: Micros::ZERO,
            oversold_since: None,
            hung_at: None,
        });
        self.queue.push(Micros::ZERO, Event::NodeWake(at));
    }

    /// A node starts, or tries to connect again.
    pub(super) fn node_wakes(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        if node.phase == Phase::Away {
            node.phase = Phase::Up;
            node.leaving = false;
            if let Some(uptime) = node.uptime.clone() {
                let span = Micros(uptime.sample(node.stream.uniform()).micros());
                self.queue.push(self.now + span, Event::NodeLeaves(at));
            }
        }
        let node = &self.nodes[at as usize];
        if node.socket.is_some() || node.silent || self.now > self.end {
            return;
        }
        let newcomer = u64::from(at) + u64::from(node.attempts);
        let Some(server) = self.balance(newcomer) else {
            self.connect_later(at);
            return;
        };
        let id = self.servers[usize::from(server)].id;
        let node = &mut self.nodes[at as usize];
        node.attempts += 1;
        node.life += u32::from(node.attempts == 1);
        node.socket = Some(Socket { server, id, node: None });
        let register = Register {
            name: node.name.clone(),
            caps: node.caps.clone(),
            max_jobs: node.max_jobs,
            owner: id,
        };
        self.node_sends(at, Input::NodeOpened(Box::new(register)));
    }

    fn connect_later(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        let doubled = BACKOFF.0 << node.attempts.saturating_sub(1).min(8);
        let backoff = doubled.min(BACKOFF_MAX.0) as f64;
        // Jitter keeps a herd of reconnecting nodes apart.
        let span = Micros((backoff * (0.5 + node.stream.uniform())) as u64);
        self.queue.push(self.now + span, Event::NodeWake(at));
    }

    fn node_sends(&mut self, at: u32, input: Input) {
        let latency = self.latency(Leg::Node);
        let node = &mut self.nodes[at as usize];
        let Some(socket) = node.socket else { return };
        let arrives = (self.now + latency).max(node.up_clear);
        node.up_clear = arrives;
        if arrives == self.now {
            self.reach_server(socket.server, input);
        } else {
            self.post(arrives, Mail::Input(socket.id, input));
        }
    }

    pub(super) fn tell_registered(
        &mut self,
        from: u16,
        at: Micros,
        name: &Arc<str>,
        result: Result<NodeRef, RegisterError>,
    ) {
        let Some(&node) = self.node_names.get(name) else { return };
        if let Ok(node_ref) = result {
            let num = node_ref.num.index();
            if num >= self.node_of_num.len() {
                self.node_of_num.resize(num + 1, u32::MAX);
            }
            self.node_of_num[num] = node;
        } else {
            self.recorder.mark("registration_refused");
        }
        let id = u32::from(self.servers[usize::from(from)].id.0);
        let latency = self.latency(Leg::Node);
        self.post(at + latency, Mail::Registered(node, id, result.ok()));
    }

    pub(super) fn node_is_registered(&mut self, at: u32, by: u32, result: Option<NodeRef>) {
        let node = &mut self.nodes[at as usize];
        let Some(socket) = node.socket.as_mut().filter(|s| u32::from(s.id.0) == by) else {
            return;
        };
        let Some(node_ref) = result else {
            node.socket = None;
            return;
        };
        socket.node = Some(node_ref);
        node.max_jobs_told = node.max_jobs;
        node.attempts = 1;
        node.beat_epoch += 1;
        let epoch = node.beat_epoch;
        self.heartbeats.push(Reverse((self.now, at, epoch)));
        self.trace.node_is(self.now, at, "connected");
        let unsent = std::mem::take(&mut self.nodes[at as usize].unsent);
        for answer in unsent {
            self.node_answers(at, answer);
        }
    }

    /// The next heartbeat of the lane is due.
    pub(super) fn beat(&mut self) {
        let Some(Reverse((_, at, epoch))) = self.heartbeats.pop() else { return };
        let node = &mut self.nodes[at as usize];
        let Some(node_ref) = node.socket.and_then(|socket| socket.node) else { return };
        if node.beat_epoch != epoch {
            return;
        }
        self.digest.event(self.now, 0, u64::from(at));
        let share = node.heartbeat_jitter;
        let jitter = 1.0 - share + 2.0 * share * node.stream.uniform();
        let next = self.now + Micros((node.heartbeat.0 as f64 * jitter) as u64);
        self.heartbeats.push(Reverse((next, at, epoch)));
        let lost = self.faults.heartbeat_loss();
        if node.silent || (lost > 0.0 && node.stream.uniform() < lost) {
            self.recorder.mark("heartbeat_lost");
            return;
        }
        self.node_reports(at, node_ref);
    }

    fn node_reports(&mut self, at: u32, node_ref: NodeRef) {
        let node = &self.nodes[at as usize];
        let running = node.jobs_held();
        let usage = node.usage;
        let max_jobs = (node.max_jobs != node.max_jobs_told).then_some(node.max_jobs);
        let models = self.listed_models(at);
        let report = Report { running, usage, models, features: None, max_jobs };
        self.recorder.heartbeats += 1;
        self.node_sends(at, Input::Heartbeat(node_ref, report));
    }

    /// Its time in service is over: it takes no new jobs and goes when the last one is done.
    pub(super) fn node_leaves(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        if node.phase == Phase::Away || node.leaving || self.now > self.end {
            return;
        }
        node.leaving = true;
        self.recorder.mark("node_left");
        self.drain_node(at, true);
        if self.nodes[at as usize].jobs_held() == 0 {
            self.node_goes(at);
        }
    }

    pub(super) fn drain_node(&mut self, at: u32, draining: bool) {
        if let Some(node_ref) = self.nodes[at as usize].socket.and_then(|socket| socket.node) {
            self.trace.node_is(self.now, at, if draining { "drain" } else { "drain ends" });
            self.node_sends(at, Input::Drain(node_ref, draining));
        }
    }

    fn node_goes(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        let span = match node.downtime.clone() {
            Some(downtime) => Micros(downtime.sample(node.stream.uniform()).micros()),
            None => BACKOFF,
        };
        self.trace.node_is(self.now, at, "leaves");
        self.node_dies(at, span);
    }

    /// The models that a heartbeat lists: those the node really has.
    fn listed_models(&self, at: u32) -> Option<Vec<ModelId>> {
        let all = &self.nodes[at as usize].caps.models;
        let there = |model: &ModelId| !self.faults.model_is_missing(at, *model);
        (!all.is_empty()).then(|| all.iter().copied().filter(there).collect())
    }

    /// A node stops with all it held; it comes back after `away`.
    pub(super) fn node_dies(&mut self, at: u32, away: Micros) {
        self.node_closes_socket(at);
        let now = self.now;
        self.trace.jobs_lost(now, at);
        let node = &mut self.nodes[at as usize];
        node.phase = Phase::Away;
        node.life += 1;
        node.works.clear();
        node.queued.clear();
        node.unsent.clear();
        node.silent = false;
        self.node_level_changed(at, false);
        self.queue.push(now + away, Event::NodeWake(at));
    }

    /// The socket closes from the node's side.
    pub(super) fn node_closes_socket(&mut self, at: u32) {
        if let Some(node_ref) = self.nodes[at as usize].socket.and_then(|socket| socket.node) {
            self.node_sends(at, Input::NodeClosed(node_ref));
        }
        let node = &mut self.nodes[at as usize];
        node.socket = None;
        node.beat_epoch += 1;
    }

    /// A socket that its instance closed: the node connects again.
    pub(super) fn node_is_closed(&mut self, node_ref: NodeRef) {
        let Some(&at) = self.node_of_num.get(node_ref.num.index()) else { return };
        let node = &mut self.nodes[at as usize];
        if node.socket.and_then(|socket| socket.node) == Some(node_ref) {
            node.socket = None;
            node.beat_epoch += 1;
            self.recorder.mark("node_declared_dead");
            self.trace.node_is(self.now, at, "declared dead");
            self.connect_later(at);
        }
    }

    /// The sockets that a dead instance held.
    pub(super) fn node_sockets_of(&mut self, id: InstanceId) {
        for at in 0..self.nodes.len() as u32 {
            let node = &mut self.nodes[at as usize];
            if node.socket.is_some_and(|socket| socket.id == id) {
                node.socket = None;
                node.beat_epoch += 1;
                self.trace.node_is(self.now, at, "socket lost");
                self.connect_later(at);
            }
        }
    }

    pub(super) fn node_name(&self, at: u32) -> &str {
        &self.nodes[at as usize].name
    }

    pub(super) fn node_in_service(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        node.phase == Phase::Up && !node.silent && node.socket.is_some()
    }
}
