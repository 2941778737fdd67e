//! Where the shared state is: in this process, or on Redis.

use std::collections::HashMap;

use lingua_core::instance::{Input, Instance, Token};
use lingua_core::{
    Directory, Micros, NodeRef, NodeState, NodeStatus, Op, PoolRule, State, StateConfig,
};
use lingua_store::{Replied, StoreCounts, StoreHandle};
use tokio::sync::mpsc;

use crate::hub::Hub;
use crate::hub::counts::Tally;
use crate::instances::Standing;
use crate::snapshot::Histogram;

/// The state, or the way to it.
pub(crate) enum Home {
    Here(Box<State>),
    Redis(Box<Remote>),
}

/// The way to the state on Redis.
pub(crate) struct Remote {
    handle: StoreHandle,
    standing: Standing,
    // Takes a note of each change of the directory.
    announce: mpsc::Sender<()>,
    rule: PoolRule,
    usage_max: Option<u16>,
    // Steps without a reply yet. As many as the handle takes at most.
    under_way: HashMap<Token, UnderWay>,
    // Since when the store owes its next reply; absent: it owes none.
    owed_since: Option<Micros>,
    // When a silent store was asked last.
    asked: Micros,
    figures: StoreFigures,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    since: Micros,
    // Whether others are to be told when it is done.
    changes: bool,
}

/// What the hub counts of the store.
#[derive(Debug, Clone)]
pub(crate) struct StoreFigures {
    /// Steps sent, repeated ones included.
    pub(crate) steps: Tally,
    /// Steps that failed, by cause.
    pub(crate) failed: Tally,
    /// From sending a step until its reply.
    pub(crate) round_trip: Histogram,
    /// Whether the store is served now.
    pub(crate) up: bool,
    /// Commands sent in all, whatever for.
    pub(crate) commands: u64,
    /// Scripts that a server was given again.
    pub(crate) reloads: u64,
    /// Keys that could not be read and were put aside.
    pub(crate) quarantined: u64,
}

/// Steps that were not sent: the instance is not present, too many wait, or the store is silent.
const NOT_SENT: [&str; 3] = ["not_present", "backlog", "silent"];

/// A store that has said nothing for so long is asked one step at a time, as often. What a store
/// that stands still is sent, it does when it wakes: slots would be taken for requests that nobody
/// waits for any more.
const SILENCE: Micros = Micros::millis(500);

impl Remote {
    pub(crate) fn new(
        handle: StoreHandle,
        standing: Standing,
        announce: mpsc::Sender<()>,
        rules: &StateConfig,
    ) -> Self {
        let figures = StoreFigures {
            steps: Tally::new([]),
            failed: Tally::new(NOT_SENT),
            round_trip: Histogram::default(),
            up: true,
            commands: 0,
            reloads: 0,
            quarantined: 0,
        };
        let (rule, usage_max) = (rules.pool_rule, rules.usage_max);
        Self {
            handle,
            standing,
            announce,
            rule,
            usage_max,
            under_way: HashMap::new(),
            owed_since: None,
            asked: Micros::ZERO,
            figures,
        }
    }

    /// Sends a step; one that is not sent is asked for again by the instance.
    fn send(&mut self, now: Micros, token: Token, op: Box<Op>, changes: bool) {
        if !self.standing.holds(now) {
            self.figures.failed.add(NOT_SENT[0]);
            return;
        }
        if self.owed_since.is_some_and(|since| now - since > SILENCE) {
            if now - self.asked < SILENCE {
                self.figures.failed.add(NOT_SENT[2]);
                return;
            }
            self.asked = now;
        }
        let name = op.name();
        match self.handle.send(token, now, op) {
            Ok(()) => {
                self.figures.steps.add(name);
                self.owed_since.get_or_insert(now);
                self.under_way.insert(token, UnderWay { since: now, changes });
            }
            Err(_) => self.figures.failed.add(NOT_SENT[1]),
        }
    }

    pub(super) fn figures(&self, now: Micros) -> StoreFigures {
        let up = self.standing.holds(now);
        StoreFigures { up, ..self.figures.clone() }
    }
}

