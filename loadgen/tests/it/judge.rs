//! Each planted fault is named in the report with its count, and the verdict is right.

use std::time::Duration;

use lingua_reports::run::{Run, Verdict};

use crate::bench::load;
use crate::faulty::{Fault, Faulty, Pace};

/// Short utterances in a quick row.
const TALK: &str = r#"
title = "talk"
duration = "9s"
warmup = "0s"
[scheduler]
deadline = "4s"
job_timeout = "2s"
hangover_manual = "150ms"
[[nodes]]
count = 4
asr = ["qaa"]
tts = ["qab"]
max_jobs = 2
heartbeat = "500ms"
service_time = "200ms"
[[sessions]]
count = 16
pair = "qaa:qab"
utterance = "200ms"
gap = { uniform = { min = "300ms", max = "600ms" } }
"#;

/// Speech so long that the scheduler cuts it, ten times faster than real.
const SPEECH: &str = r#"
title = "long speech"
duration = "12s"
warmup = "0s"
[scheduler]
deadline = "4s"
job_timeout = "2s"
hangover_manual = "150ms"
[[nodes]]
count = 6
asr = ["qaa"]
tts = ["qab"]
max_jobs = 4
heartbeat = "500ms"
service_time = "50ms"
[[sessions]]
count = 6
pair = "qaa:qab"
utterance = "70s"
gap = "5s"
chunk = "500ms"
bytes_per_ms = 3
"#;

async fn against(faults: &[Fault], scenario: &str, speed: f64) -> Run {
    let scheduler = Faulty::start_at(faults, Pace::brisk()).await;
    let run = load(scheduler.url(), scenario, |options| options.speed = speed).await;
    assert_eq!(run.jobs.balance(), 0, "{:?}", run.jobs);
    assert!(run.jobs.offered > 10, "{:?}", run.jobs);
    run
}

/// A run in which one thing is wrong: the verdict, and a reason that tells it.
async fn names(fault: Fault, verdict: Verdict, told: &str) -> Run {
    let run = against(&[fault], TALK, 1.0).await;
    assert_eq!(run.verdict, verdict, "{:?}: {:?}", fault, run.reasons);
    assert!(run.reasons.iter().any(|reason| reason.contains(told)), "{:?}", run.reasons);
    run
}

#[tokio::test]
async fn who_does_right_is_not_blamed() {
    let run = against(&[], TALK, 1.0).await;
    assert_eq!(run.verdict, Verdict::Ok, "{:?}", run.reasons);
    let load = run.load.unwrap();
    assert_eq!((load.nodes.held, load.sessions.held), (4, 16));
    let chunks = load.chunks;
    assert_eq!(chunks.sent, chunks.in_jobs + chunks.in_refused + chunks.open);
    assert!(run.latency_ms.dispatch_net.count > 0 && run.latency_ms.send_lag.count > 0);
}

#[tokio::test]
async fn rooms() {
    let heard = TALK.replace("tts = [\"qab\"]", "tts = [\"qab\", \"qac\"]");
    let heard = heard.replace("count = 16", "count = 4\nlisteners = [\"qab\", \"qac\", \"qab\"]");
    let run = against(&[], &heard, 1.0).await;
    assert_eq!(run.verdict, Verdict::Ok, "{:?}", run.reasons);
    let sessions = run.load.unwrap().sessions;
    assert_eq!((sessions.requested, sessions.held), (16, 16), "{sessions:?}");
    assert!(run.jobs.completed > 100 && run.jobs.completed % 2 == 0, "{:?}", run.jobs);
    let run = against(&[Fault::AnswersSpeakerOfRoom], &heard, 1.0).await;
    assert_eq!(run.verdict, Verdict::InvariantBroken, "{:?}", run.reasons);
    assert!(run.load.unwrap().findings["wrong_session"] > 100);
    let scheduler = Faulty::start_at(&[Fault::AnswersSpeakerOfRoom], Pace::brisk()).await;
    let deployed =
        |options: &mut lingua_loadgen::Options| options.profile = lingua_loadgen::Profile::Deployed;
    let run = load(scheduler.url(), &heard, deployed).await;
    assert!(run.jobs.completed > 100 && run.jobs.lost == 0, "{:?} {:?}", run.jobs, run.reasons);
}

#[tokio::test]
async fn overselling() {
    let run = names(Fault::Oversells, Verdict::InvariantBroken, "oversold").await;
    assert!(run.oversold.assignments > 0 && run.oversold.max_excess > 0);
    assert!(run.oversold.excess_seconds > 0.0);
}

#[tokio::test]
async fn duplicates() {
    let run = names(Fault::DuplicatesResult, Verdict::InvariantBroken, "a second time").await;
    assert!((1..=16).contains(&run.jobs.duplicate), "{}", run.jobs.duplicate);
}

#[tokio::test]
async fn losses() {
    let run = names(Fault::DropsResult, Verdict::InvariantBroken, "never reached").await;
    assert!((1..=16).contains(&run.jobs.lost), "{}", run.jobs.lost);
}

#[tokio::test]
async fn answers_to_others() {
    let told = "another session";
    let run = names(Fault::AnswersWrongSession, Verdict::InvariantBroken, told).await;
    assert!(run.load.unwrap().findings["wrong_session"] >= 1);
}

#[tokio::test]
async fn silence() {
    let run = names(Fault::NeverAnswers, Verdict::InvariantBroken, "never reached").await;
    assert!(run.jobs.lost > 0 && run.jobs.completed == 0, "{:?}", run.jobs);
}

