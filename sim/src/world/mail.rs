//! Messages on their way. Each socket keeps the order of its messages, as TCP does.

use lingua_core::finalize::Chunk;
use lingua_core::instance::{Assign, Final, Input, Seat, Token};
use lingua_core::{InstanceId, Micros, NodeRef, Op, Reply, SessionId};
use lingua_scenarios::{Costs, Dist, Sampler};

use crate::world::{Event, World};

/// A message with its address. Addresses are sockets: a letter to a process that died since is
/// lost.
#[derive(Debug)]
pub(super) enum Mail {
    /// To an instance, but for audio.
    Input(InstanceId, Input),
    /// To a node.
    Assign(Assign),
    /// To a node: its socket is closed.
    Close(NodeRef),
    /// To a node: it is registered, or is not.
    Registered(u32, u32, Option<NodeRef>),
    /// To a node: its new maximum of concurrent jobs has been heard.
    MaxJobsHeard(NodeRef, u32),
    /// To a client, on a socket of an instance.
    Final(InstanceId, Final),
    /// To the store; the step is carried out on arrival.
    Step(InstanceId, Token, Box<Op>),
    /// To an instance, from the store.
    Reply(InstanceId, Token, Box<Reply>),
}

/// Audio on its way to an instance: most of all messages, so it travels apart and light,
/// in a cache line of its own.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Audio {
    /// The instance, and where it runs.
    pub(super) to: InstanceId,
    pub(super) server: u16,
    pub(super) session: SessionId,
    /// Where the instance keeps the session, if the client's socket knows.
    pub(super) seat: Option<Seat>,
    pub(super) chunk: Chunk,
}

impl World {
    pub(super) fn post_audio(&mut self, at: Micros, audio: Audio) {
        let letter = self.audio.insert(audio);
        self.queue.push(at, Event::Chunk(letter, audio.seat));
    }

    pub(super) fn open_audio(&mut self, letter: u32) {
        let audio = self.audio.take(letter);
        self.audio_arrives(audio);
    }

    pub(super) fn post(&mut self, at: Micros, mail: Mail) {
        let letter = self.mail.insert(mail);
        self.queue.push(at, Event::Mail(letter));
    }

    pub(super) fn open_mail(&mut self, letter: u32) {
        let Some(mail) = self.mail.remove(letter) else { return };
        match mail {
            Mail::Input(to, input) => {
                if let Some(&server) = self.server_of.get(&to) {
                    self.reach_server(server, input);
                }
            }
            Mail::Assign(assign) => self.node_takes(assign),
            Mail::Close(node) => self.node_is_closed(node),
            Mail::Registered(node, life, result) => self.node_is_registered(node, life, result),
            Mail::MaxJobsHeard(node, max_jobs) => self.max_jobs_is_told(node, max_jobs),
            Mail::Final(from, last) => {
                if self.server_of.contains(&from) {
                    self.client_hears(&last);
                }
            }
            Mail::Step(from, token, op) => self.store_executes(from, token, &op),
            Mail::Reply(to, token, reply) => {
                if let Some(&server) = self.server_of.get(&to) {
                    self.reach_server(server, Input::Store(token, *reply));
                }
            }
        }
    }

    /// One draw of a latency; constant latencies draw nothing.
    pub(super) fn latency(&mut self, of: Leg) -> Micros {
        let dist = &self.legs[of as usize];
        let span = match dist.constant() {
            Some(span) => span,
            None => dist.sample(self.network.uniform32()),
        };
        match of {
            Leg::Node => Micros((span.micros() as f64 * self.faults.delay_factor()) as u64),
            Leg::Session | Leg::Store | Leg::Timer => Micros(span.micros()),
        }
    }
}

/// Latencies by [`Leg`].
pub(super) fn legs(costs: &Costs) -> [Sampler; 4] {
    let Costs { node_latency, session_latency, store_latency, timer_lateness, .. } = costs;
    [node_latency, session_latency, store_latency, timer_lateness].map(Dist::sampler)
}

/// Part of the network.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leg {
    /// Between an instance and a node.
    Node,
    /// Between a client and an instance.
    Session,
    /// Between an instance and the store.
    Store,
    /// No way at all: how late a timer fires.
    Timer,
}
