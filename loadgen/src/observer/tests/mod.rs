//! Accounts of runs in which every instant is known.

mod rooms;

use lingua_reports::summary;

use super::*;
use crate::tag::{Answer, Span};
use crate::wire::Heard;

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;
const RUN: u32 = 7;

fn observer(seconds: u64) -> Observer {
    observer_of("0/1", seconds)
}

fn observer_of(shard: &str, seconds: u64) -> Observer {
    let scenario: Scenario = format!(
        r#"
duration = "{seconds}s"
warmup = "0s"
[[nodes]]
asr = ["zh"]
tts = ["en"]
[[arrivals]]
pair = "zh:en"
rate = "1/s"
"#
    )
    .parse()
    .unwrap();
    let shard = shard.parse().unwrap();
    let mut observer = Observer::new(&scenario, 60 * SECOND, shard, Profile::Lingua);
    let pair = observer.pair(&"zh:en".parse().unwrap());
    observer.add_speaker(pair);
    observer.add_node("n".into(), 4, 0);
    observer.start(0, 0, seconds * SECOND);
    observer
}

/// Says one utterance of so many chunks, from `begins` on.
fn say(observer: &mut Observer, first: u32, chunks: u32, cut: Cut, begins: Nanos, sent: Nanos) {
    observer.begin(0, Segment { first, cut, begins, pace: 0, work: 0.5 });
    for _ in 0..chunks {
        let at = Leaving { intended: begins, ready: begins, now: sent };
        observer.chunk_sent(0, 100, at);
    }
    observer.spoken(0, first + chunks - 1, begins, sent);
}

fn assign(observer: &mut Observer, index: u64, (first, last): (u32, u32), at: Nanos) {
    let span = Span { session: 0, first, last, audio_us: 100_000 };
    let (manual, timeout, duration) = (true, false, false);
    observer.assigned(&Assigned {
        span,
        tgt: "en",
        index,
        attempt: 1,
        node: 0,
        manual,
        timeout,
        duration,
        at,
    });
}

fn hear(observer: &mut Observer, frame: &str, at: Nanos) {
    let heard: Heard<'_> = serde_json::from_str(frame).unwrap();
    let life = observer.speakers[0].life;
    observer.heard(Hearing { session: 0, ear: Ear::Own, life, id: "s", run: RUN, at }, &heard);
}

fn hear_at_former(observer: &mut Observer, frame: &str) {
    let heard: Heard<'_> = serde_json::from_str(frame).unwrap();
    let hearing = Hearing { session: 0, ear: Ear::Own, life: 0, id: "s", run: RUN, at: 9 * SECOND };
    observer.heard(hearing, &heard);
}

fn translated(observer: &mut Observer, index: u64, (first, last): (u32, u32), at: Nanos) {
    observer.answered(0, "en", first, at);
    let text = Answer { run: RUN, session: 0, first, last, attempt: 1, tgt: "en" };
    let frame = format!(
        r#"{{"type":"translation_result","session_id":"s","utterance_index":{index},
        "text_asr":"{text}"}}"#
    );
    hear(observer, &frame, at);
}

fn refused(observer: &mut Observer, index: u64, at: Nanos) {
    let frame = format!(
        r#"{{"type":"error","code":"NO_AVAILABLE_NODE","message":"",
        "details":{{"utterance_index":{index},"retryable":true}}}}"#
    );
    hear(observer, &frame, at);
}

/// One serial socket, 100/s for 20 s, 1 ms of service, frozen from 5 s to 10 s.
#[test]
fn coordinated_omission_is_not_measured_away() {
    let mut observer = observer(20);
    let mut free = 0;
    for n in 0..2_000_u32 {
        let intended = Nanos::from(n) * 10 * MS;
        let sent = intended.max(free);
        let frozen = (5 * SECOND..10 * SECOND).contains(&sent);
        let starts = if frozen { 10 * SECOND } else { sent };
        free = starts + MS;
        say(&mut observer, n, 1, Cut::Whole, intended, sent);
        assign(&mut observer, n.into(), (n, n), starts);
        translated(&mut observer, n.into(), (n, n), free);
    }
    assert_eq!((observer.jobs.offered, observer.jobs.completed), (2_000, 2_000));
    let histograms = observer.latencies.into_map();
    let response = summary::summarize(&histograms["response"]);
    let service = summary::summarize(&histograms["service"]);
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.05;
    assert!(near(response.p50, 1.0), "{response:?}");
    assert!(near(response.p90, 3_210.0), "{response:?}");
    assert!(near(response.p99, 4_820.0), "{response:?}");
    let p75 = histograms["response"].value_at_quantile(0.75) as f64 / 1e6;
    assert!(near(p75, 505.0), "{p75}");
    assert!(near(service.p99, 1.0), "{service:?}");
}

