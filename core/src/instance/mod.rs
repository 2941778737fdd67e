//! One scheduler process, without input and output of its own.
//!
//! Events go in by [`Instance::handle`]; what is to be sent comes out in a list that the caller
//! owns. [`Instance::next_deadline`] tells when [`Input::Tick`] is due. A server drives one
//! instance with real sockets, the simulator drives many on virtual time.

mod across;
mod endings;
mod fleet;
mod foresight;
mod hearing;
mod jobs;
mod link;
mod message;
mod routing;
mod sessions;
mod slab;
mod timers;
mod waiting;

use crate::affinity::AffinityRule;
use crate::finalize::FinalizeConfig;
use crate::select::{Policy, ShardQuirks, View};
use crate::{Draws, InstanceId, LookupMap, Micros, Pair, SessionId, SharedState};

use fleet::Fleet;
use hearing::Ears;
use jobs::Job;
use link::Links;
use sessions::Session;
use slab::{Key, Slab};
use timers::Timers;
use waiting::Waiting;

pub use fleet::Gate;
pub use hearing::Seat;
pub use message::*;

/// Rules of an [`Instance`].
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceConfig {
    /// Its number, unique among all processes of a deployment that ever were.
    pub id: InstanceId,
    /// How a node is chosen.
    pub policy: Policy,
    /// Sample size N.
    pub sample: usize,
    /// What happens when no fitting node is free.
    pub when_full: WhenFull,
    /// The finalize rules.
    pub finalize: FinalizeConfig,
    /// When a session's next job is tied to a node.
    pub affinity_rule: AffinityRule,
    /// Life of an affinity record.
    pub affinity_life: Micros,
    /// Sessions stay with their first node for good (deployed): affinity is tried for every job.
    pub pin_sessions: bool,
    /// Time-out of one attempt.
    pub job_timeout: Micros,
    /// Time-out of a node's acknowledgement, where its generation has ever sent one.
    pub ack_timeout: Micros,
    /// From finalize to the final message.
    pub deadline: Micros,
    /// How long attempts of a lost socket wait for the same node to return.
    pub rejoin: Micros,
    /// Store silence after which requests fail.
    pub store_timeout: Micros,
    /// Pin a session to one shard for this long; zero is off.
    pub preferred_pool: Micros,
    /// Stop looking for shards at the first hole.
    pub stop_at_hole: bool,
    /// Whether the owner of a node's socket holds jobs back that the node has no room for.
    pub gate: bool,
    /// The store is a Cluster: a dispatch runs step by step, each step at its own home.
    pub cluster: bool,
    /// Window in which only the first MODEL_NOT_AVAILABLE of a model causes expensive work.
    pub model_window: Micros,
}

impl Default for InstanceConfig {
    fn default() -> Self {
        Self {
            id: InstanceId(0),
            policy: Policy::SampleScan,
            sample: 5,
            when_full: WhenFull::Refuse,
            finalize: FinalizeConfig::default(),
            affinity_rule: AffinityRule::AsDocumented,
            affinity_life: Micros::secs(60),
            pin_sessions: false,
            job_timeout: Micros::secs(25),
            ack_timeout: Micros::secs(5),
            deadline: Micros::secs(60),
            rejoin: Micros::secs(5),
            store_timeout: Micros::secs(2),
            preferred_pool: Micros::ZERO,
            stop_at_hole: false,
            gate: true,
            cluster: false,
            model_window: Micros::secs(5),
        }
    }
}

/// What happens when no fitting node is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The request is refused at once.
    Refuse,
    /// It waits for a slot.
    Wait {
        /// For how long at most.
        max_wait: Micros,
        /// How many at most.
        max_waiting: usize,
    },
}

/// Where shared state is.
pub enum Store<'a> {
    /// In this process: steps are answered at once.
    Embedded(&'a mut dyn SharedState),
    /// Elsewhere: steps go out as [`Output::Store`], replies come in as [`Input::Store`].
    Remote,
}

/// The surroundings of one [`Instance::handle`].
pub struct Cx<'a> {
    /// The time.
    pub now: Micros,
    /// Random words.
    pub draws: &'a mut dyn Draws,
    /// Shared state.
    pub store: Store<'a>,
    /// What is to be sent, appended.
    pub out: &'a mut Vec<Output>,
}

impl Cx<'_> {
    fn send(&mut self, output: Output) {
        self.out.push(output);
    }
}

