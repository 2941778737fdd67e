//! What a seed draws from a swarm of duties.

use lingua_scenarios::{Dur, Fault, FaultKind, Scenario, Swarm, Way};

use super::{below, choose, overlap};
use crate::streams::Stream;

/// Draws instances, tolerances and faults.
pub(super) fn draw(drawn: &mut Scenario, swarm: &Swarm, stream: &mut Stream) {
    let Some(duties) = &mut drawn.duties else { return };
    duties.instances = 1 + below(stream, swarm.instances_max.max(1));
    duties.claims_per_view = 1 + below(stream, 32);
    duties.patience = 1 + below(stream, 3);
    let unequal = below(stream, 2) == 1;
    let count = below(stream, swarm.faults_max + 1);
    for _ in 0..count {
        let fault = draw_fault(drawn, swarm, stream);
        let again = drawn.faults.iter().any(|other| {
            let same = other.instance == fault.instance || fault.kind == FaultKind::InstanceJoin;
            same && overlap(other, &fault)
        });
        if !again {
            drawn.faults.push(fault);
        }
    }
    drawn.faults.sort_by_key(|fault| fault.at);
    let all = drawn.instances();
    if let Some(duties) = drawn.duties.as_mut().filter(|_| unequal) {
        duties.tolerance = None;
        duties.tolerances = (0..all).map(|_| 1 + below(stream, 4)).collect();
    }
}

fn draw_fault(drawn: &Scenario, swarm: &Swarm, stream: &mut Stream) -> Fault {
    let kinds: &[FaultKind] =
        if swarm.kinds.is_empty() { &FaultKind::OF_DUTIES } else { &swarm.kinds };
    let kind = *choose(stream, kinds);
    // Faults lie in the first three quarters; the rest of the run heals.
    let ms = drawn.duration.micros() / 1_000;
    let at = Dur::from_millis(ms / 20 + u64::from(below(stream, (ms / 2) as u32)));
    let lasts = Dur::from_millis(100 + u64::from(below(stream, (ms / 6) as u32)));
    let instances = drawn.duties.as_ref().map_or(1, |duties| duties.instances);
    let instance = below(stream, instances);
    let stays = below(stream, 3) == 0;
    let probability = 0.1 + 0.9 * stream.uniform();
    let span = Dur::from_millis(u64::from(1 + below(stream, 5_000)));
    let factor = 2.0 + f64::from(below(stream, 50));
    let way = *choose(stream, &[None, Some(Way::ToStore), Some(Way::FromStore)]);
    use FaultKind as Kind;
    let of_one = matches!(
        kind,
        Kind::InstanceCrash | Kind::InstanceFreeze | Kind::InstanceDrain | Kind::Partition
    );
    let may_stay = matches!(kind, Kind::InstanceCrash | Kind::InstanceJoin | Kind::InstanceDrain);
    let shares = matches!(kind, Kind::ReplyLoss | Kind::EventLoss | Kind::EventReorder);
    Fault {
        kind,
        at,
        lasts: (!(may_stay && stays)).then_some(lasts),
        nodes: None,
        share: None,
        group: None,
        instance: of_one.then_some(instance),
        factor: (kind == Kind::Delay).then_some(factor),
        probability: shares.then_some(probability),
        span: (kind == Kind::EventReorder).then_some(span),
        model: None,
        way: way.filter(|_| kind == Kind::Partition),
        max_jobs: None,
    }
}
