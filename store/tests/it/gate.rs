//! Nodes count for themselves: whatever dies, stands still, is lost or comes twice, none ever has
//! more jobs than it can do, and when it is quiet again every slot can be had.

use lingua_core::{Micros, RequestId, SessionId};

use crate::servers::Servers;
use crate::size;
use crate::world::{Event, LEASE, Losses, Random, World, pair};

const MACHINES: usize = 100;
/// Slots of a machine.
const SLOTS: std::ops::RangeInclusive<usize> = 1..=8;
const SERVICE: Micros = Micros::millis(200);
/// How long a slot is held on average: some jobs are long, and every message has its way.
const HELD: Micros = Micros::millis(340);
/// Slots asked for and given back in one world; then the next one begins.
const OPERATIONS_OF_WORLD: u64 = 250_000;
/// After so long without faults all slots can be had: a lease and five seconds.
const HEALED: Micros = Micros(LEASE.0 + 5_000_000);

/// Mean time between faults of a kind; the last kind is a server that fails, with what was written
/// to it lately.
const FAULTS: [Micros; 5] =
    [Micros::secs(20), Micros::secs(12), Micros::secs(2), Micros::secs(6), Micros::secs(30)];
const FAILOVER: usize = 4;

/// A world under load and faults.
pub(crate) struct Storm {
    pub(crate) world: World,
    seed: u64,
    faults: Random,
    sessions: u64,
    slots: usize,
}

impl Storm {
    pub(crate) fn new(world: World) -> Self {
        Self { world, seed: 0, faults: Random(0), sessions: 0, slots: 0 }
    }

    /// Begins anew: instances and machines that serve.
    pub(crate) fn begin(&mut self, seed: u64) {
        self.seed = seed;
        self.faults = Random(seed ^ 0xfa17);
        self.world.again(seed);
        self.sessions = 0;
        for _ in 0..2 + self.faults.below(7) {
            self.world.start_process();
        }
        self.slots = 0;
        for at in 0..MACHINES {
            let slots = SLOTS.start() + self.faults.below(SLOTS.end() - SLOTS.start() + 1);
            self.slots += slots;
            self.world.start_machine(slots as u32, SERVICE);
            self.world.schedule(self.world.now, Event::Connect(at));
        }
        self.world.settle();
    }

    /// Requests and faults until so many operations are done.
    pub(crate) fn rage(&mut self, operations: u64) {
        self.world.losses = Losses { steps: 2, replies: 3, routed: 2 };
        // The first of each kind comes soon.
        let soon = |kind| self.world.now + Micros::millis(500 + 300 * kind as u64);
        let mut fault_at: [Micros; 5] = std::array::from_fn(soon);
        let mut frozen = None;
        while self.world.seen.operations < operations {
            // Now and then more is asked for than there are slots.
            let load = if self.faults.permille(100) { 2.0 } else { 0.9 };
            let rate = self.slots as f64 * load / HELD.as_secs_f64();
            let end = self.world.now + Micros::millis(200);
            let mut at = self.world.now;
            loop {
                at = at + self.faults.about(Micros((1e6 / rate) as u64));
                if at >= end {
                    break;
                }
                self.request(at);
            }
            self.world.run_until(end);
            self.check();
            if let Some((server, _)) = frozen.take_if(|(_, until)| *until <= self.world.now) {
                self.world.fail_over(server);
            }
            for (kind, at) in fault_at.iter_mut().enumerate() {
                if *at > self.world.now {
                    continue;
                }
                self.fault(kind);
                *at = self.next_fault(kind);
                if kind == FAILOVER && frozen.is_none() {
                    let server = self.faults.below(self.world.servers.servers.len());
                    let lost = self.faults.about(Micros::millis(300));
                    self.world.servers.freeze(server);
                    frozen = Some((server, self.world.now + lost));
                }
            }
        }
        if let Some((server, _)) = frozen {
            self.world.fail_over(server);
        }
    }

    /// A request at some instance; one of twenty is asked again at another one.
    fn request(&mut self, at: Micros) {
        let alive = self.world.alive();
        self.sessions += 1;
        let request = RequestId { session: SessionId(self.sessions), index: 0, tgt: pair().tgt };
        let process = alive[self.faults.below(alive.len())];
        self.world.schedule(at, Event::Ask(process, request));
        if self.faults.permille(50) {
            let other = alive[self.faults.below(alive.len())];
            let later = self.faults.about(Micros::millis(300));
            self.world.schedule(at + later, Event::Ask(other, request));
        }
    }

    fn next_fault(&mut self, kind: usize) -> Micros {
        self.world.now + self.faults.about(FAULTS[kind])
    }

    fn fault(&mut self, kind: usize) {
        let alive = self.world.alive();
        let process = alive[self.faults.below(alive.len())];
        let machine = self.faults.below(MACHINES);
        match kind {
            0 => {
                self.world.kill(process);
                self.world.start_process();
            }
            1 => {
                let span = self.faults.about(Micros::secs(3));
                self.world.pause(process, span);
            }
            2 => self.world.disconnect(machine),
            3 => self.world.crash(machine),
            _ => {}
        }
    }

    fn check(&self) {
        let beyond = self.world.seen.oversold;
        assert!(
            beyond == 0 || !self.world.gate,
            "a node has {beyond} jobs too many: LINGUA_SEED={}",
            self.seed
        );
    }

    /// No more requests and faults: all slots come back.
    pub(crate) fn heal(&mut self) {
        self.world.losses = Losses::default();
        self.world.settle();
        self.world.run_for(HEALED);
        self.check();
        let leaked = self.world.leaked();
        assert!(leaked.is_empty(), "{leaked:#?}: LINGUA_SEED={}", self.seed);
    }
}

/// Worlds one after the other until so many operations are done.
fn weather(servers: Servers, operations: u64) {
    let operations = size::operations(operations);
    let first = size::seed(1);
    let layout = servers.layout;
    let mut storm = Storm::new(World::new(servers, first));
    let (mut done, mut seed) = (0, first);
    while done < operations {
        storm.begin(seed);
        storm.rage((operations - done).min(OPERATIONS_OF_WORLD));
        storm.heal();
        let seen = &storm.world.seen;
        done += seen.operations;
        println!(
            "{layout:?} seed {seed}: {} operations, {} jobs at nodes, {} kills, {} pauses, \
             {} crashed nodes, {} failovers, {} messages lost, {} errors; {done} in all",
            seen.operations,
            seen.assigned,
            seen.kills,
            seen.pauses,
            seen.crashes,
            seen.failovers,
            seen.lost,
            seen.errors,
        );
        seed += 1;
    }
}

#[test]
fn nothing_is_oversold_or_leaked_on_one_server() {
    weather(Servers::one(), 40_000);
}

#[test]
fn nothing_is_oversold_or_leaked_on_a_cluster() {
    weather(Servers::cluster_with_replicas(), 30_000);
}

#[test]
fn without_the_gate_nodes_notice() {
    let mut storm = Storm::new(World::new(Servers::one(), 1));
    storm.world.gate = false;
    storm.begin(1);
    storm.rage(40_000);
    assert!(storm.world.seen.oversold > 0);
}

#[test]
#[ignore = "ten million operations: about ten minutes"]
fn ten_million_operations_on_one_server() {
    weather(Servers::one(), 10_000_000);
}

#[test]
#[ignore = "ten million operations: more than ten minutes"]
fn ten_million_operations_on_a_cluster() {
    weather(Servers::cluster_with_replicas(), 10_000_000);
}
