//! An instance as a server with a queue, in virtual time.

use std::collections::VecDeque;

use lingua_core::instance::{Cx, Final, Input, Instance, Output, Routed, Store as Link};
use lingua_core::{InstanceId, Micros};

use crate::fifo::take_first;
use crate::setup;
use crate::world::mail::{Audio, Leg, Mail};
use crate::world::store::CLUSTER;
use crate::world::{Event, OpenJob, RequestWords, World};

/// Messages that may wait at one instance.
const QUEUE_MAX: usize = 1 << 20;

/// A message that waits its turn.
#[derive(Debug)]
enum Message {
    Audio(Audio),
    Other(Box<Input>),
}

/// Ways between an instance and the store that are cut.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cut {
    pub(super) to_store: bool,
    pub(super) from_store: bool,
}

pub(super) struct Server {
    pub(super) id: InstanceId,
    pub(super) up: bool,
    pub(super) cut: Cut,
    instance: Instance,
    queue: VecDeque<Message>,
    // Nanoseconds of virtual time.
    busy_until: u64,
    pub(super) busy: u64,
    pub(super) locked: u64,
    pub(super) busy_before: u64,
    pub(super) queue_max: usize,
    // When the instance wants its next tick, and when the next one is scheduled.
    deadline: Micros,
    tick_at: Micros,
    free_scheduled: bool,
    // Steps arrive at each server of the store, and replies here, in order.
    pub(super) steps_clear: [Micros; CLUSTER],
    pub(super) replies_clear: [Micros; CLUSTER],
}

impl Server {
    fn new(instance: Instance, id: InstanceId) -> Self {
        Self {
            id,
            up: true,
            cut: Cut::default(),
            instance,
            queue: VecDeque::new(),
            busy_until: 0,
            busy: 0,
            locked: 0,
            busy_before: 0,
            queue_max: 0,
            deadline: Micros::NEVER,
            tick_at: Micros::NEVER,
            free_scheduled: false,
            steps_clear: [Micros::ZERO; CLUSTER],
            replies_clear: [Micros::ZERO; CLUSTER],
        }
    }

    pub(super) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Whether this instance runs here.
    pub(super) fn is(&self, id: InstanceId) -> bool {
        self.up && self.id == id
    }

    /// Whether a message that comes now is handled at once.
    fn is_idle(&self, now: Micros) -> bool {
        self.queue.is_empty() && self.busy_until < nanos(now) + 1_000
    }

    /// Nanoseconds of work begin now or after what is being done.
    fn spend(&mut self, now: Micros, cost: u64) {
        self.busy_until = self.busy_until.max(nanos(now)) + cost;
        self.busy += cost;
    }
}

impl World {
    pub(super) fn start_servers(&mut self) {
        for at in 0..self.scheduler.instances as u16 {
            let server = self.new_server();
            self.server_of.insert(server.id, at);
            self.servers.push(server);
            if self.is_remote() {
                self.queue.push(Micros::ZERO, Event::Snapshot(at));
            }
        }
    }

    fn new_server(&mut self) -> Server {
        let mut config = setup::instance_config(&self.scheduler, self.next_instance);
        config.gate &= !self.planted.opens_gate();
        let id = config.id;
        self.next_instance += 1;
        Server::new(Instance::new(config), id)
    }

    /// An instance dies: its sockets with it.
    pub(super) fn crash_server(&mut self, at: u16) {
        self.trace.instance_dies(self.now, at);
        let server = &mut self.servers[usize::from(at)];
        server.up = false;
        server.queue.clear();
        self.recorder.retire(server.instance.counters());
        let id = server.id;
        self.server_of.remove(&id);
        if !self.is_remote() {
            self.watch.restart();
        }
        self.note_crash(id);
        self.sockets_of_server_close(at, id);
    }

