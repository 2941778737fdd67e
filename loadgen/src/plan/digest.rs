//! A hash over the whole plan: runs meet the same arrivals where it is equal, simulated or not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use lingua_scenarios::streams::{Streams, mix};
use lingua_scenarios::{Dur, Error, Pair, Scenario};

use super::{Arrivals, Comers, Group, Step, Talker};

/// Bare jobs have numbers above those of sessions.
const BARE: u64 = 1 << 63;

/// The hash of a scenario's plan for talkers who talk so many times faster than real.
///
/// # Errors
/// A recorded trace cannot be read.
pub(crate) fn digest(scenario: &Scenario, speed: f64) -> Result<u64, Error> {
    let streams = Streams::new(scenario.seed);
    let talk = talk(scenario, &streams, speed);
    Ok(talk.wrapping_add(bare(scenario, &streams)?))
}

/// A sum does not care for the order in which equal instants are met.
fn item(at: u64, entity: u64, value: u64) -> u64 {
    mix(mix(at ^ mix(entity)) ^ value)
}

fn bare(scenario: &Scenario, streams: &Streams) -> Result<u64, Error> {
    let mut pairs: Vec<Pair> = Vec::new();
    for group in &scenario.arrivals {
        for pair in group.pair.iter().chain(&group.pairs) {
            number(&mut pairs, pair);
        }
    }
    let mut sum = 0_u64;
    for (index, group) in scenario.arrivals.iter().enumerate() {
        let mut plan = Arrivals::new(streams, scenario, group, index)?;
        while let Some(arrival) = plan.next()? {
            let entity = BARE | (index as u64) << 48 | arrival.number;
            sum = sum.wrapping_add(item(arrival.at, entity, number(&mut pairs, &arrival.pair)));
        }
    }
    Ok(sum)
}

/// The number of a pair, given at its first mention.
fn number(pairs: &mut Vec<Pair>, pair: &Pair) -> u64 {
    let known = pairs.iter().position(|known| known == pair);
    known.unwrap_or_else(|| {
        pairs.push(pair.clone());
        pairs.len() - 1
    }) as u64
}

/// All talkers step by step, so that successors get their numbers in order.
fn talk(scenario: &Scenario, streams: &Streams, speed: f64) -> u64 {
    let end = (scenario.duration.micros() as f64 * speed) as u64;
    let mut sum = 0_u64;
    let mut talkers: Vec<(Talker, Step)> = Vec::new();
    let mut due: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut comers: Vec<(Arc<Group>, Comers)> = Vec::new();
    let mut coming: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let add = |talkers: &mut Vec<_>, due: &mut BinaryHeap<_>, group: &Arc<Group>, at| {
        let number = talkers.len();
        let mut talker = Talker::new(streams, group, number as u32, at);
        if let Some((at, step)) = talker.next() {
            due.push(Reverse((at, number)));
            talkers.push((talker, step));
        }
    };
    for (index, of) in scenario.sessions.iter().enumerate() {
        let group = Arc::new(Group::new(of));
        for _ in 0..of.count.unwrap_or(0) {
            add(&mut talkers, &mut due, &group, 0);
        }
        if let Some(rate) = &of.rate {
            let until = Dur::from_micros(end);
            let mut plan = Comers::new(streams, rate.clone(), index, until);
            coming.extend(plan.next().map(|at| Reverse((at, comers.len()))));
            comers.push((group, plan));
        }
    }
    loop {
        let next_talk = due.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        let next_comer = coming.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        if next_talk.min(next_comer) >= end {
            return sum;
        }
        if next_comer <= next_talk {
            let Some(Reverse((at, which))) = coming.pop() else { return sum };
            let (group, plan) = &mut comers[which];
            coming.extend(plan.next().map(|at| Reverse((at, which))));
            let group = group.clone();
            add(&mut talkers, &mut due, &group, at);
            continue;
        }
        let Some(Reverse((at, who))) = due.pop() else { return sum };
        let (talker, step) = &mut talkers[who];
        match *step {
            Step::Begin { speech_us, manual, .. } => {
                sum = sum.wrapping_add(item(at, who as u64, speech_us << 1 | u64::from(manual)));
            }
            Step::Leave if talker.group.of.count.is_some() => {
                let group = talker.group.clone();
                add(&mut talkers, &mut due, &group, at);
            }
            Step::Chunk { .. } | Step::Leave => {}
        }
        let (talker, step) = &mut talkers[who];
        if let Some((at, next)) = talker.next() {
            *step = next;
            due.push(Reverse((at, who)));
        }
    }
}
