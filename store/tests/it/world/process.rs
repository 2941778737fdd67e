//! An instance as a process: it may die, stand still, and have a clock of its own.

use std::collections::{BTreeMap, VecDeque};

use lingua_core::instance::{
    Assign, Cx, Input, Instance, InstanceConfig, Output, Request, Routed, Store as Shared,
};
use lingua_core::*;

use super::machine::{Heard, Said};
use super::random::OfRequest;
use super::{DELAY, Event, HOP, Socket, World, pair};

/// How long its presence counts, from when it was last renewed.
const PRESENT: Micros = Micros::secs(6);
/// Others notice after so long that it is gone.
const GONE: Micros = Micros::secs(7);
/// After standing still it is present again so much later.
const BACK: Micros = Micros::millis(250);
/// All clocks are ahead of the world's, so that one may be behind the others.
const AHEAD: Micros = Micros::secs(3_600);

/// What happens when a process has heard its n-th event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strike {
    pub(crate) process: usize,
    pub(crate) event: usize,
    pub(crate) blow: Blow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    /// The process dies after so many outputs.
    Kill(usize),
    /// It stands still for so long.
    Pause(Micros),
    /// This machine dies.
    Crash(usize),
}

/// One instance.
pub(crate) struct Process {
    pub(crate) id: InstanceId,
    pub(crate) alive: bool,
    /// Outputs of each event heard since this was last emptied.
    pub(crate) heard: Vec<usize>,
    /// When the last step that it sent arrives.
    pub(super) last_step: Micros,
    pub(super) strike: Option<Strike>,
    instance: Instance,
    ahead: Micros,
    armed: Micros,
    stands_still: bool,
    // What is heard by a process that stands still.
    unheard: VecDeque<Event>,
    // Whether others may have cleared up after it: it sends no step.
    absent: bool,
    opening: BTreeMap<Box<str>, Socket>,
    sockets: BTreeMap<NodeRef, Socket>,
    // By machine.
    nodes: BTreeMap<usize, NodeRef>,
}

impl Process {
    pub(crate) fn is_quiet(&self) -> bool {
        !self.alive || (!self.stands_still && !self.absent && self.instance.owed() == 0)
    }

    fn node_of(&self, socket: Socket) -> Option<NodeRef> {
        let node = *self.nodes.get(&socket.machine)?;
        (self.sockets.get(&node) == Some(&socket)).then_some(node)
    }

    fn forget(&mut self, node: NodeRef) -> Option<Socket> {
        let socket = self.sockets.remove(&node)?;
        if self.nodes.get(&socket.machine) == Some(&node) {
            self.nodes.remove(&socket.machine);
        }
        Some(socket)
    }
}

impl World {
    /// A new instance; none before it had its number.
    pub(crate) fn start_process(&mut self) -> usize {
        let at = self.processes.len();
        let id = InstanceId(at as u16 + 1);
        let (cluster, gate) = (self.is_cluster(), self.gate);
        let skew = self.skews[at % self.skews.len()];
        self.processes.push(Process {
            id,
            alive: true,
            heard: Vec::new(),
            last_step: Micros::ZERO,
            strike: None,
            instance: Instance::new(InstanceConfig { id, cluster, gate, ..Default::default() }),
            ahead: AHEAD + skew,
            armed: Micros::NEVER,
            stands_still: false,
            unheard: VecDeque::new(),
            absent: false,
            opening: BTreeMap::new(),
            sockets: BTreeMap::new(),
            nodes: BTreeMap::new(),
        });
        self.changed();
        at
    }

    /// Instances that live.
    pub(crate) fn alive(&self) -> Vec<usize> {
        (0..self.processes.len()).filter(|&at| self.processes[at].alive).collect()
    }

    pub(crate) fn strike_at(&mut self, strike: Strike) {
        self.processes[strike.process].strike = Some(strike);
    }