    pub(super) fn restart_server(&mut self, at: u16) {
        let mut server = self.new_server();
        let former = &self.servers[usize::from(at)];
        server.busy = former.busy;
        server.locked = former.locked;
        server.busy_before = former.busy_before;
        self.server_of.insert(server.id, at);
        self.trace.instance_starts(self.now, at);
        self.servers[usize::from(at)] = server;
        if self.is_remote() {
            self.queue.push(self.now, Event::Snapshot(at));
        }
    }

    /// The instance that a newcomer is sent to: in turn, among those that are up.
    pub(super) fn balance(&self, newcomer: u64) -> Option<u16> {
        let up = || (0..self.servers.len()).filter(|&at| self.servers[at].up);
        let count = up().count() as u64;
        if count == 0 {
            return None;
        }
        up().nth((newcomer % count) as usize).map(|at| at as u16)
    }

    /// A message reaches an instance: it is handled at once or waits its turn.
    pub(super) fn reach_server(&mut self, at: u16, input: Input) {
        let server = &self.servers[usize::from(at)];
        if !server.up {
            return;
        }
        if self.free_of_cost || server.is_idle(self.now) {
            self.serve(at, input);
        } else {
            self.queue_up(at, Message::Other(Box::new(input)));
        }
    }

    /// Audio reaches an instance, if it is still there.
    pub(super) fn audio_arrives(&mut self, audio: Audio) {
        let server = &self.servers[usize::from(audio.server)];
        if !server.is(audio.to) {
            return;
        }
        if self.free_of_cost || server.is_idle(self.now) {
            self.serve_audio(audio);
        } else {
            self.queue_up(audio.server, Message::Audio(audio));
        }
    }

    fn queue_up(&mut self, at: u16, message: Message) {
        let server = &mut self.servers[usize::from(at)];
        if server.queue.len() >= QUEUE_MAX {
            self.void.get_or_insert_with(|| {
                format!("an instance had {QUEUE_MAX} messages waiting: it can never keep up")
            });
            return;
        }
        server.queue.push_back(message);
        server.queue_max = server.queue_max.max(server.queue.len());
        self.schedule_free(at);
    }

    fn schedule_free(&mut self, at: u16) {
        let server = &mut self.servers[usize::from(at)];
        if !server.free_scheduled && !server.queue.is_empty() {
            server.free_scheduled = true;
            let when = Micros(server.busy_until / 1_000).max(self.now);
            self.queue.push(when, Event::Free(at));
        }
    }

    /// Serves all messages whose turn comes within this microsecond.
    pub(super) fn server_is_free(&mut self, at: u16) {
        self.servers[usize::from(at)].free_scheduled = false;
        loop {
            let server = &mut self.servers[usize::from(at)];
            if !server.up || server.busy_until >= nanos(self.now) + 1_000 {
                break;
            }
            match take_first(&mut server.queue) {
                Some(Message::Audio(audio)) => self.serve_audio(audio),
                Some(Message::Other(input)) => self.serve(at, *input),
                None => break,
            }
        }
        self.schedule_free(at);
    }

    pub(super) fn server_ticks(&mut self, at: u16) {
        let server = &mut self.servers[usize::from(at)];
        if server.up && server.tick_at <= self.now {
            server.tick_at = Micros::NEVER;
            self.serve(at, Input::Tick);
        }
    }

    /// Lets the instance handle audio. Most of it only adds to its utterance: nothing comes of it
    /// but what it costs.
    fn serve_audio(&mut self, audio: Audio) {
        let Audio { server: at, session, seat, chunk, .. } = audio;
        let cost = self.chunk_cost(chunk.bytes);
        let server = &mut self.servers[usize::from(at)];
        // A timer that rings late, and whoever traces, must see the message itself.
        let light = server.deadline >= self.now && self.trace.is_off();
        if light && seat.is_some_and(|seat| server.instance.extend(self.now, seat, session, &chunk))
        {
            server.spend(self.now, cost);
            return;
        }
        self.serve(at, Input::Chunk(session, chunk));
        if seat.is_none() {
            self.take_seat(session, self.servers[usize::from(at)].instance.seat(session));
        }
    }

