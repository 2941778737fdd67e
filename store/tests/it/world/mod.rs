//! Instances and nodes on virtual time in front of real servers.
//!
//! Instances, scripts, client and servers are the real ones. Their clocks and the network between
//! them are not: what happens when follows from a seed, so a run can be repeated. A server carries
//! out one command after the other, so every order of commands that clients could cause in parallel
//! is one that a seed causes here.

mod machine;
mod process;
mod random;
mod steps;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lingua_core::instance::{Final, Input};
use lingua_core::*;
use lingua_store::{Layout, Store, StoreClock, StoreConfig};
use tokio::runtime::Runtime;

use crate::servers::Servers;

pub(crate) use machine::Machine;
pub(crate) use process::{Blow, Process, Strike};
pub(crate) use random::Random;

/// A time of the years that come, so that numbers are as large as they will be.
const START: Micros = Micros(1_900_000_000_000_007);
/// Shortest way to the store or back. Steps that arrive within it go out together.
const DELAY: Micros = Micros::millis(5);
/// One way between a node and its instance.
const HOP: Micros = Micros::millis(1);
/// Life of a lease, confirmed or not: short, so that many end.
pub(crate) const LEASE: Micros = Micros::secs(6);
const UNCONFIRMED: Micros = Micros::secs(2);
/// How often an instance copies what it ranks by.
const COPY: Micros = Micros::secs(5);
/// Longest wait for a server in real time.
const PATIENCE: Duration = Duration::from_secs(60);

/// What may go wrong on the way, in permille.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Losses {
    /// A step does not reach the store.
    pub(crate) steps: u32,
    /// A reply of the store does not come back.
    pub(crate) replies: u32,
    /// A message between instances does not arrive.
    pub(crate) routed: u32,
}

/// What happens at an instant.
#[derive(Debug)]
pub(crate) enum Event {
    /// An instance hears something.
    Input(usize, Input),
    /// An instance's timer is due.
    Tick(usize),
    /// A socket of an instance is closed by its node.
    Closed(usize, Socket),
    /// A machine has said something on a socket.
    Said(Socket, machine::Said),
    /// An instance knows again that it is present, or does not.
    Woken(usize),
    /// A machine hears something on a socket.
    Machine(Socket, machine::Heard),
    /// A machine looks for an instance.
    Connect(usize),
    /// A machine reports.
    Beat(Socket),
    /// A machine is done with a job.
    Done(usize, u64),
    /// Somebody asks.
    Ask(usize, RequestId),
    /// A snapshot is taken for all.
    Copy,
    /// Others clear up after an instance.
    ClearUp(usize),
}

/// A connection of a machine to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Socket {
    pub(crate) machine: usize,
    pub(crate) process: usize,
    /// Which of all connections.
    pub(crate) id: u64,
}

/// What a run has come to.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Slots asked for and given back, as the store carried it out.
    pub(crate) operations: u64,
    pub(crate) assigned: u64,
    pub(crate) kills: u32,
    pub(crate) pauses: u32,
    pub(crate) crashes: u32,
    pub(crate) failovers: u32,
    pub(crate) lost: u64,
    pub(crate) errors: u64,
    /// Final messages by request.
    pub(crate) finals: BTreeMap<RequestId, Vec<Final>>,
    /// The most jobs that a machine has ever had beyond its maximum.
    pub(crate) oversold: u32,
    digest: DefaultHasher,
}

impl Seen {
    fn note(&mut self, what: impl Hash) {
        what.hash(&mut self.digest);
    }

    /// All that reached machines and clients, in order, as one number.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.finish()
    }
}

/// All of it.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) servers: Servers,
    pub(crate) now: Micros,
    pub(crate) random: Random,
    pub(crate) processes: Vec<Process>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) losses: Losses,
    pub(crate) seen: Seen,
    /// How far the instances' clocks are from each other, in turn.
    pub(crate) skews: Vec<Micros>,
    /// Whether instances count what they have given to their nodes.
    pub(crate) gate: bool,
    store: Store,
    clock: Arc<AtomicU64>,
    events: BTreeMap<(Micros, u64), Event>,
    steps: BTreeMap<(Micros, u64), steps::Sent>,
    sequence: u64,
    copy_due: bool,
}

