//! The task that owns the scheduling instance: events in, messages out, one after the other.
//!
//! It parses nothing and encodes only short messages; the sockets' own tasks do the rest, on all
//! cores.

mod abroad;
mod answers;
mod counts;
mod finals;
mod groups;
mod home;
mod log;
mod nodes;
mod parcels;
mod rooms;
mod sample;
mod sessions;
mod watched;

use std::time::Duration;

use lingua_core::finalize::FinalizeConfig;
use lingua_core::instance::{Cx, Input, Instance, Output, Store};
use lingua_core::{Draws, Micros, RequestId, Words, draws};
use lingua_protocol::TurnId;
use lingua_store::Replied;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::Config;
use crate::clock::Clock;
use crate::event::Event;
use crate::lag::Lag;
use crate::rooms::Rooms;
use crate::wire;
use answers::Answers;
use log::Log;
use nodes::Nodes;
use sessions::Sessions;
use watched::Watched;

pub(crate) use abroad::Abroad;
pub(crate) use counts::Counts;
pub(crate) use home::{Home, Remote, StoreFigures};
pub(crate) use sample::{NodeSample, Sample};

/// Events taken between two looks at the clock.
const BATCH: usize = 256;

pub(crate) struct Hub {
    clock: Clock,
    lag: Lag,
    // The lag that the instance allows for.
    late: Micros,
    finalize: FinalizeConfig,
    // How long jobs of a lost socket wait for their node.
    rejoin: Micros,
    instance: Instance,
    home: Home,
    // Where there may be other instances.
    abroad: Option<Abroad>,
    words: Chance,
    out: Vec<Output>,
    nodes: Nodes,
    sessions: Sessions,
    rooms: Rooms,
    answers: Answers,
    counts: Counts,
    log: Log,
}

impl Hub {
    pub(crate) fn new(
        config: &Config,
        home: Home,
        abroad: Option<Abroad>,
        clock: Clock,
        lag: Lag,
        seed: [u8; 32],
    ) -> Self {
        let alone = abroad.is_none();
        Self {
            clock,
            lag,
            late: Micros::ZERO,
            finalize: config.instance.finalize,
            rejoin: config.instance.rejoin,
            instance: Instance::new(config.instance.clone()),
            home,
            abroad,
            words: Chance(ChaCha8Rng::from_seed(seed)),
            out: Vec::new(),
            nodes: Nodes::default(),
            sessions: Sessions::default(),
            rooms: Rooms::new(config.instance.id, config.rooms, alone),
            answers: Answers::default(),
            counts: Counts::default(),
            log: Log::new(config.instance.id),
        }
    }