    /// Lets the instance handle one message, and sends what comes out.
    fn serve(&mut self, at: u16, input: Input) {
        let mut cost = self.fixed_cost(at, &input);
        let message = self.trace.message(&input);
        let heard = match &input {
            Input::Heartbeat(node, report) => report.max_jobs.map(|max_jobs| (*node, max_jobs)),
            _ => None,
        };
        let mut out = std::mem::take(&mut self.recorder.out);
        let remote = self.is_remote();
        let server = &mut self.servers[usize::from(at)];
        let store = if remote { Link::Remote } else { Link::Embedded(&mut self.watch) };
        let mut draws = RequestWords { streams: &mut self.streams, open: &self.open };
        let mut cx = Cx { now: self.now, draws: &mut draws, store, out: &mut out };
        server.instance.handle(&mut cx, input);
        let mut deadline = server.instance.next_deadline();
        // A timer that rings late is noticed with whatever comes first.
        if deadline < self.now {
            server.instance.handle(&mut cx, Input::Tick);
            deadline = server.instance.next_deadline();
        }
        server.deadline = deadline;
        if deadline < server.tick_at {
            server.tick_at = deadline;
            let late = self.latency(Leg::Timer);
            self.queue.push(deadline.max(self.now) + late, Event::Tick(at));
        }
        if !self.free_of_cost {
            for output in &out {
                cost += self.output_cost(output);
            }
            self.servers[usize::from(at)].spend(self.now, cost);
        }
        self.trace.served(self.now, at, message, cost, &out);
        let sent_at = Micros(self.now.0 + cost / 1_000);
        for output in out.drain(..) {
            self.send(at, sent_at, output);
        }
        if let Some((node, max_jobs)) = heard {
            self.confirm_max_jobs(node, max_jobs);
        }
        self.recorder.out = out;
        self.hear_watch();
    }

    fn send(&mut self, from: u16, at: Micros, output: Output) {
        match output {
            Output::Assign(assign) => self.send_assign(at, assign),
            Output::Final(last) => {
                for _ in 0..self.planted.copies(&last) {
                    self.send_final(from, at, last);
                }
            }
            Output::Store(token, op) => self.send_step(from, at, token, op),
            Output::Opened(opened) => self.job_is_opened(from, &opened),
            Output::Route(to, message) => self.route(at, to, message),
            Output::Registered(name, result) => self.tell_registered(from, at, &name, result),
            Output::CloseNode(node) => {
                self.hang_noticed(node);
                let latency = self.latency(Leg::Node);
                self.post(at + latency, Mail::Close(node));
            }
            Output::Work(_) => self.recorder.dispatches += 1,
            // Real nodes do not heed it; the gate counts on until they answer.
            Output::Cancel(..) => self.recorder.mark("job_cancelled"),
            Output::RefreshModel(_) => self.recorder.mark("model_refreshed"),
        }
    }

    fn send_final(&mut self, from: u16, at: Micros, last: Final) {
        let latency = self.latency(Leg::Session);
        let arrives = self.in_turn(&last, at + latency);
        if arrives == self.now {
            self.client_hears(&last);
        } else {
            let id = self.servers[usize::from(from)].id;
            self.post(arrives, Mail::Final(id, last));
        }
    }

    fn route(&mut self, at: Micros, to: InstanceId, message: Routed) {
        self.recorder.mark("routed");
        // Its header lies at the store until the receiver has it.
        let latency = self.latency(Leg::Store) + self.latency(Leg::Store);
        self.post(at + latency, Mail::Input(to, Input::Routed(Box::new(message))));
    }

    /// A job's final message is owed from here on.
    pub(super) fn open_job(&mut self, request: lingua_core::RequestId, open: OpenJob) {
        let new = self.open.insert(request, open);
        assert!(new, "a request is opened once");
    }
}

fn nanos(at: Micros) -> u64 {
    at.0.saturating_mul(1_000)
}
