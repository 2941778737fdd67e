//! The documents' table of reasons and affinity, in every state the node may be in.

use lingua_core::affinity::{AffinityRule, AffinityStep};
use lingua_core::finalize::{Chunk, FinalizeConfig, PauseDetect, Reason};
use lingua_core::instance::{Answer, AnswerOutcome, Assign, Input, InstanceConfig, Output, Setup};
use lingua_core::*;

use crate::fixture::{Solo, caps, pair, register};

#[test]
fn what_each_reason_does() {
    use AffinityStep::{CarryOn, ClearBefore, Keep, RecordAfter};
    let table = [
        (Reason::IsFinal, ClearBefore, Keep),
        (Reason::Pause, ClearBefore, Keep),
        (Reason::Timeout, RecordAfter, RecordAfter),
        (Reason::MaxDuration, RecordAfter, RecordAfter),
        (Reason::MaxLength, Keep, CarryOn),
    ];
    for (reason, documented, next_job) in table {
        assert_eq!(AffinityRule::AsDocumented.step(reason), documented, "{reason:?}");
        assert_eq!(AffinityRule::NextJob.step(reason), next_job, "{reason:?}");
    }
}

/// What the tied node is like when the next job comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tied {
    Online,
    Offline,
    Full,
    LeftPool,
    Draining,
}

const SESSION: SessionId = SessionId(1);

/// Speaks one utterance that ends by `reason`, and gives back its job.
fn utter(solo: &mut Solo, reason: Reason) -> Assign {
    let chunk = |bytes, audio, is_final| Chunk { bytes, audio, is_final, sent: Micros::ZERO };
    let mut out = Vec::new();
    let mut say = |solo: &mut Solo, chunk| out.extend(solo.handle(Input::Chunk(SESSION, chunk)));
    match reason {
        Reason::IsFinal => say(solo, chunk(400, Micros::secs(1), true)),
        Reason::Pause | Reason::Timeout => say(solo, chunk(400, Micros::secs(1), false)),
        Reason::MaxDuration => say(solo, chunk(80_000, Micros::secs(20), false)),
        Reason::MaxLength => say(solo, chunk(600_000, Micros::secs(1), false)),
    }
    let span = match reason {
        Reason::Pause => Micros::millis(3_500),
        _ => Micros::secs(11),
    };
    if reason != Reason::MaxLength {
        out.extend(solo.wait(span));
    }
    let assign = out.iter().find_map(|output| match output {
        Output::Assign(assign) => Some(*assign),
        _ => None,
    });
    let assign = assign.unwrap_or_else(|| panic!("{reason:?} made no job: {out:?}"));
    assert_eq!(assign.reason, Some(reason));
    assign
}

fn answer(solo: &mut Solo, assign: &Assign) {
    let outcome = AnswerOutcome::Result;
    let answer = Answer { job: assign.job, attempt: assign.attempt, outcome };
    solo.handle(Input::Answer(assign.node, answer));
}

fn solo(rule: AffinityRule, detect: PauseDetect) -> (Solo, Vec<NodeRef>) {
    let finalize = FinalizeConfig { pause_detect: detect, ..FinalizeConfig::default() };
    let config = InstanceConfig { finalize, affinity_rule: rule, ..InstanceConfig::default() };
    let mut solo = Solo::new(config, StateConfig::default());
    let caps = caps("zh", "en");
    let nodes = (0..40).map(|n| solo.node(&format!("n{n}"), &caps, 1)).collect();
    let setup = Setup::new(&[Needs::pair(pair("zh:en"))]);
    solo.handle(Input::SessionOpened(SESSION, setup));
    (solo, nodes)
}

/// Puts the node into a state.
fn bring(solo: &mut Solo, node: NodeRef, tied: Tied) {
    match tied {
        Tied::Online => {}
        Tied::Offline => drop(solo.handle(Input::NodeClosed(node))),
        Tied::Draining => drop(solo.handle(Input::Drain(node, true))),
        Tied::Full => {
            let busy = Report { running: 1, ..Report::default() };
            solo.handle(Input::Heartbeat(node, busy.clone()));
            solo.handle(Input::Heartbeat(node, busy));
        }
        Tied::LeftPool => {
            // It comes back under the same name, but speaks something else.
            let name = format!("n{}", node.num.0);
            solo.handle(Input::NodeOpened(register(&name, &caps("de", "de"), 1).into()));
        }
    }
}