#[test]
fn a_cut_in_the_middle_of_speech_is_no_end_of_what_was_said_before() {
    for (stops, offered) in [(false, 1), (true, 0)] {
        let mut observer = observer(60);
        say(&mut observer, 0, 2, Cut::Scheduler, SECOND, SECOND);
        let segment =
            Segment { first: 2, cut: Cut::Scheduler, begins: 3 * SECOND, pace: SECOND, work: 0.5 };
        observer.begin(0, segment);
        let at = Leaving { intended: 4 * SECOND, ready: 0, now: 4 * SECOND };
        observer.chunk_sent(0, 100, at);
        if stops {
            observer.stopped(0);
        }
        assign(&mut observer, 0, (0, 2), 7 * SECOND);
        translated(&mut observer, 0, (0, 2), 8 * SECOND);
        // Where the plan ends in the middle of an utterance, that does not count.
        assert_eq!((observer.jobs.offered, observer.jobs.balance()), (offered, 0));
        assert!(!observer.awaits_cuts());
        // Counted from the last chunk, which has been said since.
        let histograms = observer.latencies.into_map();
        let response = summary::summarize(&histograms["response"]);
        assert!(stops || (3_900.0..4_100.0).contains(&response.max), "{response:?}");
    }
}

#[test]
fn a_refusal_is_about_the_utterance_of_its_index() {
    let mut observer = observer(60);
    say(&mut observer, 0, 3, Cut::Manual, 0, 0);
    // Silence that the scheduler ends, and then speech of a later utterance.
    say(&mut observer, 3, 2, Cut::Scheduler, SECOND, SECOND);
    say(&mut observer, 5, 4, Cut::Manual, 10 * SECOND, 10 * SECOND);
    assign(&mut observer, 0, (0, 2), SECOND);
    assign(&mut observer, 2, (5, 8), 11 * SECOND);
    translated(&mut observer, 0, (0, 2), 12 * SECOND);
    refused(&mut observer, 1, 12 * SECOND);
    translated(&mut observer, 2, (5, 8), 13 * SECOND);
    let jobs = &observer.jobs;
    assert_eq!((jobs.offered, jobs.completed, jobs.refused), (3, 2, 1));
    assert_eq!((jobs.duplicate, jobs.reordered, observer.open), (0, 0, 0));
    let chunks = observer.chunks;
    assert_eq!((chunks.sent, chunks.in_jobs, chunks.in_refused), (9, 7, 2));
    assert_eq!(observer.findings.chunks_twice, 0);
}

#[test]
fn a_pause_too_short_makes_one_utterance_of_two() {
    let mut observer = observer(60);
    say(&mut observer, 0, 2, Cut::Scheduler, 0, 0);
    say(&mut observer, 2, 2, Cut::Manual, SECOND, SECOND);
    refused(&mut observer, 0, 2 * SECOND);
    assert_eq!((observer.jobs.offered, observer.jobs.refused), (1, 1));
    assert_eq!((observer.chunks.in_refused, observer.open), (4, 0));
    assert!(!observer.awaits_cuts());
}

#[test]
fn what_comes_twice_or_late_or_never_is_told_apart() {
    let mut observer = observer(200);
    for n in 0..4_u32 {
        say(&mut observer, n, 1, Cut::Manual, Nanos::from(n) * SECOND, 0);
        assign(&mut observer, n.into(), (n, n), Nanos::from(n) * SECOND);
    }
    translated(&mut observer, 0, (0, 0), 5 * SECOND);
    translated(&mut observer, 0, (0, 0), 6 * SECOND);
    translated(&mut observer, 2, (2, 2), 7 * SECOND);
    translated(&mut observer, 1, (1, 1), 8 * SECOND);
    assert_eq!((observer.jobs.duplicate, observer.jobs.reordered), (1, 1));
    say(&mut observer, 4, 1, Cut::Manual, 9 * SECOND, 9 * SECOND);
    observer.answered(0, "en", 3, 9 * SECOND);
    observer.expire(100 * SECOND);
    let jobs = &observer.jobs;
    // A node has answered the fourth; nobody has ever seen the fifth.
    assert_eq!((jobs.completed, jobs.lost, jobs.timed_out), (3, 1, 1));
    assert_eq!((observer.findings.never_answered, jobs.balance()), (1, 0));
}

