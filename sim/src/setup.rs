//! From a scenario's words to the rules of the core.

use lingua_core::affinity::AffinityRule;
use lingua_core::finalize::{FinalizeConfig, PauseDetect};
use lingua_core::instance::{InstanceConfig, WhenFull};
use lingua_core::select::{Fallback, Policy, SetOrder};
use lingua_core::{
    Capabilities, CapacityCheck, Features, InstanceId, Lang, Languages, Micros, ModelId, Needs,
    Pair, PoolRule, Promises, RegionId, StateConfig,
};
use lingua_scenarios::{self as file, Dur, Scenario};

use crate::SimError;

/// A span of the file as core's microseconds.
pub(crate) fn micros(span: Dur) -> Micros {
    Micros(span.micros())
}

/// The chosen policy.
pub(crate) fn policy(scheduler: &file::Scheduler) -> Policy {
    let fallback = match scheduler.fallback {
        file::Fallback::Scan => Fallback::Scan,
        file::Fallback::Refuse => Fallback::Refuse,
    };
    match scheduler.policy {
        file::Policy::SampleReserve => Policy::SampleReserve,
        file::Policy::SampleScan => Policy::SampleScan,
        file::Policy::PowerOfD => Policy::PowerOfD(fallback),
        file::Policy::LeastConnections => Policy::LeastConnections(fallback),
        file::Policy::TwoLevelRandom => Policy::TwoLevelRandom,
        file::Policy::FirstOnline => Policy::FirstOnline(SetOrder::Set),
        file::Policy::FirstOnlineSorted => Policy::FirstOnline(SetOrder::Sorted),
        file::Policy::RoundRobin => Policy::RoundRobin,
    }
}

/// How capacity is enforced: policies that never look at it turn it off.
pub(crate) fn capacity(scheduler: &file::Scheduler) -> CapacityCheck {
    match scheduler.capacity_check {
        _ if !policy(scheduler).checks_capacity() => CapacityCheck::Off,
        file::CapacityCheck::Lease => CapacityCheck::Lease,
        file::CapacityCheck::AsDocumented => CapacityCheck::AsDocumented,
        file::CapacityCheck::Off => CapacityCheck::Off,
    }
}

/// What the configuration promises.
pub fn promises(scheduler: &file::Scheduler) -> Promises {
    let cluster = scheduler.store == file::StoreKind::RedisCluster;
    Promises::of(capacity(scheduler), policy(scheduler), cluster, is_deployed(scheduler))
}

pub(crate) fn is_deployed(scheduler: &file::Scheduler) -> bool {
    scheduler.preset == Some(file::Preset::Deployed)
}

/// Which pairs a node joins.
pub fn pool_rule(rule: file::PoolRule) -> PoolRule {
    match rule {
        file::PoolRule::AsrXTts => PoolRule::AsrXTts,
        file::PoolRule::AsrXSemantic => PoolRule::AsrXSemantic,
        file::PoolRule::F2f => PoolRule::FaceToFace,
    }
}

/// The rules of the shared state.
pub fn state_config(scheduler: &file::Scheduler) -> StateConfig {
    StateConfig {
        pool_rule: pool_rule(scheduler.pool_rule),
        shard_size: scheduler.shard_size as usize,
        capacity: capacity(scheduler),
        lease: micros(scheduler.lease),
        unconfirmed: micros(scheduler.unconfirmed),
        answer_life: micros(scheduler.answer_life),
        usage_max: scheduler.resource_threshold.map(|percent| (percent * 10.0) as u16),
        pin_sessions: is_deployed(scheduler),
        stale_members: scheduler.stale_pool_members,
        missing_counter: scheduler.missing_counter,
    }
}

/// The rules of one instance.
pub fn instance_config(scheduler: &file::Scheduler, id: u16) -> InstanceConfig {
    let max_wait = scheduler.max_wait.map_or(Micros::NEVER, micros);
    InstanceConfig {
        id: InstanceId(id),
        policy: policy(scheduler),
        sample: scheduler.sample as usize,
        when_full: match scheduler.when_full {
            file::WhenFull::Refuse => WhenFull::Refuse,
            file::WhenFull::Wait => {
                WhenFull::Wait { max_wait, max_waiting: scheduler.max_waiting as usize }
            }
        },
        finalize: FinalizeConfig {
            pause: micros(scheduler.pause),
            pause_detect: match scheduler.pause_detect {
                file::PauseDetect::Timer => PauseDetect::Timer,
                file::PauseDetect::OnChunk => PauseDetect::OnChunk,
            },
            timeout: micros(scheduler.timeout),
            max_duration: micros(scheduler.max_duration),
            max_length: u64::from(scheduler.max_length),
            hangover_manual: micros(scheduler.hangover_manual),
            hangover_auto: micros(scheduler.hangover_auto),
        },
        affinity_rule: match scheduler.affinity_rule {
            file::AffinityRule::AsDocumented => AffinityRule::AsDocumented,
            file::AffinityRule::NextJob => AffinityRule::NextJob,
        },
        affinity_life: micros(scheduler.affinity_life),
        pin_sessions: is_deployed(scheduler),
        job_timeout: micros(scheduler.job_timeout),
        deadline: micros(scheduler.deadline),
        rejoin: micros(scheduler.rejoin),
        store_timeout: micros(scheduler.store_timeout),
        preferred_pool: micros(scheduler.preferred_pool),
        stop_at_hole: scheduler.stop_at_shard_hole,
        gate: capacity(scheduler) == CapacityCheck::Lease,
        cluster: scheduler.store == file::StoreKind::RedisCluster,
        ..InstanceConfig::default()
    }
}

