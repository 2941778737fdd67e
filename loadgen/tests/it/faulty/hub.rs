//! The one task that knows everything: events and timers in, messages out.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::nodes::{Job, Node};
use super::rooms::Room;
use super::sessions::{Session, Utterance};
use super::sockets::{Event, Kind, Order, SocketId};
use super::{Fault, Pace, frames};

/// Jobs until [`Fault::Freezes`] strikes.
const FREEZE_AT: u64 = 100;

/// What is to happen later.
#[derive(Debug)]
pub(super) enum Timer {
    /// The session has been silent since it had spoken so many chunks.
    Pause(String, u64),
    /// The hangover is over.
    Ready(Box<Utterance>),
    /// This attempt of a job has had its time.
    Unanswered(String, u64),
}

pub(super) struct Hub {
    pub(super) faults: Vec<Fault>,
    pub(super) pace: Pace,
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) jobs: BTreeMap<String, Job>,
    pub(super) rooms: BTreeMap<String, Room>,
    pub(super) dispatched: u64,
    /// For [`Fault::OldSocketEndsNew`]: sockets that were replaced.
    pub(super) former: Vec<(SocketId, String)>,
    /// For [`Fault::CollapsesUnderLoad`].
    pub(super) choked_until: Option<Instant>,
    sockets: BTreeMap<SocketId, (Kind, mpsc::Sender<Order>)>,
    timers: BTreeMap<(Instant, u64), Timer>,
    count: u64,
    frozen: bool,
}

impl Hub {
    pub(super) fn new(faults: Vec<Fault>, pace: Pace) -> Self {
        Self {
            faults,
            pace,
            nodes: BTreeMap::new(),
            sessions: BTreeMap::new(),
            jobs: BTreeMap::new(),
            rooms: BTreeMap::new(),
            dispatched: 0,
            former: Vec::new(),
            choked_until: None,
            sockets: BTreeMap::new(),
            timers: BTreeMap::new(),
            count: 0,
            frozen: false,
        }
    }

    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Event>) {
        loop {
            let next = self.timers.first_key_value().map(|(&(due, _), _)| due);
            let due = async {
                match next {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                event = inbox.recv() => match event {
                    Some(event) => self.take(event),
                    None => return,
                },
                () = due => {
                    if let Some((_, timer)) = self.timers.pop_first() {
                        self.fire(timer);
                    }
                }
            }
            if self.has(Fault::Freezes) && !self.frozen && self.dispatched >= FREEZE_AT {
                self.frozen = true;
                sleep(Duration::from_secs(5)).await;
            }
        }
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// A number that was not given before.
    pub(super) fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// A number below `bound` that looks random (splitmix64 over the count).
    pub(super) fn chance(&mut self, bound: usize) -> usize {
        let mut word = self.number().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    pub(super) fn later(&mut self, wait: Duration, timer: Timer) {
        let number = self.number();
        self.timers.insert((Instant::now() + wait, number), timer);
    }

    pub(super) fn send(&self, socket: SocketId, message: &Value) {
        self.order(socket, Order::Send(message.to_string()));
    }

    pub(super) fn order(&self, socket: SocketId, order: Order) {
        if let Some((_, outbox)) = self.sockets.get(&socket) {
            // A peer that does not read loses messages; nobody here tests that.
            let _ = outbox.try_send(order);
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Pause(session, spoken) => self.pause(&session, spoken),
            Timer::Ready(utterance) => self.dispatch(*utterance),
            Timer::Unanswered(job, attempt) => self.unanswered(&job, attempt),
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Opened(socket, kind, outbox) => {
                self.sockets.insert(socket, (kind, outbox));
            }
            Event::Text(socket, text) => self.hear(socket, &text),
            Event::Gone(socket) => {
                self.sockets.remove(&socket);
                self.close_sessions_of(socket);
                self.close_node_of(socket);
            }
            // Whoever asked may be gone.
            Event::Page(path, reply) => drop(reply.send(self.page(&path))),
        }
    }

    fn hear(&mut self, socket: SocketId, text: &str) {
        let Some(&(kind, _)) = self.sockets.get(&socket) else { return };
        let message = match frames::parse(text) {
            Ok(message) => message,
            Err(error) => {
                if !self.has(Fault::IgnoresMalformed) {
                    self.send(socket, &frames::error("INVALID_MESSAGE", &error));
                }
                if self.has(Fault::DiesOfMalformed) {
                    self.order(socket, Order::Close);
                }
                return;
            }
        };
        let result = match kind {
            Kind::Node => self.node_says(socket, &message),
            Kind::Session => self.session_says(socket, &message),
        };
        if let Err((code, why)) = result {
            self.send(socket, &frames::error(code, why));
        }
    }

    fn page(&self, path: &str) -> Option<String> {
        let nodes = if self.has(Fault::HidesNodes) { 0 } else { self.nodes.len() };
        let users = self.sessions.values().filter(|session| !session.closed).count();
        match path {
            "/health" => Some("OK".to_owned()),
            "/api/v1/stats" => Some(
                json!({"web_clients": {"active_users": users}, "nodes": {"connected_nodes": nodes}})
                    .to_string(),
            ),
            "/metrics" => Some(format!(
                "# TYPE scheduler_nodes gauge\nscheduler_nodes {nodes}\n\
                 # TYPE scheduler_dispatched_total counter\n\
                 scheduler_dispatched_total {}\n",
                self.dispatched
            )),
            _ => None,
        }
    }
}

/// Messages that wait for their turn, by utterance.
#[derive(Debug, Default)]
pub(super) struct Turns {
    next: u64,
    waiting: BTreeMap<u64, Vec<Value>>,
}

impl Turns {
    /// Puts the end of an utterance in; gives what may leave now.
    pub(super) fn put(&mut self, index: u64, messages: Vec<Value>) -> VecDeque<Value> {
        self.waiting.insert(index, messages);
        let mut out = VecDeque::new();
        while let Some(messages) = self.waiting.remove(&self.next) {
            out.extend(messages);
            self.next += 1;
        }
        out
    }
}