#[test]
fn what_a_former_socket_owed_fails_with_it_and_the_rest_stands() {
    let mut observer = observer(60);
    say(&mut observer, 0, 3, Cut::Manual, SECOND, SECOND);
    let life = observer.reborn(0, 3, false, 2 * SECOND);
    assert_eq!(life, 1);
    say(&mut observer, 3, 2, Cut::Manual, 2 * SECOND, 2 * SECOND);
    observer.lose(0, 0, 3 * SECOND);
    assert!(observer.is_quiet(0, 0) && !observer.is_quiet(0, 1));
    assert_eq!((observer.jobs.offered, observer.jobs.failed, observer.open), (2, 1, 1));
    assert_eq!(observer.chunks.in_refused, 3);
    // The new socket's loss takes what is its own, and nothing a second time.
    observer.reborn(0, 5, true, 4 * SECOND);
    assert_eq!((observer.jobs.failed, observer.open), (2, 0));
    assert_eq!(observer.chunks.in_refused, 5);
    assert_eq!(observer.jobs.balance(), 0);
}

#[test]
fn a_former_socket_is_still_told_of_refusals() {
    let mut observer = observer(60);
    for n in 0..4_u32 {
        let at = Nanos::from(n) * SECOND;
        say(&mut observer, n, 1, Cut::Manual, at, at);
    }
    assign(&mut observer, 0, (0, 0), SECOND);
    translated(&mut observer, 0, (0, 0), 4 * SECOND);
    observer.reborn(0, 4, false, 5 * SECOND);
    say(&mut observer, 4, 1, Cut::Manual, 6 * SECOND, 6 * SECOND);
    // The first of the new socket is another's number.
    let refusal = r#"{"type":"error","code":"NO_AVAILABLE_NODE","message":"",
        "details":{"utterance_index":0,"retryable":true}}"#;
    hear(&mut observer, refusal, 7 * SECOND);
    hear_at_former(&mut observer, &refusal.replace("index\":0", "index\":1"));
    let event = r#"{"type":"ui_event","session_id":"s","utterance_index":3,"event":"ERROR",
        "error_code":"NO_AVAILABLE_NODE"}"#;
    hear_at_former(&mut observer, event);
    hear_at_former(&mut observer, &refusal.replace("index\":0", "index\":2"));
    // What an event has told already.
    hear_at_former(&mut observer, &refusal.replace("index\":0", "index\":3"));
    let jobs = &observer.jobs;
    assert_eq!((jobs.offered, jobs.completed, jobs.refused), (5, 1, 4), "{jobs:?}");
    assert_eq!((jobs.duplicate, observer.open, observer.chunks.in_refused), (0, 0, 4));
    assert!(observer.is_quiet(0, 0) && observer.is_quiet(0, 1));
}

#[test]
fn what_a_former_socket_has_still_to_end_is_one_utterance_where_no_pause_was() {
    let mut observer = observer(60);
    for (n, at) in [(0, 0), (1, SECOND), (2, 10 * SECOND)] {
        say(&mut observer, n, 1, Cut::Scheduler, at, at);
    }
    say(&mut observer, 3, 1, Cut::Manual, 11 * SECOND, 11 * SECOND);
    observer.reborn(0, 4, false, 12 * SECOND);
    assert_eq!((observer.jobs.offered, observer.open), (2, 2));
    assign(&mut observer, 0, (0, 1), 14 * SECOND);
    assign(&mut observer, 1, (2, 3), 14 * SECOND);
    translated(&mut observer, 0, (0, 1), 15 * SECOND);
    translated(&mut observer, 1, (2, 3), 15 * SECOND);
    assert_eq!((observer.jobs.completed, observer.open, observer.chunks.in_jobs), (2, 0, 4));
    assert_eq!(observer.jobs.balance(), 0);
}

#[test]
fn a_node_that_was_there_for_half_the_time_owes_half_the_jobs() {
    let mut observer = observer(100);
    observer.add_node("m".into(), 4, 0);
    for node in 0..2 {
        observer.nodes[node].connect(0);
    }
    observer.nodes[1].disconnect(50 * SECOND);
    let mut at = 0;
    for (node, jobs) in [(0, 400), (1, 200)] {
        for _ in 0..jobs {
            at += 10 * MS;
            observer.nodes[node].hold(1, at.min(49 * SECOND));
            observer.nodes[node].hold(0, at.min(49 * SECOND));
        }
    }
    observer.settle_nodes(100 * SECOND);
    let skew = observer.skew();
    assert_eq!(skew.nodes, 0, "{skew:?}");
    assert!(skew.sigmas < 0.5, "{skew:?}");
}

/// Session 0 of shard 1 of 2 is the run's session 1; a node of the other shard answers it.
fn answered_elsewhere(observer: &mut Observer, index: u64, span: (u32, u32), at: Nanos) {
    let (first, last) = span;
    let text = Answer { run: RUN, session: 1, first, last, attempt: 1, tgt: "en" };
    let frame = format!(
        r#"{{"type":"translation_result","session_id":"s","utterance_index":{index},
        "text_asr":"{text}"}}"#
    );
    hear(observer, &frame, at);
}

