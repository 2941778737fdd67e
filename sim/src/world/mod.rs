//! Everything outside the scheduler: clients, nodes, network, store, and what goes wrong.

mod arrivals;
mod costs;
mod crash_points;
mod faults;
mod finals;
mod foresight;
mod mail;
mod nodes;
mod open;
mod report;
mod server;
mod store;
mod talkers;
mod traced;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use lingua_core::instance::Seat;
use lingua_core::{
    Draws, InstanceId, Lang, LookupMap, Micros, Promises, RequestId, SessionId, Words,
};
use lingua_scenarios::{Costs, Sampler, Scenario, Scheduler, StoreKind, WhenFull};

use crate::digest::Digest;
use crate::invariants::{Broken, Watch};
use crate::plant::Planted;
use crate::queue::EventQueue;
use crate::record::Recorder;
use crate::setup::{self, Names};
use crate::slab::{Pool, Slab};
use crate::streams::{Purpose, Stream, Streams, mix};
use crate::trace::Trace;
use crate::{Progress, SimError};

use arrivals::Source;
use faults::Faults;
use mail::{Audio, Mail};
use nodes::Node;
use open::{OpenJob, OpenJobs};
use server::Server;
use store::Store;
use talkers::{Talker, TalkerGroup};

// With its time four share a cache line of the queue.
const _: () = assert!(size_of::<Event>() == 12);

/// What happens at one instant.
// Whole words, so that the queue moves it as such; the numbers are those of the digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Event {
    /// The next bare job of a source.
    Arrival(u16) = 1,
    /// The next session of a group.
    SessionArrival(u16) = 2,
    /// A talker's next step.
    Talk(u32, u32) = 3,
    /// A letter has arrived.
    Mail(u32) = 4,
    /// A node has finished a job.
    Done(u32, u32) = 5,
    /// A node comes back, or tries to connect.
    NodeWake(u32) = 6,
    /// A node's time in service is over.
    NodeLeaves(u32) = 7,
    /// An instance is free for its next message.
    Free(u16) = 8,
    /// A deadline of an instance is due.
    Tick(u16) = 9,
    /// An instance renews its snapshot as a whole.
    Snapshot(u16) = 10,
    /// A fault begins or ends.
    Fault(u16, bool) = 11,
    /// The store fails over to a copy made now.
    Checkpoint(u16) = 12,
    /// An instance starts again.
    Restart(u16) = 13,
    /// A row of the time series is due.
    Sample = 14,
    /// Audio has arrived at an instance. The seat, if the client's socket knows it, is for
    /// [`World::look_ahead`] alone.
    Chunk(u32, Option<Seat>) = 15,
}

impl Event {
    fn kind(self) -> u8 {
        match self {
            Self::Arrival(_) => 1,
            Self::SessionArrival(_) => 2,
            Self::Talk(..) => 3,
            Self::Mail(_) => 4,
            Self::Done(..) => 5,
            Self::NodeWake(_) => 6,
            Self::NodeLeaves(_) => 7,
            Self::Free(_) => 8,
            Self::Tick(_) => 9,
            Self::Snapshot(_) => 10,
            Self::Fault(..) => 11,
            Self::Checkpoint(_) => 12,
            Self::Restart(_) => 13,
            Self::Sample => 14,
            Self::Chunk(..) => 15,
        }
    }

    fn subject(self) -> u64 {
        match self {
            Self::Arrival(n)
            | Self::SessionArrival(n)
            | Self::Free(n)
            | Self::Tick(n)
            | Self::Snapshot(n)
            | Self::Checkpoint(n)
            | Self::Restart(n) => u64::from(n),
            Self::Mail(n) | Self::Chunk(n, _) | Self::NodeWake(n) | Self::NodeLeaves(n) => {
                u64::from(n)
            }
            Self::Talk(n, m) | Self::Done(n, m) => u64::from(n) << 32 | u64::from(m),
            Self::Fault(n, on) => u64::from(n) << 1 | u64::from(on),
            Self::Sample => 0,
        }
    }
}