impl StoreFigures {
    /// With what the connection counts.
    pub(crate) fn with(self, counts: &StoreCounts) -> Self {
        let (commands, reloads) = (counts.commands(), counts.reloads());
        Self { commands, reloads, quarantined: counts.quarantined(), ..self }
    }
}

impl Home {
    pub(super) fn pool_rule(&self) -> PoolRule {
        match self {
            Self::Here(state) => state.config().pool_rule,
            Self::Redis(remote) => remote.rule,
        }
    }

    pub(super) fn directory<'a>(&'a self, instance: &'a Instance) -> &'a Directory {
        match self {
            Self::Here(state) => state.directory(),
            Self::Redis(_) => &instance.snapshot().directory,
        }
    }

    /// Jobs at a node of this instance, as far as is known.
    pub(super) fn running(&self, instance: &Instance, node: NodeRef) -> u32 {
        match self {
            Self::Here(state) => state.loads().get(node.num.index()).copied().unwrap_or(0),
            Self::Redis(_) => instance.gate(node).map_or(0, |gate| gate.taken),
        }
    }

    /// How a node of this instance stands; what only the hub knows of it comes along.
    pub(super) fn status(
        &self,
        instance: &Instance,
        node: NodeRef,
        drained: bool,
        usage: [Option<u16>; 3],
    ) -> Option<NodeStatus> {
        let remote = match self {
            Self::Here(state) => return state.node_status(node),
            Self::Redis(remote) => remote,
        };
        let gate = instance.gate(node)?;
        let over = |used: &Option<u16>| used.zip(remote.usage_max).is_some_and(|(u, max)| u >= max);
        let snapshot = instance.snapshot();
        let known = snapshot.live.get(node.num.index()) == Some(&Some(node.generation));
        let state = match gate {
            _ if drained => NodeState::Draining,
            _ if usage.iter().any(over) => NodeState::Overused,
            gate if !gate.heard => NodeState::Unheard,
            // Whoever drains it may have told only the store.
            _ if known && !snapshot.directory.is_available(node.num) => NodeState::Draining,
            gate if gate.taken >= gate.max_jobs => NodeState::Full,
            _ => NodeState::Ready,
        };
        Some(NodeStatus { running: gate.taken, max_jobs: gate.max_jobs, state })
    }
}

impl Hub {
    /// The store had forgotten this instance, or has lost everything.
    pub(super) fn rejoin(&mut self, until: Micros, lost: bool) {
        if let Home::Redis(remote) = &mut self.home {
            remote.standing.lasts(until);
            remote.owed_since = None;
        }
        if lost {
            self.start_nodes_over();
        } else {
            self.register_all_again();
        }
        self.tell_rooms_to_all();
    }

    /// A step that the instance wants done.
    pub(super) fn ask_store(&mut self, token: Token, op: Box<Op>) {
        let now = self.clock.now();
        if let Op::RecordAffinity(record) = &*op {
            self.log.affinity_set(now, record.session, self.nodes.name(record.node));
        }
        let changes = match &*op {
            Op::Register(_) | Op::Remove(_) | Op::Drain(..) | Op::ModelLost(..) => true,
            Op::Heartbeat(node, _) => self.nodes.is_first_report(*node),
            _ => false,
        };
        let Home::Redis(remote) = &mut self.home else {
            unreachable!("the state in this process is asked by the instance itself")
        };
        remote.send(now, token, op, changes);
    }

    /// What became of a step. A failed one is asked for again, or given up, by the instance.
    pub(super) fn take_reply(&mut self, (token, reply): Replied) {
        let now = self.clock.now();
        let Home::Redis(remote) = &mut self.home else { return };
        let since = remote.under_way.remove(&token);
        if !matches!(&reply, Err(error) if error.is_silence()) {
            // It may owe more, but it speaks.
            remote.owed_since = None;
        }
        match reply {
            Ok(reply) => {
                if let Some(UnderWay { since, changes }) = since {
                    remote.figures.round_trip.record(now - since);
                    if changes {
                        // One that waits stands for this one too.
                        let _ = remote.announce.try_send(());
                    }
                }
                self.handle(Input::Store(token, reply));
            }
            Err(error) => {
                remote.figures.failed.add(error.name());
                self.log.step_failed(now, &error);
            }
        }
    }
}