#[tokio::test]
async fn skew() {
    let idle = TALK.replace("200ms\"\n[[sessions]]", "20ms\"\n[[sessions]]");
    let run = against(&[Fault::PicksFirstNode], &idle, 1.0).await;
    assert_eq!(run.verdict, Verdict::ExpectationFailed, "{:?}", run.reasons);
    assert!(run.reasons.iter().any(|reason| reason.starts_with("skew")), "{:?}", run.reasons);
    assert_eq!(run.load.unwrap().skew.nodes, 1);
}

#[tokio::test]
async fn freezes() {
    let run = names(Fault::Freezes, Verdict::ExpectationFailed, "froze").await;
    let freezes = run.load.unwrap().freezes;
    assert!(freezes.count >= 1 && freezes.longest_s > 4.0, "{freezes:?}");
}

#[tokio::test]
async fn dropped_sockets() {
    let run = names(Fault::ClosesSilently, Verdict::ExpectationFailed, "close frame").await;
    assert!(run.load.unwrap().sessions.closed_silently >= 1);
}

#[tokio::test]
async fn a_rate_out_of_reach_is_not_excused_by_a_socket_that_was_closed() {
    let bare = "[[arrivals]]\npair = \"qaa:qab\"\nrate = \"20/s\"\n";
    let scheduler = Faulty::start_at(&[Fault::ClosesSilently], Pace::brisk()).await;
    // One socket at 200 ms a job can do five in a second.
    let one = |options: &mut lingua_loadgen::Options| options.sockets = Some(1);
    let run = load(scheduler.url(), &format!("{TALK}{bare}"), one).await;
    let load = run.load.as_ref().unwrap();
    assert!(load.sessions.closed_silently > 0 && load.unsent_by_close > 0, "{load:?}");
    assert!(run.jobs.never_sent > load.unsent_by_close + 50, "{:?}", run.jobs);
    assert_eq!((run.verdict, run.jobs.balance()), (Verdict::Void, 0), "{:?}", run.jobs);
    assert!(run.reasons[0].starts_with("unreachable rate"), "{:?}", run.reasons);
}

#[tokio::test]
async fn disorder() {
    // Work of very different length lets results overtake each other.
    let mixed = TALK
        .replace("service_time = \"200ms\"", "service_time = { exponential = \"400ms\" }")
        .replace("max_jobs = 2", "max_jobs = 8");
    let run = against(&[Fault::Reorders], &mixed, 1.0).await;
    assert_eq!(run.verdict, Verdict::InvariantBroken, "{:?}", run.reasons);
    assert!(run.jobs.reordered > 0);
}

#[tokio::test]
async fn affinity_is_kept_or_not() {
    let kept = against(&[], SPEECH, 10.0).await;
    assert_eq!(kept.verdict, Verdict::Ok, "{:?}", kept.reasons);
    assert!(kept.affinity.expected > 0, "{:?}", kept.affinity);
    assert_eq!(kept.affinity.violated, 0, "{:?}", kept.affinity);
    let ignored = against(&[Fault::IgnoresAffinity], SPEECH, 10.0).await;
    assert_eq!(ignored.verdict, Verdict::InvariantBroken, "{:?}", ignored.reasons);
    assert!(ignored.affinity.violated > 0, "{:?}", ignored.affinity);
    assert!(ignored.broken_segments.count > 0);
}

#[tokio::test]
async fn a_target_that_is_not_there_makes_a_run_void() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    drop(listener);
    let run = load(url, TALK, |_| {}).await;
    assert_eq!(run.verdict, Verdict::Void);
    assert!(run.reasons[0].contains("unreachable target"), "{:?}", run.reasons);
    assert_eq!(run.jobs.offered, 0, "the plan does not begin");
}

#[tokio::test]
async fn a_generator_that_is_late_makes_a_run_void() {
    let scheduler = Faulty::start_at(&[], Pace::brisk()).await;
    let none = |options: &mut lingua_loadgen::Options| options.lag_max = Duration::from_nanos(1);
    let run = load(scheduler.url(), TALK, none).await;
    assert_eq!(run.verdict, Verdict::Void);
    for told in ["send lag: 1 % of frames", "stall: the generator stood still"] {
        assert!(run.reasons.iter().any(|why| why.starts_with(told)), "{:?}", run.reasons);
    }
}

#[tokio::test]
async fn sessions_that_come_while_the_run_goes_on_speak() {
    let comers = TALK.replace("count = 16", "rate = \"4/s\"\nstay = \"3s\"");
    let run = against(&[], &comers, 1.0).await;
    assert_eq!(run.verdict, Verdict::Ok, "{:?}", run.reasons);
    let load = run.load.unwrap();
    assert!(load.sessions.established > 10, "{:?}", load.sessions);
}

#[tokio::test]
async fn a_node_that_wants_to_leave_works_on_and_holds_up_nobody() {
    let churn = TALK.replace("[[sessions]]", "uptime = \"2s\"\ndowntime = \"200ms\"\n[[sessions]]");
    let churn = churn.replace("service_time = \"200ms\"", "service_time = \"1500ms\"");
    let run = against(&[], &churn, 1.0).await;
    let load = run.load.unwrap();
    assert!(load.nodes.established > 4, "{:?}", load.nodes);
    assert!(run.jobs.completed > 10 && run.jobs.lost == 0, "{:?}", run.jobs);
    // Else everybody waits for as long as a job takes.
    assert!(load.own_lag_p99_ms < 750.0, "{}", load.own_lag_p99_ms);
}
