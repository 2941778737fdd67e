//! What befalls a node by the scenario's faults, and by its own coming and going.

use lingua_scenarios::streams::{Purpose, Streams};
use lingua_scenarios::{Dur, Fault, FaultKind, Scenario};

/// How long a crash or a herd keeps a node away where the file does not say.
const AWAY: Dur = Dur::from_secs(5);
/// Where the streams of faults begin, as the simulator has it.
const FIRST_FAULT: u64 = 16;

/// One thing that happens to a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Upset {
    /// It dies with its jobs and is away for so long.
    Crash(Dur),
    /// It hangs half-open, or wakes again and opens a new socket.
    Silent(bool),
    /// Its work takes so many times as long.
    Slow(f64),
    /// It answers MODEL_NOT_AVAILABLE, or no longer.
    LacksModel(bool),
    /// It leaves out this share of its heartbeats.
    LosesBeats(f64),
    /// It sends this share of its answers twice.
    AnswersTwice(f64),
    /// It may have so many jobs at once; absent: as the file says.
    MaxJobs(Option<u32>),
    /// Its socket drops and it connects again at once.
    Drops,
}

/// How a fault begins and ends for a node; absent: it befalls the scheduler or what is behind it.
fn upsets(fault: &Fault) -> Option<(Upset, Option<Upset>)> {
    let share = fault.probability.unwrap_or(1.0);
    Some(match fault.kind {
        FaultKind::NodeCrash => (Upset::Crash(fault.lasts.unwrap_or(AWAY)), None),
        FaultKind::NodeSilent => (Upset::Silent(true), Some(Upset::Silent(false))),
        FaultKind::SlowNode => (Upset::Slow(fault.factor.unwrap_or(10.0)), Some(Upset::Slow(1.0))),
        FaultKind::ModelStorm => (Upset::LacksModel(true), Some(Upset::LacksModel(false))),
        FaultKind::HeartbeatLoss => (Upset::LosesBeats(share), Some(Upset::LosesBeats(0.0))),
        FaultKind::DuplicateRelease => (Upset::AnswersTwice(share), Some(Upset::AnswersTwice(0.0))),
        FaultKind::MaxJobs => (Upset::MaxJobs(fault.max_jobs), Some(Upset::MaxJobs(None))),
        FaultKind::ReconnectHerd => (Upset::Drops, None),
        _ => return None,
    })
}

/// Whether a fault befalls nodes.
pub(crate) fn strikes_nodes(fault: &Fault) -> bool {
    upsets(fault).is_some()
}

/// The upsets of every node, by its number through the file, in order of time.
pub(super) fn of_nodes(scenario: &Scenario, streams: &Streams) -> Vec<Vec<(Dur, Upset)>> {
    let nodes: u32 = scenario.nodes.iter().map(|group| group.count).sum();
    let mut all = vec![Vec::new(); nodes as usize];
    for (at, fault) in scenario.faults.iter().enumerate() {
        let mut stream = streams.stream(Purpose::Faults, FIRST_FAULT + at as u64);
        let Some((begins, ends)) = upsets(fault) else { continue };
        let victims = fault.victims(fault.among(scenario), &mut stream);
        for victim in victims {
            let Some(own) = all.get_mut(victim as usize) else { continue };
            own.push((fault.at, begins));
            own.extend(fault.lasts.zip(ends).map(|(lasts, ends)| (after(fault.at, lasts), ends)));
        }
    }
    for own in &mut all {
        own.sort_by_key(|(at, _)| *at);
    }
    all
}

fn after(at: Dur, span: Dur) -> Dur {
    Dur::from_micros(at.micros() + span.micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_whom_they_should_in_order() {
        let scenario: Scenario = r#"
duration = "60s"
warmup = "1s"
[[nodes]]
name = "a"
count = 4
asr = ["zh"]
tts = ["en"]
[[nodes]]
name = "b"
count = 3
asr = ["zh"]
tts = ["en"]
[[sessions]]
count = 1
pair = "zh:en"
[[faults]]
kind = "slow-node"
at = "20s"
for = "10s"
factor = 3.0
group = "b"
[[faults]]
kind = "node-crash"
at = "10s"
for = "5s"
nodes = 2
"#
        .parse()
        .unwrap();
        let all = of_nodes(&scenario, &Streams::new(1));
        let crash = (Dur::from_secs(10), Upset::Crash(Dur::from_secs(5)));
        assert_eq!(all.iter().flatten().filter(|upset| **upset == crash).count(), 2);
        let slow = [(Dur::from_secs(20), Upset::Slow(3.0)), (Dur::from_secs(30), Upset::Slow(1.0))];
        for (node, own) in all.iter().enumerate() {
            assert_eq!(own.ends_with(&slow), node >= 4, "{own:?}");
        }
    }
}
