//! Jobs from finalize to their final message: gate, second tries, order, rooms, waiting.

use lingua_core::instance::{
    Answer, AnswerOutcome, Assign, Ending, Failure, Final, Input, InstanceConfig, Output, Refused,
    Request, Setup, WhenFull,
};
use lingua_core::*;

use crate::fixture::{Solo, caps, pair};

fn request(session: u64) -> Request {
    let needs = Needs::pair(pair("zh:en"));
    let id = RequestId { session: SessionId(session), index: 0, tgt: needs.pair.tgt };
    Request { id, needs, speech: Micros::secs(1), bytes: 1_000, sent: Micros::ZERO }
}

fn assigns(out: &[Output]) -> Vec<Assign> {
    let assign = |output: &Output| match output {
        Output::Assign(assign) => Some(*assign),
        _ => None,
    };
    out.iter().filter_map(assign).collect()
}

fn finals(out: &[Output]) -> Vec<Final> {
    let last = |output: &Output| match output {
        Output::Final(last) => Some(*last),
        _ => None,
    };
    out.iter().filter_map(last).collect()
}

fn answer(assign: &Assign, outcome: AnswerOutcome) -> Input {
    let answer = Answer { job: assign.job, attempt: assign.attempt, outcome };
    Input::Answer(assign.node, answer)
}

fn solo(config: InstanceConfig) -> Solo {
    Solo::new(config, StateConfig::default())
}

#[test]
fn a_full_node_refuses_and_a_freed_slot_serves() {
    let mut solo = solo(InstanceConfig::default());
    solo.node("a", &caps("zh", "en"), 1);
    let first = assigns(&solo.handle(Input::Request(request(1))));
    let refused = finals(&solo.handle(Input::Request(request(2))));
    assert_eq!(refused[0].ending, Ending::Refused(Refused::NoSlot(Refusal::Full)));
    let done = finals(&solo.handle(answer(&first[0], AnswerOutcome::Result)));
    assert_eq!(done[0].ending, Ending::Answered);
    assert_eq!(assigns(&solo.handle(Input::Request(request(3)))).len(), 1);
}

#[test]
fn no_node_for_the_pair_is_told_apart_from_full() {
    let mut solo = solo(InstanceConfig::default());
    let out = finals(&solo.handle(Input::Request(request(1))));
    assert_eq!(out[0].ending, Ending::Refused(Refused::NoSlot(Refusal::NoFittingNode)));
}

#[test]
fn a_stale_answer_is_counted_and_dropped() {
    let mut solo = solo(InstanceConfig::default());
    solo.node("a", &caps("zh", "en"), 2);
    let job = assigns(&solo.handle(Input::Request(request(1))))[0];
    let stale = Assign { attempt: 7, ..job };
    assert!(solo.handle(answer(&stale, AnswerOutcome::Result)).is_empty());
    assert_eq!(finals(&solo.handle(answer(&job, AnswerOutcome::Result))).len(), 1);
    assert!(solo.handle(answer(&job, AnswerOutcome::Result)).is_empty());
    assert_eq!(solo.instance.counters().stale_answers, 2);
}

#[test]
fn a_lost_node_waits_for_its_return_then_the_job_goes_elsewhere_once() {
    let mut solo = solo(InstanceConfig::default());
    let nodes = [solo.node("a", &caps("zh", "en"), 1), solo.node("b", &caps("zh", "en"), 1)];
    let job = assigns(&solo.handle(Input::Request(request(1))))[0];
    assert!(assigns(&solo.handle(Input::NodeClosed(job.node))).is_empty());
    assert!(assigns(&solo.wait(Micros::millis(4_900))).is_empty());
    let again = assigns(&solo.wait(Micros::millis(200)))[0];
    assert_eq!(again.attempt, 2);
    assert_eq!(nodes.iter().filter(|&&node| node == again.node).count(), 1);
    assert_ne!(again.node, job.node);
    solo.handle(Input::NodeClosed(again.node));
    let out = finals(&solo.wait(Micros::secs(6)));
    assert_eq!(out[0].ending, Ending::Failed(Failure::NodeLost));
    assert_eq!(solo.state.lease_total(), 0);
}

