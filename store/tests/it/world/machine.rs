//! A node's machine. It counts for itself what it works on, whatever anybody believes.

use lingua_core::instance::{Answer, AnswerOutcome, Assign, JobId};
use lingua_core::*;

use super::{Event, HOP, Socket, World};
use crate::steps::capabilities;

/// How often it reports, and how much earlier or later it may be.
const BEAT: Micros = Micros::secs(2);
const JITTER: Micros = Micros::millis(400);
/// One job of a hundred takes so much longer.
const LONG: u64 = 40;

/// What a machine hears on a socket.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Heard {
    Registered(NodeRef),
    Job(Assign),
    Cancel(JobId),
    Closed,
}

/// What a machine says on a socket.
#[derive(Debug)]
pub(crate) enum Said {
    Report(Report),
    Acked(JobId, u32),
    Answer(Answer),
}

#[derive(Debug, Clone, Copy)]
struct Working {
    // Which of all that it ever had.
    count: u64,
    job: JobId,
    attempt: u32,
}

/// One machine.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) max_jobs: u32,
    /// Mean time that a job takes.
    pub(crate) service: Micros,
    socket: Option<Socket>,
    node: Option<NodeRef>,
    working: Vec<Working>,
    count: u64,
    sockets: u64,
}

impl Machine {
    /// Jobs that it works on.
    pub(crate) fn running(&self) -> u32 {
        self.working.len() as u32
    }

    pub(crate) fn is_registered(&self) -> bool {
        self.node.is_some()
    }

    pub(crate) fn node(&self) -> Option<NodeRef> {
        self.node
    }

    pub(super) fn register(&self, number: usize) -> Box<Register> {
        Box::new(Register {
            name: format!("node-{number}").into(),
            caps: capabilities(1, PoolRule::AsrXTts),
            max_jobs: self.max_jobs,
            owner: InstanceId(0),
        })
    }
}

impl World {
    /// A machine without a socket.
    pub(crate) fn start_machine(&mut self, max_jobs: u32, service: Micros) -> usize {
        let at = self.machines.len();
        self.machines.push(Machine {
            max_jobs,
            service,
            socket: None,
            node: None,
            working: Vec::new(),
            count: 0,
            sockets: 0,
        });
        at
    }

    /// Opens a socket at some instance that lives.
    pub(super) fn connect(&mut self, machine: usize) {
        let alive = self.alive();
        if self.machines[machine].socket.is_some() || alive.is_empty() {
            return;
        }
        let process = alive[self.random.below(alive.len())];
        self.connect_to(machine, process);
    }

    pub(crate) fn connect_to(&mut self, machine: usize, process: usize) {
        let at = &mut self.machines[machine];
        at.sockets += 1;
        let socket = Socket { machine, process, id: at.sockets };
        at.socket = Some(socket);
        at.node = None;
        let register = at.register(machine);
        self.open_socket(socket, register);
    }

    /// Closes its socket and opens another one later. It works on.
    pub(crate) fn disconnect(&mut self, machine: usize) {
        if let Some(socket) = self.machines[machine].socket.take() {
            self.machines[machine].node = None;
            self.schedule_in(HOP, Event::Closed(socket.process, socket));
            self.look_again(machine);
        }
    }

    /// It dies with all its jobs and starts again.
    pub(crate) fn crash(&mut self, machine: usize) {
        self.seen.crashes += 1;
        self.machines[machine].working.clear();
        self.disconnect(machine);
    }

    fn look_again(&mut self, machine: usize) {
        let rest = self.random.between(Micros::millis(100), Micros::secs(8));
        self.schedule_in(rest, Event::Connect(machine));
    }

    pub(super) fn machine_hears(&mut self, socket: Socket, heard: Heard) {
        let machine = socket.machine;
        let at = &mut self.machines[machine];
        if at.socket != Some(socket) {
            // What arrives on a closed socket is lost.
            return;
        }
        match heard {
            Heard::Registered(node) => {
                if at.node.replace(node).is_none() {
                    self.beat(socket);
                }
            }
            Heard::Closed => {
                (at.socket, at.node) = (None, None);
                self.look_again(machine);
            }
            Heard::Job(assign) => {
                at.count += 1;
                let count = at.count;
                at.working.push(Working { count, job: assign.job, attempt: assign.attempt });
                let beyond = at.running().saturating_sub(at.max_jobs);
                let service = at.service;
                self.seen.oversold = self.seen.oversold.max(beyond);
                self.seen.assigned += 1;
                self.seen.note((self.now, machine, assign.lease, assign.attempt));
                let mut takes = self.random.about(service);
                if self.random.permille(10) {
                    takes = Micros(takes.0 * LONG);
                }
                self.schedule_in(takes, Event::Done(machine, count));
                // Some machines acknowledge.
                if machine % 2 == 1 {
                    self.say(socket, Said::Acked(assign.job, assign.attempt));
                }
            }
            Heard::Cancel(job) => {
                // Some do not listen.
                if machine.is_multiple_of(3) {
                    at.working.retain(|working| working.job != job);
                }
            }
        }
    }

    fn say(&mut self, socket: Socket, said: Said) {
        self.schedule_in(HOP, Event::Said(socket, said));
    }

    pub(super) fn beat(&mut self, socket: Socket) {
        let at = &self.machines[socket.machine];
        if at.node.is_none() || at.socket != Some(socket) {
            return;
        }
        self.say(socket, Said::Report(Report { running: at.running(), ..Report::default() }));
        let next = self.random.between(BEAT - JITTER, BEAT + JITTER);
        self.schedule_in(next, Event::Beat(socket));
    }

    /// A job is done. Without a socket its result is lost.
    pub(super) fn done(&mut self, machine: usize, count: u64) {
        let at = &mut self.machines[machine];
        let Some(place) = at.working.iter().position(|working| working.count == count) else {
            return;
        };
        let Working { job, attempt, .. } = at.working.remove(place);
        if let Some(socket) = at.socket.filter(|_| at.node.is_some()) {
            let answer = Answer { job, attempt, outcome: AnswerOutcome::Result };
            self.say(socket, Said::Answer(answer));
        }
    }
}