/// The world.
pub(crate) struct World {
    scheduler: Scheduler,
    costs: Costs,
    free_of_cost: bool,
    names: Names,
    promises: Promises,
    streams: Streams,
    network: Stream,
    legs: [Sampler; 4],
    now: Micros,
    end: Micros,
    warmup: Micros,
    queue: EventQueue<Event>,
    heartbeats: BinaryHeap<Reverse<(Micros, u32, u32)>>,
    mail: Slab<Mail>,
    audio: Pool<Audio>,
    nodes: Vec<Node>,
    node_names: LookupMap<Arc<str>, u32>,
    // World index by the number that the store gave.
    node_of_num: Vec<u32>,
    sources: Vec<Source>,
    groups: Vec<TalkerGroup>,
    talkers: Vec<Talker>,
    // Talkers that have not left for good.
    present: u64,
    servers: Vec<Server>,
    server_of: LookupMap<InstanceId, u16>,
    next_instance: u16,
    watch: Watch,
    store: Store,
    faults: Faults,
    open: OpenJobs,
    tails: LookupMap<(SessionId, Lang), nodes::Tail>,
    recorder: Recorder,
    trace: Trace,
    digest: Digest,
    arrivals_digest: u64,
    planted: Planted,
    broken: Option<Broken>,
    // Why the run ended before its time, saying nothing about the rest.
    void: Option<String>,
}

impl World {
    pub(crate) fn new(scenario: &Scenario) -> Result<Self, SimError> {
        let scheduler = scenario.scheduler.clone();
        check(scenario)?;
        let streams = Streams::new(scenario.seed);
        let names = Names::of(scenario);
        let promises = setup::promises(&scheduler);
        let end = setup::micros(scenario.duration);
        let warmup = setup::micros(scenario.warmup);
        let planted = Planted::new(scenario.plant);
        let watch = Watch::new(setup::state_config(&scheduler), promises, planted);
        let mut world = Self {
            free_of_cost: costs::free_of_cost(&scenario.costs),
            legs: mail::legs(&scenario.costs),
            costs: scenario.costs.clone(),
            network: streams.stream(Purpose::Network, 0),
            store: Store::new(&scheduler, &streams),
            faults: Faults::new(scenario, &names, &streams),
            recorder: Recorder::new(end, warmup, scheduler.when_full == WhenFull::Wait),
            scheduler,
            names,
            promises,
            streams,
            now: Micros::ZERO,
            end,
            warmup,
            queue: EventQueue::default(),
            heartbeats: BinaryHeap::new(),
            mail: Slab::default(),
            audio: Pool::default(),
            nodes: Vec::new(),
            node_names: LookupMap::default(),
            node_of_num: Vec::new(),
            sources: Vec::new(),
            groups: Vec::new(),
            talkers: Vec::new(),
            present: 0,
            servers: Vec::new(),
            server_of: LookupMap::default(),
            next_instance: 0,
            watch,
            open: OpenJobs::default(),
            tails: LookupMap::default(),
            trace: Trace::default(),
            digest: Digest::default(),
            arrivals_digest: 0,
            planted,
            broken: None,
            void: None,
        };
        world.start_servers();
        world.start_nodes(scenario)?;
        world.start_sources(scenario)?;
        world.start_talkers(scenario)?;
        world.schedule_faults();
        world.queue.push(world.recorder.row(), Event::Sample);
        Ok(world)
    }