/// Names of features, models and regions as the numbers that core works with.
#[derive(Debug, Default)]
pub(crate) struct Names {
    features: Vec<String>,
    models: Vec<String>,
    regions: Vec<String>,
}

impl Names {
    /// All names of a scenario, in the order of the file.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let mut names = Self::default();
        for group in &scenario.nodes {
            group.features.iter().for_each(|name| number(&mut names.features, name));
            group.models.iter().for_each(|name| number(&mut names.models, name));
            group.region.iter().for_each(|name| number(&mut names.regions, name));
        }
        let sessions = scenario.sessions.iter().map(|s| (&s.features, &s.model, &s.region));
        let arrivals = scenario.arrivals.iter().map(|a| (&a.features, &a.model, &a.region));
        for (features, model, region) in sessions.chain(arrivals) {
            features.iter().for_each(|name| number(&mut names.features, name));
            model.iter().for_each(|name| number(&mut names.models, name));
            region.iter().for_each(|name| number(&mut names.regions, name));
        }
        for model in scenario.faults.iter().filter_map(|fault| fault.model.as_ref()) {
            number(&mut names.models, model);
        }
        names
    }

    /// Feature bits; the 64th and later names share a bit, which only makes filters coarser.
    pub(crate) fn features(&self, names: &[String]) -> Features {
        let bits = names.iter().map(|name| 1u64 << position(&self.features, name).min(63));
        Features(bits.fold(0, |all, bit| all | bit))
    }

    /// A model's number.
    pub(crate) fn model(&self, name: &str) -> ModelId {
        ModelId(position(&self.models, name) as u32)
    }

    /// A region's number.
    pub(crate) fn region(&self, name: &str) -> RegionId {
        RegionId(position(&self.regions, name) as u16)
    }
}

fn number(names: &mut Vec<String>, name: &String) {
    if !names.contains(name) {
        names.push(name.clone());
    }
}

fn position(names: &[String], name: &str) -> usize {
    names.iter().position(|n| n == name).unwrap_or(names.len())
}

/// A pair of the file as core's pair.
pub(crate) fn pair(pair: &file::Pair) -> Result<Pair, SimError> {
    let lang =
        |tag: &str| tag.parse::<Lang>().map_err(|error| SimError::Scenario(error.to_string()));
    Ok(Pair { src: lang(&pair.src)?, tgt: lang(&pair.tgt)? })
}

/// What the jobs of a group need, pair apart.
pub(crate) fn needs(
    names: &Names,
    pair: Pair,
    features: &[String],
    model: Option<&str>,
    region: Option<&str>,
) -> Needs {
    Needs {
        pair,
        features: names.features(features),
        model: model.map(|model| names.model(model)),
        region: region.map(|region| names.region(region)),
    }
}

/// What a group's nodes can do.
pub(crate) fn capabilities(
    names: &Names,
    group: &file::NodeGroup,
    rule: PoolRule,
) -> Result<Capabilities, SimError> {
    let langs = |tags: &[String]| -> Result<Vec<Lang>, SimError> {
        let parse = |tag: &String| tag.parse::<Lang>();
        tags.iter()
            .map(parse)
            .collect::<Result<_, _>>()
            .map_err(|e| SimError::Scenario(e.to_string()))
    };
    let asr = langs(&group.asr)?;
    let semantic = group.semantic.as_deref().map_or_else(|| Ok(asr.clone()), &langs)?;
    let languages = Languages::new(&asr, &semantic, &langs(&group.tts)?, rule)
        .map_err(|error| SimError::Scenario(error.to_string()))?;
    let mut models: Vec<ModelId> = group.models.iter().map(|model| names.model(model)).collect();
    models.sort_unstable();
    models.dedup();
    Ok(Capabilities {
        languages,
        features: names.features(&group.features),
        models,
        region: group.region.as_deref().map(|region| names.region(region)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_called_as_in_scenario_files() {
        for written in [
            file::Policy::SampleReserve,
            file::Policy::SampleScan,
            file::Policy::PowerOfD,
            file::Policy::LeastConnections,
            file::Policy::TwoLevelRandom,
            file::Policy::FirstOnline,
            file::Policy::FirstOnlineSorted,
            file::Policy::RoundRobin,
        ] {
            let scheduler = file::Scheduler { policy: written, ..file::Scheduler::default() };
            assert_eq!(policy(&scheduler).name(), file::name_of(written));
        }
    }
}