    /// Runs until all sockets and the server are gone. `speech` is what sessions send, `inbox` what
    /// all others do; `replies` are the store's, which is elsewhere.
    pub(crate) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<Event>,
        mut speech: mpsc::Receiver<Event>,
        mut replies: Option<mpsc::Receiver<Replied>>,
    ) {
        let mut replied = Vec::new();
        let mut events = Vec::with_capacity(BATCH);
        let mut spoken = Vec::with_capacity(BATCH);
        let alarm = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(alarm);
        loop {
            let due = self.instance.next_deadline().min(self.rooms.next_deadline());
            let due = due.min(self.next_admission()).min(self.next_look_abroad());
            let due = self.clock.instant(due).map(Instant::from_std);
            // An alarm that rings early does no harm, and to move it costs more than most events.
            if let Some(due) = due
                && (alarm.is_elapsed() || due < alarm.deadline())
            {
                alarm.as_mut().reset(due);
            }
            tokio::select! {
                count = inbox.recv_many(&mut events, BATCH) => {
                    if count == 0 {
                        return;
                    }
                }
                count = speech.recv_many(&mut spoken, BATCH) => {
                    if count == 0 {
                        return;
                    }
                    self.allow_for_lag();
                    // What nodes said before is known before: a slot that they freed is free.
                    while events.len() < BATCH && let Ok(event) = inbox.try_recv() {
                        events.push(event);
                    }
                }
                () = some(&mut replies, &mut replied) => {
                    for reply in replied.drain(..) {
                        self.take_reply(reply);
                    }
                }
                () = &mut alarm, if !alarm.is_elapsed() => {}
            }
            for event in events.drain(..).chain(spoken.drain(..)) {
                self.take(event);
            }
            if self.instance.next_deadline() <= self.clock.now() {
                self.allow_for_lag();
                self.handle(Input::Tick);
            }
            self.admit_nodes();
            self.look_abroad();
            self.look_at_rooms();
        }
    }

    /// Silence is the speaker's only where this process listens.
    fn allow_for_lag(&mut self) {
        let late = self.lag.at(self.clock.now());
        if late != self.late {
            self.late = late;
            self.handle(Input::Late(late));
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::SessionOpened(open) => self.open_session(*open),
            Event::Chunk(piece) => self.take_audio(piece),
            Event::Utterance(utterance) => self.take_utterance(*utterance),
            Event::PlayStarted(session) => self.handle(Input::Playing(session, true)),
            Event::PlayEnded(session, group) => self.play_ended(session, &group),
            Event::Room(session, request) => self.take_room_request(session, request),
            Event::Signal(signal) => self.relay_signal(*signal),
            Event::SessionClosed(session) => self.close_session(session),
            Event::NodeOpened(open) => self.open_node(*open),
            Event::Heartbeat(socket, beat) => self.take_heartbeat(socket, *beat),
            Event::Acked(socket, job, attempt) => {
                if let Some(node) = self.nodes.of_socket(socket) {
                    self.handle(Input::Acked(node, job, attempt));
                }
            }
            Event::DrainNode(name, draining, reply) => {
                let _ = reply.send(self.drain_node(&name, draining));
            }
            Event::Answer(answer) => self.take_answer(*answer),
            Event::Partial(partial) => self.relay_partial(*partial),
            Event::NodeClosed(socket) => self.close_node(socket),
            // Whoever asked may be gone.
            Event::Drain(reply) => {
                self.instance.drain();
                let guests = self.abroad.as_ref().map_or(0, Abroad::guests);
                self.hand_nodes_over();
                let _ = reply.send(self.instance.owed() + guests);
            }
            Event::Shared(shared) => self.take_shared(shared),
            Event::Sample(reply) => drop(reply.send(self.sample())),
        }
    }

    /// Lets the instance take one input, and sends what comes out.
    fn handle(&mut self, input: Input) {
        let mut out = std::mem::take(&mut self.out);
        let (nodes, log) = (&self.nodes, &mut self.log);
        let mut watched;
        let store = match &mut self.home {
            Home::Here(state) => {
                watched = Watched { state, nodes, log };
                Store::Embedded(&mut watched)
            }
            Home::Redis(_) => Store::Remote,
        };
        let now = self.clock.now();
        let mut cx = Cx { now, draws: &mut self.words, store, out: &mut out };
        self.instance.handle(&mut cx, input);
        for output in out.drain(..) {
            self.send(output);
        }
        self.out = out;
    }

    fn send(&mut self, output: Output) {
        match output {
            Output::Opened(opened) => self.utterance_opened(&opened),
            Output::Assign(assign) => self.assign(assign),
            Output::Cancel(node, job) => self.cancel(node, job),
            Output::Final(last) => self.finish(&last),
            Output::Registered(name, result) => self.node_registered(&name, result),
            Output::CloseNode(node) => self.expel_node(node),
            Output::Work(_) => self.counts.reservations += 1,
            Output::RefreshModel(_) => self.counts.model_refreshes += 1,
            Output::Store(token, op) => self.ask_store(token, op),
            Output::Route(to, routed) => self.route(to, routed),
        }
    }
}

/// The next replies of a store, where there is one.
async fn some(from: &mut Option<mpsc::Receiver<Replied>>, to: &mut Vec<Replied>) {
    if let Some(from) = from
        && from.recv_many(to, BATCH).await > 0
    {
        return;
    }
    // None come any more.
    std::future::pending::<()>().await;
}

/// Random words for the policy, random names for peers.
struct Chance(ChaCha8Rng);

impl Chance {
    fn uuid(&mut self) -> String {
        let mut bytes = [0; 16];
        self.0.fill_bytes(&mut bytes);
        wire::uuid(bytes)
    }

    fn turn(&mut self) -> TurnId {
        TurnId::new(&self.uuid()).expect("a UUID is allowed")
    }

    /// A number below `n`.
    fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(n)) >> 32) as u32
    }
}

impl Draws for Chance {
    fn words(&mut self, _request: RequestId, _attempt: u32) -> Words {
        let mut words = [0; draws::WORDS];
        words.fill_with(|| self.0.next_u32());
        Words(words)
    }
}