#[test]
fn a_job_at_a_node_of_another_shard_is_known_by_its_answer() {
    let mut observer = observer_of("1/2", 60);
    say(&mut observer, 0, 3, Cut::Manual, SECOND, SECOND);
    // The scheduler ends this one and, as it is long, a part of the next.
    say(&mut observer, 3, 2, Cut::Scheduler, 2 * SECOND, 2 * SECOND);
    say(&mut observer, 5, 4, Cut::Manual, 10 * SECOND, 10 * SECOND);
    say(&mut observer, 9, 2, Cut::Manual, 20 * SECOND, 20 * SECOND);
    answered_elsewhere(&mut observer, 0, (0, 2), 3 * SECOND);
    answered_elsewhere(&mut observer, 1, (3, 4), 6 * SECOND);
    // Refused while the two before it are still at work elsewhere.
    let refusal = r#"{"type":"ui_event","session_id":"s","utterance_index":4,"event":"ERROR",
        "error_code":"NO_AVAILABLE_NODE"}"#;
    answered_elsewhere(&mut observer, 2, (5, 6), 21 * SECOND);
    hear(&mut observer, refusal, 21 * SECOND);
    answered_elsewhere(&mut observer, 3, (7, 8), 22 * SECOND);
    let (jobs, chunks) = (&observer.jobs, &observer.chunks);
    assert_eq!((jobs.offered, jobs.completed, jobs.refused), (5, 4, 1), "{jobs:?}");
    assert_eq!((jobs.duplicate, jobs.reordered, observer.open, jobs.balance()), (0, 0, 0, 0));
    assert_eq!((chunks.sent, chunks.in_jobs, chunks.in_refused), (11, 9, 2));
    assert_eq!((observer.across.heard, observer.findings.foreign_jobs), (4, 0));
    assert!(!observer.awaits_cuts());
    // A second answer is one all the same, and another session's is nobody's here.
    answered_elsewhere(&mut observer, 3, (7, 8), 23 * SECOND);
    translated(&mut observer, 4, (0, 2), 24 * SECOND);
    assert_eq!((observer.jobs.duplicate, observer.findings.wrong_session), (1, 1));
}

#[test]
fn a_node_serves_the_sessions_of_other_shards() {
    let mut observer = observer_of("1/2", 60);
    // Session 0 of the run is the other shard's.
    assign(&mut observer, 0, (0, 2), SECOND);
    observer.answered(0, "en", 0, 2 * SECOND);
    let across = observer.across;
    assert_eq!((across.hosted, across.answered, across.heard), (1, 1, 0));
    assert_eq!((observer.jobs.offered, observer.jobs.dispatched, observer.open), (0, 1, 0));
    assert_eq!(observer.findings.foreign_jobs, 0);
    // It stays as long as there may be more to come.
    assert!(observer.is_hosting(62 * SECOND));
    assign(&mut observer, 1, (3, 3), 64 * SECOND);
    assert!(observer.is_hosting(68 * SECOND) && !observer.is_hosting(69 * SECOND));
    observer.nodes[0].hold(1, 69 * SECOND);
    assert!(observer.is_hosting(70 * SECOND));
}

#[test]
fn affinity_is_not_guessed_over_a_gap_in_what_a_shard_sees() {
    let mut observer = observer_of("1/2", 60);
    observer.add_node("m".into(), 4, 0);
    for node in 0..2 {
        observer.nodes[node].connect(0);
    }
    let mut at = 0;
    let mut job = |observer: &mut Observer, n: u32, node: Option<u32>| {
        at += 12 * SECOND;
        say(observer, n, 1, Cut::Scheduler, at, at);
        if let Some(node) = node {
            let span = Span { session: 1, first: n, last: n, audio_us: 2_000_000 };
            let (manual, timeout, duration) = (false, false, true);
            let (index, attempt, at) = (n.into(), 1, at + MS);
            let job =
                Assigned { span, tgt: "en", index, attempt, node, manual, timeout, duration, at };
            observer.assigned(&job);
        }
        answered_elsewhere(observer, n.into(), (n, n), at + SECOND);
    };
    // Kept; gone to the other shard; back at another node, of which nothing can be said.
    for (n, node) in [(0, Some(0)), (1, Some(0)), (2, None), (3, Some(1))] {
        job(&mut observer, n, node);
    }
    observer.judge_misses(NEVER);
    let affinity = &observer.affinity;
    assert_eq!((affinity.expected, affinity.kept, affinity.violated), (2, 1, 0), "{affinity:?}");
    assert_eq!(affinity.fallback["another shard"], 1);
    assert_eq!(observer.broken_segments.count, 1);
}