impl World {
    /// Empty servers, no instances, no machines.
    pub(crate) fn new(mut servers: Servers, seed: u64) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let clock = Arc::new(AtomicU64::new(START.0));
        servers.flush();
        let config = StoreConfig {
            clock: StoreClock::Given(Arc::clone(&clock)),
            timeout: Duration::from_secs(1),
            ..servers.config(&rules())
        };
        let store = runtime.block_on(Store::connect(config)).unwrap();
        Self {
            runtime,
            servers,
            now: START,
            random: Random(seed),
            processes: Vec::new(),
            machines: Vec::new(),
            losses: Losses::default(),
            seen: Seen::default(),
            skews: vec![Micros::ZERO],
            gate: true,
            store,
            clock,
            events: BTreeMap::new(),
            steps: BTreeMap::new(),
            sequence: 0,
            copy_due: false,
        }
    }

    /// The same servers and their connection, for another run.
    pub(crate) fn again(&mut self, seed: u64) {
        self.servers.flush();
        self.now = START;
        self.random = Random(seed);
        self.processes.clear();
        self.machines.clear();
        self.seen = Seen::default();
        self.events.clear();
        self.steps.clear();
        self.copy_due = false;
        self.runtime.block_on(self.store.agree_on_rules()).unwrap();
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.servers.layout == Layout::Cluster
    }

    pub(crate) fn schedule(&mut self, at: Micros, event: Event) {
        self.sequence += 1;
        self.events.insert((at, self.sequence), event);
    }

    fn schedule_in(&mut self, span: Micros, event: Event) {
        self.schedule(self.now + span, event);
    }

    /// Runs until nothing is due before `until`, and that is the time then.
    pub(crate) fn run_until(&mut self, until: Micros) {
        loop {
            let event = self.events.first_key_value().map_or(Micros::NEVER, |(&(at, _), _)| at);
            let step = self.steps.first_key_value().map_or(Micros::NEVER, |(&(at, _), _)| at);
            if event.min(step) >= until {
                break;
            }
            if step < event {
                self.now = step;
                self.carry_out(until);
            } else if let Some(((at, _), event)) = self.events.pop_first() {
                self.now = at;
                self.take(event);
            }
        }
        self.now = until;
    }

    /// Runs for a while.
    pub(crate) fn run_for(&mut self, span: Micros) {
        self.run_until(self.now + span);
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Input(process, input) => self.hear(process, input),
            Event::Tick(process) => self.tick(process),
            Event::Closed(process, socket) => self.socket_closed(process, socket),
            Event::Said(socket, said) => self.socket_says(socket, said),
            Event::Woken(process) => self.woken(process),
            Event::Machine(socket, heard) => self.machine_hears(socket, heard),
            Event::Connect(machine) => self.connect(machine),
            Event::Beat(socket) => self.beat(socket),
            Event::Done(machine, job) => self.done(machine, job),
            Event::Ask(process, request) => self.ask(process, request),
            Event::Copy => self.copy(),
            Event::ClearUp(process) => self.clear_up(process),
        }
    }

    /// Somebody has changed the directory: all copy it soon.
    fn changed(&mut self) {
        if !self.copy_due {
            self.copy_due = true;
            self.schedule_in(Micros::millis(100), Event::Copy);
        }
    }

    fn copy(&mut self) {
        self.copy_due = false;
        let snapshot = self.apply(&Op::Snapshot);
        if let Some(Reply::Snapshot(snapshot)) = snapshot {
            for process in 0..self.processes.len() {
                let input = Input::Snapshot(snapshot.clone());
                self.schedule_in(DELAY, Event::Input(process, input));
            }
        }
        if !self.copy_due {
            self.copy_due = true;
            self.schedule_in(COPY, Event::Copy);
        }
    }

    /// A step of nobody's, at once.
    pub(crate) fn apply(&mut self, op: &Op) -> Option<Reply> {
        self.clock.store(self.now.0, Ordering::Release);
        match self.runtime.block_on(self.store.apply(self.now, op)) {
            Ok(reply) => Some(reply),
            Err(_) => {
                self.seen.errors += 1;
                None
            }
        }
    }

    /// A frozen server fails over.
    pub(crate) fn fail_over(&mut self, server: usize) {
        self.seen.failovers += 1;
        self.servers.fail_over(server);
        self.wait_for_store();
    }

    /// After a fault of the servers: time stands still until they serve again.
    pub(crate) fn wait_for_store(&mut self) {
        let since = Instant::now();
        // Every slot that anybody uses.
        loop {
            match self.runtime.block_on(self.store.apply(self.now, &Op::Snapshot)) {
                Ok(_) => return,
                Err(error) => {
                    assert!(since.elapsed() < PATIENCE, "the store does not come back: {error}");
                    self.seen.errors += 1;
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// All that is connected reports, nothing is owed and no machine works.
    pub(crate) fn is_quiet(&self) -> bool {
        self.machines.iter().all(|machine| machine.is_registered() && machine.running() == 0)
            && self.processes.iter().all(Process::is_quiet)
    }

    /// Runs until it is quiet.
    pub(crate) fn settle(&mut self) {
        for _ in 0..300 {
            if self.is_quiet() {
                return;
            }
            self.run_for(Micros::secs(1));
        }
        panic!("not quiet after 300 s without a fault and without requests");
    }

    /// Slots that cannot be had: each is asked for by name, and one more must be refused.
    pub(crate) fn leaked(&mut self) -> Vec<String> {
        let mut leaked = Vec::new();
        for at in 0..self.machines.len() {
            let Some(node) = self.machines[at].node() else {
                leaked.push(format!("node {at} is not registered"));
                continue;
            };
            let most = self.machines[at].max_jobs;
            let had = (0..=most).filter(|&n| self.takes(node, u64::from(n))).count() as u32;
            if had != most {
                leaked.push(format!("node {at} gave {had} of {most} slots"));
            }
        }
        leaked
    }

    /// Whether a slot can be had at just this node.
    fn takes(&mut self, node: NodeRef, n: u64) -> bool {
        let pair = pair();
        let lease = LeaseId::new(InstanceId(u16::MAX), u64::from(node.num.0) << 16 | n);
        let request = RequestId { session: SessionId(1 << 60 | lease.0), index: 0, tgt: pair.tgt };
        let (needs, deadline) = (Needs::pair(pair), self.now + Micros::secs(60));
        if self.is_cluster() {
            let target = Target { node: node.num, generation: None, via: Via::Candidate };
            let excluded = Excluded::default();
            let reserve = Reserve { target, request, attempt: 1, lease, needs, excluded, deadline };
            let reply = self.apply(&Op::Reserve(reserve));
            return matches!(reply, Some(Reply::Reserved(Reserved::Granted { .. })));
        }
        let mut candidates = Candidates::default();
        candidates.push(node.num);
        let dispatch = Dispatch {
            request,
            attempt: 1,
            lease,
            needs,
            affinity: false,
            preferred: None,
            excluded: Excluded::default(),
            candidates,
            scan: None,
            deadline,
        };
        let reply = self.apply(&Op::Dispatch(dispatch));
        matches!(reply, Some(Reply::Dispatched(Dispatched { outcome: Outcome::Granted(_), .. })))
    }
}

fn rules() -> StateConfig {
    StateConfig { lease: LEASE, unconfirmed: UNCONFIRMED, ..StateConfig::default() }
}

/// What everybody speaks here.
pub(crate) fn pair() -> Pair {
    Pair { src: "zh".parse().unwrap(), tgt: "en".parse().unwrap() }
}
