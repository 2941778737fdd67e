//! What goes wrong, when, and to whom.

use std::ops::Range;

use lingua_core::draws::pick;
use lingua_core::{Micros, ModelId, Op, State};
use lingua_scenarios::{Fault, FaultKind, Scenario, Way};

use crate::setup::{self, Names};
use crate::streams::{Purpose, Stream, Streams};
use crate::world::store::{CLUSTER, server_of};
use crate::world::{Event, World};

struct Planned {
    fault: Fault,
    // Whom it may hit, and whom it does.
    among: Range<u32>,
    victims: Vec<u32>,
    model: Option<ModelId>,
    // The server of a Cluster that stalls or fails over.
    store_server: usize,
    active: bool,
    stream: Stream,
}

pub(super) struct Faults {
    planned: Vec<Planned>,
}

impl Faults {
    pub(super) fn new(scenario: &Scenario, names: &Names, streams: &Streams) -> Self {
        let planned = scenario.faults.iter().enumerate().map(|(at, fault)| Planned {
            fault: fault.clone(),
            among: fault.among(scenario),
            victims: Vec::new(),
            model: fault.model.as_deref().map(|model| names.model(model)),
            store_server: 0,
            active: false,
            stream: streams.stream(Purpose::Faults, 16 + at as u64),
        });
        Self { planned: planned.collect() }
    }

    fn active(&self, kind: FaultKind) -> impl Iterator<Item = &Planned> {
        self.planned.iter().filter(move |p| p.active && p.fault.kind == kind)
    }

    fn probability(&self, kind: FaultKind) -> f64 {
        self.active(kind).filter_map(|p| p.fault.probability).fold(0.0, f64::max)
    }

    pub(super) fn reply_loss(&self) -> f64 {
        self.probability(FaultKind::ReplyLoss)
    }

    pub(super) fn heartbeat_loss(&self) -> f64 {
        self.probability(FaultKind::HeartbeatLoss)
    }

    pub(super) fn delay_factor(&self) -> f64 {
        self.active(FaultKind::Delay).filter_map(|p| p.fault.factor).fold(1.0, f64::max)
    }

    pub(super) fn answers_twice(&self, stream: &mut Stream) -> bool {
        let share = self.probability(FaultKind::DuplicateRelease);
        share > 0.0 && stream.uniform() < share
    }

    /// How much later than its turn a release reaches the store.
    pub(super) fn late_release(&self, op: &Op, stream: &mut Stream) -> Micros {
        let Some(planned) = self.active(FaultKind::LateRelease).next() else {
            return Micros::ZERO;
        };
        let fault = &planned.fault;
        let late =
            matches!(op, Op::Release(_)) && stream.uniform() < fault.probability.unwrap_or(1.0);
        fault.span.filter(|_| late).map_or(Micros::ZERO, setup::micros)
    }

    pub(super) fn event_is_lost(&self, stream: &mut Stream) -> bool {
        let share = self.probability(FaultKind::EventLoss);
        share > 0.0 && stream.uniform() < share
    }

    /// How much later than its turn an event of changed membership arrives.
    pub(super) fn event_delay(&self, stream: &mut Stream) -> Micros {
        let Some(planned) = self.active(FaultKind::EventReorder).next() else {
            return Micros::ZERO;
        };
        let late = stream.uniform() < planned.fault.probability.unwrap_or(1.0);
        planned.fault.span.filter(|_| late).map_or(Micros::ZERO, setup::micros)
    }

    /// Whether a node lacks a model that it lists.
    pub(super) fn model_is_missing(&self, node: u32, model: ModelId) -> bool {
        self.active(FaultKind::ModelStorm)
            .any(|p| p.model == Some(model) && p.victims.contains(&node))
    }
}

impl World {
    pub(super) fn schedule_faults(&mut self) {
        for at in 0..self.faults.planned.len() {
            let planned = &mut self.faults.planned[at];
            planned.victims = planned.fault.victims(planned.among.clone(), &mut planned.stream);
            let fault = &planned.fault;
            planned.store_server = pick(planned.stream.word(), CLUSTER as u32) as usize;
            let begins = setup::micros(fault.at);
            let begin = Event::Fault(at as u16, true);
            let ends = fault.lasts.map(|lasts| begins + setup::micros(lasts));
            if fault.kind == FaultKind::StoreFailover {
                let span = fault.span.map_or(Micros::ZERO, setup::micros);
                self.queue.push(begins - span, Event::Checkpoint(at as u16));
            }
            self.queue.push(begins, begin);
            if let Some(ends) = ends {
                self.queue.push(ends, Event::Fault(at as u16, false));
            }
        }
    }

    /// The replica that a failover will promote has seen everything up to now, and nothing after.
    pub(super) fn checkpoint(&mut self, _fault: u16) {
        self.store.checkpoint = Some(Box::new(self.watch.state().clone()));
    }