/// One scheduler process.
#[derive(Debug)]
pub struct Instance {
    config: InstanceConfig,
    sessions: Slab<Session>,
    ears: Ears,
    session_keys: LookupMap<SessionId, Key>,
    jobs: Slab<Job>,
    fleet: Fleet,
    waiting: Waiting,
    timers: Timers,
    links: Links,
    // Dispatches per pair so far (round robin).
    turns: LookupMap<Pair, u32>,
    next_lease: u64,
    // How much later than it came anything is heard.
    late: Micros,
    // The configured rules, with allowance for audio that is heard late.
    finalize: FinalizeConfig,
    draining: bool,
    counters: Counters,
}

impl Instance {
    /// A fresh process. Its id must never have been used before: a restarted process takes a new
    /// one, so that its leases and jobs differ from those of its former life.
    pub fn new(config: InstanceConfig) -> Self {
        assert!((1..=crate::CANDIDATES_MAX).contains(&config.sample), "1 to 16 samples");
        Self {
            finalize: config.finalize,
            config,
            sessions: Slab::default(),
            ears: Ears::default(),
            session_keys: LookupMap::default(),
            jobs: Slab::default(),
            fleet: Fleet::default(),
            waiting: Waiting::default(),
            timers: Timers::default(),
            links: Links::default(),
            turns: LookupMap::default(),
            next_lease: 0,
            late: Micros::ZERO,
            draining: false,
            counters: Counters::default(),
        }
    }

    /// Takes one event.
    pub fn handle(&mut self, cx: &mut Cx<'_>, input: Input) {
        match input {
            Input::SessionOpened(session, setup) => self.open_session(session, setup),
            Input::Chunk(session, chunk) => self.take_chunk(cx, session, chunk),
            Input::Playing(session, begins) => self.play(cx, session, begins),
            Input::Late(late) => {
                self.late = late;
                self.finalize = self.config.finalize.allowing(late);
            }
            Input::SessionSetup(session, setup) => self.change_setup(session, setup),
            Input::SessionClosed(session) => self.close_session(cx, session),
            Input::Utterance(session, whole) => self.take_utterance(cx, session, whole),
            Input::Request(request) => self.take_request(cx, request),
            Input::NodeOpened(register) => self.open_node(cx, register),
            Input::Heartbeat(node, report) => self.take_heartbeat(cx, node, report),
            Input::Drain(node, draining) => self.drain_node(cx, node, draining),
            Input::Acked(node, job, attempt) => self.take_ack(node, job, attempt),
            Input::Answer(node, answer) => self.take_answer(cx, node, answer),
            Input::NodeClosed(node) => self.lose_socket(cx, node),
            Input::Store(token, reply) => self.take_reply(cx, token, reply),
            Input::Routed(message) => self.take_routed(cx, *message),
            Input::Snapshot(snapshot) => self.links.snapshot = *snapshot,
            Input::Tick => self.tick(cx),
        }
    }

    /// When the next tick is due; [`Micros::NEVER`] when nothing waits for time to pass.
    ///
    /// It may be earlier than needed: a tick without work is harmless.
    pub fn next_deadline(&mut self) -> Micros {
        self.next_timer()
    }

    /// Stops admitting: what has begun is finished, what begins anew is refused.
    pub fn drain(&mut self) {
        if !self.draining {
            self.draining = true;
            for (key, session) in self.sessions.iter_mut() {
                session.drain(self.ears.begun(key));
            }
        }
    }

    /// Utterances that have begun and final messages that are owed. It walks over all sessions.
    pub fn owed(&self) -> usize {
        let spoken = self.sessions.values().map(Session::spoken).sum::<usize>();
        self.jobs.len() + self.ears.open() + spoken
    }

    /// Counts of rare paths, for reports and logs.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What a policy ranks by where the store is elsewhere.
    pub fn snapshot(&self) -> &crate::Snapshot {
        &self.links.snapshot
    }

    /// Jobs that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What the policy ranks by.
    fn view<'a>(&'a self, store: &'a Store<'_>) -> View<'a> {
        match store {
            Store::Embedded(state) => View { directory: state.directory(), loads: state.loads() },
            Store::Remote => {
                let snapshot = &self.links.snapshot;
                View { directory: &snapshot.directory, loads: &snapshot.loads }
            }
        }
    }

    fn quirks(&self, pinned: Option<u16>) -> ShardQuirks {
        ShardQuirks { pinned, stop_at_hole: self.config.stop_at_hole }
    }
}