    /// Runs to the end of the scenario, then on without new work until every slot has returned.
    pub(crate) fn run(&mut self, progress: &mut dyn Progress) -> Result<(), SimError> {
        let quiet_until = self.end + self.quiet_span();
        let mut steps = 0u32;
        let mut slot = self.queue.slot();
        while self.broken.is_none() && self.void.is_none() {
            let beat_at = self.heartbeats.peek().map_or(Micros::NEVER, |&Reverse((at, ..))| at);
            let next = self.queue.pop_by(beat_at);
            let at = next.map_or(beat_at, |(at, _)| at);
            if at > quiet_until || (at > self.end && self.is_quiet()) {
                break;
            }
            self.now = at;
            if self.queue.slot() != slot {
                slot = self.queue.slot();
                self.look_ahead();
            }
            if let Some((_, event)) = next {
                self.digest.event(at, event.kind(), event.subject());
                match event {
                    // Nearly all are of these two kinds.
                    Event::Talk(talker, life) => self.talk(talker, life),
                    Event::Chunk(letter, _) => self.open_audio(letter),
                    event => self.happen(event)?,
                }
            } else {
                self.beat();
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1 << 16) {
                progress.at(self.now.min(self.end), self.end);
            }
        }
        self.settle();
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Result<(), SimError> {
        match event {
            Event::Arrival(source) => self.arrive(source)?,
            Event::SessionArrival(group) => self.session_arrives(group),
            Event::Talk(talker, life) => self.talk(talker, life),
            Event::Mail(letter) => self.open_mail(letter),
            Event::Chunk(letter, _) => self.open_audio(letter),
            Event::Done(node, work) => self.node_done(node, work),
            Event::NodeWake(node) => self.node_wakes(node),
            Event::NodeLeaves(node) => self.node_leaves(node),
            Event::Free(server) => self.server_is_free(server),
            Event::Tick(server) => self.server_ticks(server),
            Event::Snapshot(server) => self.renew_snapshot(server),
            Event::Fault(fault, begins) => self.fault(fault, begins),
            Event::Checkpoint(fault) => self.checkpoint(fault),
            Event::Restart(server) => self.restart_server(server),
            Event::Sample => self.sample(),
        }
        Ok(())
    }

    /// After the end of the scenario: how long the last lease may take to return.
    fn quiet_span(&self) -> Micros {
        let scheduler = &self.scheduler;
        setup::micros(scheduler.deadline)
            + setup::micros(scheduler.lease)
            + setup::micros(scheduler.rejoin)
            + Micros::secs(5)
    }

    fn is_quiet(&self) -> bool {
        self.open.is_empty()
            && self.mail.is_empty()
            && self.audio.is_empty()
            && self.watch.lease_total() == 0
    }

    fn is_remote(&self) -> bool {
        self.scheduler.store != StoreKind::Embedded
    }

    fn is_counted(&self, at: Micros) -> bool {
        at >= self.warmup && at < self.end
    }

    /// Ends the run when a promised invariant has broken, else counts.
    fn judge(&mut self, promised: bool, broken: Broken) {
        if promised {
            self.broken.get_or_insert(broken);
        } else {
            self.recorder.count_broken(broken.invariant);
        }
    }

    fn plan(&mut self, entity: u64, value: u64) {
        // A sum does not care for the order in which equal instants are met.
        let item = mix(mix(self.now.0 ^ mix(entity)) ^ value);
        self.arrivals_digest = self.arrivals_digest.wrapping_add(item);
    }
}

/// Words of a request: those of its plan, else keyed by the request.
struct RequestWords<'a> {
    streams: &'a mut Streams,
    open: &'a OpenJobs,
}

impl Draws for RequestWords<'_> {
    fn words(&mut self, request: RequestId, attempt: u32) -> Words {
        let planned = self.open.get(&request).and_then(|open| open.words);
        match planned {
            Some(words) if attempt == 1 => words,
            _ => self.streams.words(request, attempt),
        }
    }
}

fn check(scenario: &Scenario) -> Result<(), SimError> {
    let scheduler = &scenario.scheduler;
    if scheduler.instances > 1 && scheduler.store == StoreKind::Embedded {
        return Err(SimError::Scenario(format!(
            "scheduler.instances = {} need a shared store: set scheduler.store = \"redis\"",
            scheduler.instances
        )));
    }
    if scheduler.store == StoreKind::RedisCluster && setup::is_deployed(scheduler) {
        return Err(SimError::Scenario(
            "scheduler.preset = \"deployed\" knows no Cluster: set scheduler.store = \"redis\""
                .into(),
        ));
    }
    if scenario.nodes.is_empty() {
        return Err(SimError::Scenario("the scenario has no nodes: add a [[nodes]] group".into()));
    }
    Ok(())
}