    /// It dies at once. What it has sent is on its way; its sockets close.
    pub(crate) fn kill(&mut self, process: usize) {
        let dead = &mut self.processes[process];
        if !std::mem::replace(&mut dead.alive, false) {
            return;
        }
        self.seen.kills += 1;
        let dead = &mut self.processes[process];
        dead.unheard.clear();
        let open = std::mem::take(&mut dead.sockets);
        let opening = std::mem::take(&mut dead.opening);
        dead.nodes.clear();
        for socket in opening.into_values().chain(open.into_values()) {
            self.schedule_in(HOP, Event::Machine(socket, Heard::Closed));
        }
        self.schedule_in(GONE, Event::ClearUp(process));
    }

    /// It stands still for so long, as by SIGSTOP.
    pub(crate) fn pause(&mut self, process: usize, span: Micros) {
        let paused = &mut self.processes[process];
        if !paused.alive || paused.stands_still {
            return;
        }
        self.seen.pauses += 1;
        paused.stands_still = true;
        paused.absent = span >= PRESENT;
        if span > GONE {
            self.schedule_in(GONE, Event::ClearUp(process));
        }
        self.schedule_in(span, Event::Woken(process));
    }

    /// First it hears all that came meanwhile; a little later it is present again, and registers
    /// its nodes anew on their sockets.
    pub(super) fn woken(&mut self, process: usize) {
        let woken = &mut self.processes[process];
        if !woken.alive {
            return;
        }
        if woken.stands_still {
            woken.stands_still = false;
            let unheard = std::mem::take(&mut woken.unheard);
            for event in unheard {
                self.take(event);
            }
            self.tick(process);
            if self.processes[process].absent {
                self.schedule_in(BACK, Event::Woken(process));
            }
            return;
        }
        woken.absent = false;
        for socket in woken.sockets.values().copied().collect::<Vec<_>>() {
            let register = self.machines[socket.machine].register(socket.machine);
            self.processes[process].opening.insert(register.name.as_ref().into(), socket);
            self.hear(process, Input::NodeOpened(register));
        }
    }

    /// Another instance takes what this one has left out of the store.
    pub(super) fn clear_up(&mut self, process: usize) {
        let id = self.processes[process].id;
        self.clock.store(self.now.0, std::sync::atomic::Ordering::Release);
        let nodes = self.runtime.block_on(self.store.nodes_of(id));
        for node in nodes.unwrap_or_default() {
            self.apply(&Op::Remove(node));
        }
        self.changed();
    }

    /// A machine opens a socket.
    pub(super) fn open_socket(&mut self, socket: Socket, register: Box<Register>) {
        let process = &mut self.processes[socket.process];
        process.opening.insert(register.name.as_ref().into(), socket);
        self.schedule_in(HOP, Event::Input(socket.process, Input::NodeOpened(register)));
    }

    /// A machine has closed its socket.
    pub(super) fn socket_closed(&mut self, process: usize, socket: Socket) {
        let at = &mut self.processes[process];
        if at.stands_still {
            at.unheard.push_back(Event::Closed(process, socket));
            return;
        }
        at.opening.retain(|_, opening| *opening != socket);
        if let Some(node) = at.node_of(socket) {
            at.forget(node);
            self.hear(process, Input::NodeClosed(node));
        }
    }

    /// A machine has said something on a socket.
    pub(super) fn socket_says(&mut self, socket: Socket, said: Said) {
        let at = &mut self.processes[socket.process];
        if at.stands_still {
            at.unheard.push_back(Event::Said(socket, said));
            return;
        }
        let Some(node) = at.node_of(socket) else { return };
        let input = match said {
            Said::Report(report) => Input::Heartbeat(node, report),
            Said::Acked(job, attempt) => Input::Acked(node, job, attempt),
            Said::Answer(answer) => Input::Answer(node, answer),
        };
        self.hear(socket.process, input);
    }

    pub(super) fn tick(&mut self, process: usize) {
        let at = &mut self.processes[process];
        if at.armed <= self.now {
            at.armed = Micros::NEVER;
        }
        if !at.stands_still {
            self.hear(process, Input::Tick);
        }
    }

    /// Somebody asks an instance for a slot.
    pub(super) fn ask(&mut self, process: usize, id: RequestId) {
        let (needs, speech) = (Needs::pair(pair()), Micros::secs(1));
        let request = Request { id, needs, speech, bytes: 9_000, sent: Micros::ZERO };
        self.hear(process, Input::Request(request));
    }