    pub(super) fn fault(&mut self, at: u16, begins: bool) {
        let planned = &mut self.faults.planned[usize::from(at)];
        planned.active = begins;
        let fault = planned.fault.clone();
        let victims = planned.victims.clone();
        let server = fault.instance.unwrap_or(0) as u16;
        let store_server = self.store.is_cluster().then_some(planned.store_server);
        let lasts = fault.lasts.map_or(Micros::secs(5), setup::micros);
        self.recorder.mark(name(fault.kind));
        self.trace.fault(self.now, name(fault.kind), begins);
        match (fault.kind, begins) {
            (FaultKind::NodeCrash, true) => {
                for node in victims {
                    self.trace.node_is(self.now, node, "crash");
                    self.node_dies(node, lasts);
                }
            }
            (FaultKind::NodeSilent, _) => self.hang(&victims, begins),
            (FaultKind::SlowNode, _) => {
                let factor = if begins { fault.factor.unwrap_or(10.0) } else { 1.0 };
                for node in victims {
                    self.nodes[node as usize].slow = factor;
                }
            }
            (FaultKind::Drain, _) => {
                for node in victims {
                    self.drain_node(node, begins);
                }
            }
            (FaultKind::MaxJobs, _) => {
                let max_jobs = fault.max_jobs.filter(|_| begins);
                for node in victims {
                    self.node_changes_max_jobs(node, max_jobs);
                }
            }
            (FaultKind::InstanceCrash, true) if self.servers[usize::from(server)].up => {
                self.crash_server(server);
                self.queue.push(self.now + lasts, Event::Restart(server));
            }
            (FaultKind::StoreStall, true) => {
                self.store_stalls(store_server, lasts);
            }
            // State in the instance's own process has no replica to fail over to.
            (FaultKind::StoreFailover, true) if self.is_remote() => {
                if let Some(replica) = self.store.checkpoint.take() {
                    self.lose_writes(*replica, store_server);
                    self.trace.store_fails_over(store_server.unwrap_or(0), self.now);
                    self.store_stalls(store_server, lasts);
                }
            }
            (FaultKind::Partition, _) => {
                let cut = &mut self.servers[usize::from(server)].cut;
                cut.to_store = begins && fault.way != Some(Way::FromStore);
                cut.from_store = begins && fault.way != Some(Way::ToStore);
            }
            (FaultKind::ReconnectHerd, true) => {
                for node in victims {
                    self.node_closes_socket(node);
                    self.queue.push(self.now, Event::NodeWake(node));
                }
            }
            (FaultKind::ClockStep, _) => {
                let span = fault.span.map_or(Micros::ZERO, setup::micros);
                self.store.clock_ahead = if begins { span } else { Micros::ZERO };
            }
            _ => {}
        }
    }

    /// What a server's replica has not seen is lost; on a Cluster, only in its slots.
    fn lose_writes(&mut self, replica: State, server: Option<usize>) {
        match server {
            None => self.watch.fail_over(replica),
            Some(server) => {
                self.note_failover(server);
                self.watch.fail_over_slots(replica, |home| server_of(home, CLUSTER) == server);
            }
        }
    }

    fn store_stalls(&mut self, server: Option<usize>, lasts: Micros) {
        let until = self.store.stall(server, self.now + lasts);
        self.trace.store_stalls(server.unwrap_or(0), self.now, until);
    }

    fn hang(&mut self, victims: &[u32], begins: bool) {
        for &node in victims {
            if begins {
                self.node_hangs(node);
            } else if self.nodes[node as usize].silent {
                self.node_unhangs(node);
            }
        }
    }
}

fn name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::NodeCrash => "fault_node_crash",
        FaultKind::NodeSilent => "fault_node_silent",
        FaultKind::SlowNode => "fault_slow_node",
        FaultKind::Drain => "fault_drain",
        FaultKind::InstanceCrash => "fault_instance_crash",
        FaultKind::InstanceFreeze => "fault_instance_freeze",
        FaultKind::InstanceJoin => "fault_instance_join",
        FaultKind::InstanceDrain => "fault_instance_drain",
        FaultKind::StoreStall => "fault_store_stall",
        FaultKind::StoreFailover => "fault_store_failover",
        FaultKind::Partition => "fault_partition",
        FaultKind::ReplyLoss => "fault_reply_loss",
        FaultKind::HeartbeatLoss => "fault_heartbeat_loss",
        FaultKind::ReconnectHerd => "fault_reconnect_herd",
        FaultKind::ModelStorm => "fault_model_storm",
        FaultKind::DuplicateRelease => "fault_duplicate_release",
        FaultKind::LateRelease => "fault_late_release",
        FaultKind::ClockStep => "fault_clock_step",
        FaultKind::Delay => "fault_delay",
        FaultKind::MaxJobs => "fault_max_jobs",
        FaultKind::EventLoss => "fault_event_loss",
        FaultKind::EventReorder => "fault_event_reorder",
    }
}
