//! Swarm runs: every seed draws its own policy, store, number of instances and faults; of duties,
//! instances, tolerances and faults.
//!
//! Only configurations that promise capacity are drawn, so that every broken invariant is a
//! fault of ours.

mod duties;

use lingua_core::draws::pick;
use lingua_scenarios::{AffinityRule, Dist, PauseDetect, StoreKind, Swarm, Way, WhenFull};
use lingua_scenarios::{CapacityCheck, Dur, Fallback, Fault, FaultKind, Policy, Scenario};

use crate::streams::{Purpose, Stream, Streams};

/// Kinds of fault that strike at random; those of events are drawn apart.
const KINDS: [FaultKind; 16] = [
    FaultKind::NodeCrash,
    FaultKind::NodeSilent,
    FaultKind::SlowNode,
    FaultKind::Drain,
    FaultKind::InstanceCrash,
    FaultKind::StoreStall,
    FaultKind::StoreFailover,
    FaultKind::Partition,
    FaultKind::ReplyLoss,
    FaultKind::HeartbeatLoss,
    FaultKind::ReconnectHerd,
    FaultKind::ModelStorm,
    FaultKind::DuplicateRelease,
    FaultKind::LateRelease,
    FaultKind::ClockStep,
    FaultKind::Delay,
];

/// Policies that promise capacity.
const POLICIES: [Policy; 5] = [
    Policy::SampleReserve,
    Policy::SampleScan,
    Policy::PowerOfD,
    Policy::LeastConnections,
    Policy::RoundRobin,
];

/// Mean latency of a store in another region.
const FAR_STORE: Dur = Dur::from_millis(20);

/// The scenario that a seed draws from a swarm; without a `[swarm]` section, the scenario itself.
pub fn draw(scenario: &Scenario, seed: u64) -> Scenario {
    let mut drawn = Scenario { seed, ..scenario.clone() };
    let Some(swarm) = drawn.swarm.take() else { return drawn };
    let mut stream = Streams::new(seed).stream(Purpose::Faults, 0);
    if drawn.duties.is_some() {
        duties::draw(&mut drawn, &swarm, &mut stream);
        return drawn;
    }
    draw_scheduler(&mut drawn, &swarm, &mut stream);
    let count = below(&mut stream, swarm.faults_max + 1);
    for _ in 0..count {
        let fault = draw_fault(&drawn, &swarm, &mut stream);
        if !drawn.faults.iter().any(|other| overlap(other, &fault)) {
            drawn.faults.push(fault);
        }
    }
    drawn.faults.sort_by_key(|fault| fault.at);
    // Drawn last: what else a seed draws does not depend on it.
    if drawn.scheduler.store == StoreKind::Redis {
        drawn.scheduler.store = *choose(&mut stream, &[StoreKind::Redis, StoreKind::RedisCluster]);
    }
    if drawn.scheduler.store == StoreKind::RedisCluster && below(&mut stream, 3) == 0 {
        // A far store: a dispatch is between two of its steps for longer, so crashes find it there.
        drawn.costs.store_latency = Dist::exponential(FAR_STORE);
    }
    if swarm.kinds.is_empty() && drawn.scheduler.store != StoreKind::Embedded {
        disturb_events(&mut drawn, &mut stream);
    }
    drawn
}

fn draw_scheduler(drawn: &mut Scenario, swarm: &Swarm, stream: &mut Stream) {
    let policies: &[Policy] = if swarm.policies.is_empty() { &POLICIES } else { &swarm.policies };
    let scheduler = &mut drawn.scheduler;
    scheduler.policy = *choose(stream, policies);
    scheduler.fallback = *choose(stream, &[Fallback::Scan, Fallback::Refuse]);
    scheduler.sample = 1 + below(stream, 5);
    scheduler.capacity_check = CapacityCheck::Lease;
    scheduler.instances = 1 + below(stream, swarm.instances_max.max(1));
    let shared = scheduler.instances > 1 || below(stream, 2) == 1;
    scheduler.store = if shared { StoreKind::Redis } else { StoreKind::Embedded };
    scheduler.when_full = *choose(stream, &[WhenFull::Refuse, WhenFull::Refuse, WhenFull::Wait]);
    scheduler.pause_detect = *choose(stream, &[PauseDetect::Timer, PauseDetect::OnChunk]);
    scheduler.affinity_rule = *choose(stream, &[AffinityRule::AsDocumented, AffinityRule::NextJob]);
}

fn draw_fault(drawn: &Scenario, swarm: &Swarm, stream: &mut Stream) -> Fault {
    let kinds: &[FaultKind] = if swarm.kinds.is_empty() { &KINDS } else { &swarm.kinds };
    let kind = *choose(stream, kinds);
    // Faults lie in the first three fifths; the rest of the run heals.
    let ms = drawn.duration.micros() / 1_000;
    let at = ms / 20 + u64::from(below(stream, (ms * 2 / 5) as u32));
    let lasts = 500 + u64::from(below(stream, (ms / 5) as u32));
    let nodes: u32 = drawn.nodes.iter().map(|group| group.count).sum();
    let models = drawn.nodes.iter().flat_map(|group| &group.models).next().cloned();
    let span = Dur::from_micros(1_000 * (50 + u64::from(below(stream, 3_000))));
    Fault {
        kind,
        at: Dur::from_micros(at * 1_000),
        lasts: Some(Dur::from_micros(lasts * 1_000)),
        nodes: Some(1 + below(stream, nodes.div_ceil(2))),
        share: None,
        group: None,
        instance: Some(below(stream, drawn.scheduler.instances)),
        factor: Some(2.0 + f64::from(below(stream, 20))),
        probability: Some(0.05 + 0.45 * stream.uniform()),
        span: Some(span.min(Dur::from_micros(at * 1_000))),
        model: models,
        way: None,
        max_jobs: None,
    }
}

/// Cuts one way only, and disturbs what tells instances of changed membership.
fn disturb_events(drawn: &mut Scenario, stream: &mut Stream) {
    for fault in drawn.faults.iter_mut().filter(|fault| fault.kind == FaultKind::Partition) {
        fault.way = *choose(stream, &[None, Some(Way::ToStore), Some(Way::FromStore)]);
    }
    for kind in [FaultKind::EventLoss, FaultKind::EventReorder] {
        let at = drawn.duration.micros() / 20;
        let fault = Fault {
            kind,
            at: Dur::from_micros(at),
            lasts: Some(Dur::from_micros(at * 10)),
            probability: Some(0.1 + 0.8 * stream.uniform()),
            span: Some(Dur::from_millis(u64::from(1 + below(stream, 3_000)))),
            nodes: None,
            share: None,
            group: None,
            instance: None,
            factor: None,
            model: None,
            way: None,
            max_jobs: None,
        };
        if below(stream, 3) == 0 {
            drawn.faults.push(fault);
        }
    }
}

fn overlap(a: &Fault, b: &Fault) -> bool {
    let end = |fault: &Fault| fault.at.micros() + fault.lasts.map_or(0, Dur::micros);
    a.kind == b.kind && a.at.micros() <= end(b) && b.at.micros() <= end(a)
}

fn below(stream: &mut Stream, n: u32) -> u32 {
    if n == 0 { 0 } else { pick(stream.word(), n) }
}

fn choose<'a, T>(stream: &mut Stream, from: &'a [T]) -> &'a T {
    &from[below(stream, from.len() as u32) as usize]
}