    pub(super) fn hear(&mut self, process: usize, input: Input) {
        let at = &mut self.processes[process];
        if !at.alive {
            return;
        }
        if at.stands_still {
            at.unheard.push_back(Event::Input(process, input));
            return;
        }
        let now = self.now + at.ahead;
        let mut out = Vec::new();
        let mut cx = Cx { now, draws: &mut OfRequest, store: Shared::Remote, out: &mut out };
        at.instance.handle(&mut cx, input);
        let event = at.heard.len();
        at.heard.push(out.len());
        let blow = at.strike.filter(|strike| strike.event == event).map(|strike| strike.blow);
        if let Some(Blow::Kill(outputs)) = blow {
            out.truncate(outputs);
        }
        for output in out {
            self.put_out(process, now, output);
        }
        match blow {
            Some(Blow::Kill(_)) => {
                self.kill(process);
                return;
            }
            Some(Blow::Pause(span)) => self.pause(process, span),
            Some(Blow::Crash(machine)) => self.crash(machine),
            None => {}
        }
        let at = &mut self.processes[process];
        let due = at.instance.next_deadline();
        if due != Micros::NEVER {
            let due = (due - at.ahead).max(self.now);
            if due < at.armed {
                at.armed = due;
                self.schedule(due, Event::Tick(process));
            }
        }
    }

    fn put_out(&mut self, process: usize, by: Micros, output: Output) {
        match output {
            Output::Store(token, op) => {
                if !self.processes[process].absent {
                    self.send_step(process, token, by, op);
                }
            }
            Output::Registered(name, result) => self.registered(process, &name, result),
            Output::Assign(assign) => self.tell_machine(process, assign.node, Heard::Job(assign)),
            Output::Cancel(node, job) => self.tell_machine(process, node, Heard::Cancel(job)),
            Output::CloseNode(node) => {
                let at = &mut self.processes[process];
                // A socket on which its node is being registered anew stays open.
                let again = |socket: &&Socket| at.opening.values().any(|open| open == *socket);
                if at.sockets.get(&node).filter(again).is_none()
                    && let Some(socket) = at.forget(node)
                {
                    self.schedule_in(HOP, Event::Machine(socket, Heard::Closed));
                }
            }
            Output::Route(to, message) => self.route(process, to, message),
            Output::Final(last) => {
                self.seen.note(format!("{last:?}"));
                self.seen.finals.entry(last.request).or_default().push(last);
            }
            Output::RefreshModel(_) | Output::Opened(_) | Output::Work(_) => {}
        }
    }

    fn tell_machine(&mut self, process: usize, node: NodeRef, heard: Heard) {
        if let Some(&socket) = self.processes[process].sockets.get(&node) {
            self.schedule_in(HOP, Event::Machine(socket, heard));
        }
    }

    fn registered(&mut self, process: usize, name: &str, result: Result<NodeRef, RegisterError>) {
        let node = result.expect("there is room for all");
        let opening = self.processes[process].opening.remove(name);
        let Some(socket) = opening else {
            // It has gone meanwhile.
            self.schedule(self.now, Event::Input(process, Input::NodeClosed(node)));
            return;
        };
        let at = &mut self.processes[process];
        if let Some(former) = at.nodes.insert(socket.machine, node) {
            at.sockets.remove(&former);
        }
        at.sockets.insert(node, socket);
        self.schedule_in(HOP, Event::Machine(socket, Heard::Registered(node)));
    }

    fn route(&mut self, process: usize, to: InstanceId, message: Routed) {
        let to = usize::from(to.0) - 1;
        if self.random.permille(self.losses.routed) {
            self.seen.lost += 1;
            return;
        }
        let way = self.random.between(DELAY, Micros(3 * DELAY.0));
        let receiver = self.processes.get(to).filter(|process| process.alive);
        if receiver.is_some() {
            self.schedule_in(way, Event::Input(to, Input::Routed(Box::new(message))));
        } else if let Routed::Assign(Assign { job, attempt, .. }) = message {
            // Its link cannot be opened: the job goes elsewhere.
            let full = Input::Routed(Box::new(Routed::Full(job, attempt)));
            self.schedule_in(Micros::secs(1), Event::Input(process, full));
        }
    }
}