#[test]
fn a_node_that_returns_in_time_goes_on() {
    let mut solo = solo(InstanceConfig::default());
    solo.node("a", &caps("zh", "en"), 1);
    let job = assigns(&solo.handle(Input::Request(request(1))))[0];
    solo.handle(Input::NodeClosed(job.node));
    solo.wait(Micros::secs(2));
    let node = solo.node("a", &caps("zh", "en"), 1);
    assert_ne!(node, job.node);
    assert!(finals(&solo.handle(answer(&job, AnswerOutcome::Result))).is_empty());
    let late = Assign { node, ..job };
    let out = finals(&solo.handle(answer(&late, AnswerOutcome::Result)));
    assert_eq!(out[0].ending, Ending::Answered);
}

#[test]
fn the_gate_counts_until_the_node_answers() {
    let mut solo = solo(InstanceConfig::default());
    let node = solo.node("a", &caps("zh", "en"), 1);
    let job = assigns(&solo.handle(Input::Request(request(1))))[0];
    // Time-out: the attempt ends, and there is no other node. The machine still works.
    for _ in 0..3 {
        solo.wait(Micros::secs(9));
        solo.handle(Input::Heartbeat(node, Report { running: 1, ..Report::default() }));
    }
    assert_eq!(solo.instance.owed(), 0);
    let out = solo.handle(Input::Request(request(2)));
    assert!(assigns(&out).is_empty(), "the machine would work on two jobs");
    solo.handle(answer(&job, AnswerOutcome::Result));
    solo.handle(Input::Heartbeat(node, Report::default()));
    solo.handle(Input::Heartbeat(node, Report::default()));
    assert_eq!(assigns(&solo.handle(Input::Request(request(3)))).len(), 1);
}

#[test]
fn only_a_node_that_acknowledges_is_missed_for_it() {
    let mut solo = solo(InstanceConfig::default());
    let node = solo.node("a", &caps("zh", "en"), 4);
    solo.node("b", &caps("zh", "en"), 4);
    let beat = |solo: &mut Solo| {
        for _ in 0..3 {
            solo.wait(Micros::secs(2));
            for num in [0, 1] {
                let node = NodeRef { num: NodeNum(num), ..node };
                solo.handle(Input::Heartbeat(node, Report { running: 1, ..Report::default() }));
            }
        }
    };
    let first = assigns(&solo.handle(Input::Request(request(1))))[0];
    beat(&mut solo);
    assert_eq!(solo.instance.counters().unacknowledged, 0, "nobody ever acknowledged");
    for num in [0, 1] {
        let node = NodeRef { num: NodeNum(num), ..node };
        solo.handle(Input::Acked(node, first.job, first.attempt));
    }
    solo.handle(answer(&first, AnswerOutcome::Result));
    let acked = assigns(&solo.handle(Input::Request(request(2))))[0];
    let lost = assigns(&solo.handle(Input::Request(request(3))))[0];
    solo.handle(Input::Acked(acked.node, acked.job, acked.attempt));
    let out = solo.wait(Micros::millis(5_001));
    assert_eq!(solo.instance.counters().unacknowledged, 1);
    assert!(out.iter().any(|o| matches!(o, Output::Cancel(_, job) if *job == lost.job)));
    let again = assigns(&out);
    assert_eq!((again.len(), again[0].job, again[0].attempt), (1, lost.job, 2));
    assert_ne!(again[0].node, lost.node);
}

#[test]
fn a_report_changes_what_a_node_offers() {
    let mut solo = solo(InstanceConfig::default());
    let node = solo.node("a", &caps("zh", "en"), 4);
    let needs = Needs { features: Features(0b11), ..Needs::pair(pair("zh:en")) };
    let request = Request { needs, ..request(1) };
    let refused = finals(&solo.handle(Input::Request(request)));
    assert_eq!(refused[0].ending, Ending::Refused(Refused::NoSlot(Refusal::NoFittingNode)));
    let features = Some(Features(0b111));
    solo.handle(Input::Heartbeat(node, Report { features, ..Report::default() }));
    assert_eq!(assigns(&solo.handle(Input::Request(request))).len(), 1);
}