/// First utterance by `first`, then the node changes, then one more by `second`.
fn follow(
    rule: AffinityRule,
    first: Reason,
    second: Reason,
    tied: Tied,
) -> (bool, AffinityOutcome) {
    let detect = if first == Reason::Timeout || second == Reason::Timeout {
        PauseDetect::OnChunk
    } else {
        PauseDetect::Timer
    };
    let (mut solo, _) = solo(rule, detect);
    let before = utter(&mut solo, first);
    answer(&mut solo, &before);
    bring(&mut solo, before.node, tied);
    let after = utter(&mut solo, second);
    (after.node.num == before.node.num, after.affinity)
}

#[test]
fn the_documented_rule_in_every_state_of_the_node() {
    use AffinityOutcome::{Kept, Missed, None};
    // What the second job finds, by how the first utterance ended; the second ends by MaxLength,
    // which neither clears nor records.
    for first in Reason::ALL {
        let ties = matches!(first, Reason::Timeout | Reason::MaxDuration);
        for (tied, found) in [
            (Tied::Online, Kept),
            (Tied::Offline, Missed(MissCause::Offline)),
            (Tied::Full, Missed(MissCause::Full)),
            (Tied::Draining, Missed(MissCause::Unavailable)),
            (Tied::LeftPool, Missed(MissCause::Offline)),
        ] {
            let (_, got) = follow(AffinityRule::AsDocumented, first, Reason::MaxLength, tied);
            assert_eq!(got, if ties { found } else { None }, "{first:?} then {tied:?}");
        }
    }
}

#[test]
fn the_documented_rule_clears_for_the_last_part_and_next_job_does_not() {
    let last_parts = [Reason::IsFinal, Reason::Pause];
    for last in last_parts {
        let documented =
            follow(AffinityRule::AsDocumented, Reason::MaxDuration, last, Tied::Online);
        assert_eq!(documented.1, AffinityOutcome::None);
        let next_job = follow(AffinityRule::NextJob, Reason::MaxDuration, last, Tied::Online);
        assert_eq!(next_job, (true, AffinityOutcome::Kept));
    }
}

#[test]
fn next_job_counts_for_one_utterance_and_is_carried_on_by_max_length() {
    let (mut solo, _) = solo(AffinityRule::NextJob, PauseDetect::Timer);
    let first = utter(&mut solo, Reason::MaxDuration);
    answer(&mut solo, &first);
    let second = utter(&mut solo, Reason::MaxLength);
    answer(&mut solo, &second);
    assert_eq!(second.affinity, AffinityOutcome::Kept);
    let third = utter(&mut solo, Reason::IsFinal);
    answer(&mut solo, &third);
    assert_eq!(third.affinity, AffinityOutcome::Kept);
    let fourth = utter(&mut solo, Reason::IsFinal);
    assert_eq!(fourth.affinity, AffinityOutcome::None);
}

#[test]
fn affinity_ends_with_its_life() {
    let (mut solo, _) = solo(AffinityRule::AsDocumented, PauseDetect::Timer);
    let first = utter(&mut solo, Reason::MaxDuration);
    answer(&mut solo, &first);
    for _ in 0..7 {
        solo.now = solo.now + Micros::secs(10);
        let alive: Vec<_> = solo.state.leases().collect();
        assert!(alive.is_empty());
        heartbeat_all(&mut solo);
    }
    let second = utter(&mut solo, Reason::MaxLength);
    assert_eq!(second.affinity, AffinityOutcome::None);
}

fn heartbeat_all(solo: &mut Solo) {
    for num in 0..40 {
        let node = NodeRef { num: NodeNum(num), generation: 1 };
        solo.handle(Input::Heartbeat(node, Report::default()));
    }
}