#[test]
fn final_messages_keep_the_order_of_the_utterances() {
    use lingua_core::finalize::Chunk;
    let mut solo = solo(InstanceConfig::default());
    solo.node("a", &caps("zh", "en"), 4);
    let session = SessionId(9);
    let setup = Setup::new(&[Needs::pair(pair("zh:en"))]);
    solo.handle(Input::SessionOpened(session, setup));
    let chunk = Chunk { bytes: 400, audio: Micros::secs(1), is_final: true, sent: Micros::ZERO };
    let mut jobs = Vec::new();
    for _ in 0..3 {
        solo.handle(Input::Chunk(session, chunk));
        jobs.extend(assigns(&solo.wait(Micros::millis(300))));
    }
    assert!(finals(&solo.handle(answer(&jobs[2], AnswerOutcome::Result))).is_empty());
    assert!(finals(&solo.handle(answer(&jobs[1], AnswerOutcome::Result))).is_empty());
    let out = finals(&solo.handle(answer(&jobs[0], AnswerOutcome::Result)));
    let order: Vec<u32> = out.iter().map(|last| last.request.index).collect();
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn a_room_makes_one_job_per_language_on_different_nodes() {
    use lingua_core::finalize::Chunk;
    let mut solo = solo(InstanceConfig::default());
    for name in ["a", "b", "c"] {
        solo.node(name, &caps("zh", "en ja ko"), 8);
    }
    let session = SessionId(9);
    let needs = ["zh:en", "zh:ja", "zh:ko"].map(|p| Needs::pair(pair(p)));
    solo.handle(Input::SessionOpened(session, Setup::new(&needs)));
    let chunk = Chunk { bytes: 400, audio: Micros::secs(1), is_final: true, sent: Micros::ZERO };
    solo.handle(Input::Chunk(session, chunk));
    let jobs = assigns(&solo.wait(Micros::secs(1)));
    let mut nodes: Vec<_> = jobs.iter().map(|job| job.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!((jobs.len(), nodes.len()), (3, 3));
}

#[test]
fn waiting_jobs_are_served_first_come_first_served() {
    let when_full = WhenFull::Wait { max_wait: Micros::secs(10), max_waiting: 2 };
    let mut solo = solo(InstanceConfig { when_full, ..InstanceConfig::default() });
    solo.node("a", &caps("zh", "en"), 1);
    let first = assigns(&solo.handle(Input::Request(request(1))))[0];
    assert!(solo.handle(Input::Request(request(2))).is_empty());
    assert!(solo.handle(Input::Request(request(3))).is_empty());
    let refused = finals(&solo.handle(Input::Request(request(4))));
    assert_eq!(refused[0].ending, Ending::Refused(Refused::Wait));
    let next = assigns(&solo.handle(answer(&first, AnswerOutcome::Result)))[0];
    assert_eq!(next.request.session, SessionId(2));
    let gave_up = finals(&solo.wait(Micros::secs(11)));
    assert_eq!(gave_up[0].request.session, SessionId(3));
    assert_eq!(gave_up[0].ending, Ending::Refused(Refused::Wait));
}

#[test]
fn every_job_ends_by_its_deadline() {
    let mut solo = solo(InstanceConfig::default());
    solo.node("a", &caps("zh", "en"), 1);
    solo.node("b", &caps("zh", "en"), 1);
    solo.handle(Input::Request(request(1)));
    let out = finals(&solo.wait(Micros::secs(61)));
    assert_eq!(out.len(), 1, "{out:?}");
    assert_eq!(solo.instance.owed(), 0);
}

#[test]
fn a_silent_node_is_missed_after_three_of_its_own_intervals() {
    let mut solo = solo(InstanceConfig::default());
    let node = solo.node("a", &caps("zh", "en"), 1);
    // From the least first interval of 8 s down to its own, a quarter at a time.
    for _ in 0..8 {
        solo.wait(Micros::secs(2));
        solo.handle(Input::Heartbeat(node, Report::default()));
    }
    let closed = |out: Vec<Output>| out.iter().any(|o| matches!(o, Output::CloseNode(_)));
    assert!(!closed(solo.wait(Micros::millis(5_900))));
    assert!(closed(solo.wait(Micros::millis(200))));
}

#[test]
fn a_node_is_not_silent_while_nobody_listens() {
    let mut solo = Solo::new(InstanceConfig::default(), StateConfig::default());
    let node = solo.node("n", &caps("zh", "en"), 1);
    for _ in 0..3 {
        solo.now = solo.now + Micros::secs(10);
        solo.handle(Input::Heartbeat(node, Report::default()));
    }
    // The process stands still for a minute. What the node said meanwhile lies at its socket.
    solo.now = solo.now + Micros::secs(60);
    solo.handle(Input::Late(Micros::secs(60)));
    let closes = |out: &[Output]| out.iter().any(|output| matches!(output, Output::CloseNode(_)));
    assert!(!closes(&solo.handle(Input::Tick)));
    solo.handle(Input::Heartbeat(node, Report::default()));
    solo.handle(Input::Late(Micros::ZERO));
    // Then it is silent by itself, three of its longest intervals at most.
    assert!(closes(&solo.wait(Micros::secs(3 * 60))));
}
