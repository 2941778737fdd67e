//! Accounts of a session whose utterances are heard by others, in languages of their own.

use super::*;

/// A session that is heard by three: in English, in Japanese, and in English again.
const ROOM: u32 = 1;
const ENGLISH: [u32; 2] = [0, 2];
const JAPANESE: u32 = 1;

fn room(profile: Profile) -> Observer {
    let mut observer = observer(60);
    observer.tells_speaker = profile.tells_speaker();
    let lane = |pair: &str, listeners| Lane { pair: pair.parse().unwrap(), listeners };
    let number = observer.add_session(&[lane("zh:en", 0b101), lane("zh:ja", 0b010)]);
    assert_eq!(number, ROOM);
    observer
}

/// Says one utterance of one chunk; both its jobs reach a node.
fn said(observer: &mut Observer, index: u32, at: Nanos) {
    observer
        .begin(ROOM, Segment { first: index, cut: Cut::Manual, begins: at, pace: 0, work: -1.0 });
    observer.chunk_sent(ROOM, 100, Leaving { intended: at, ready: at, now: at });
    observer.spoken(ROOM, index, at, at);
    for (lane, tgt) in ["en", "ja"].into_iter().enumerate() {
        let duty = into(observer, index, tgt, at + 210 * MS);
        assert_eq!((duty.lane, duty.buffered), (lane as u32, false));
        observer.answered(ROOM, tgt, index, at + 300 * MS);
    }
}

fn into(observer: &mut Observer, index: u32, tgt: &str, at: Nanos) -> assigned::Duty {
    observer.assigned(&Assigned {
        span: Span { session: ROOM, first: index, last: index, audio_us: 100_000 },
        tgt,
        index: index.into(),
        attempt: 1,
        node: 0,
        manual: true,
        timeout: false,
        duration: false,
        at,
    })
}

fn heard(observer: &mut Observer, ear: Ear, index: u32, frame: &str) {
    let heard: Heard<'_> = serde_json::from_str(frame).unwrap();
    let at = (u64::from(index) + 2) * SECOND;
    observer.heard(Hearing { session: ROOM, ear, life: 0, id: "s", run: RUN, at }, &heard);
}

fn translated(observer: &mut Observer, ear: Ear, index: u32, tgt: &str) {
    let text = Answer { run: RUN, session: ROOM, first: index, last: index, attempt: 1, tgt };
    let frame = format!(
        r#"{{"type":"translation_result","session_id":"s","utterance_index":{index},
        "text_asr":"{text}"}}"#
    );
    heard(observer, ear, index, &frame);
}

#[test]
fn each_language_is_a_job_that_ends_with_its_last_listener() {
    let mut observer = room(Profile::Lingua);
    said(&mut observer, 0, SECOND);
    let [first, second] = ENGLISH.map(Ear::Listener);
    translated(&mut observer, first, 0, "en");
    assert_eq!((observer.open, observer.jobs.completed), (2, 0));
    translated(&mut observer, Ear::Listener(JAPANESE), 0, "ja");
    translated(&mut observer, second, 0, "en");
    let (jobs, chunks) = (&observer.jobs, observer.chunks);
    assert_eq!((jobs.offered, jobs.dispatched, jobs.completed), (2, 2, 2), "{jobs:?}");
    assert_eq!((observer.open, jobs.balance(), jobs.duplicate), (0, 0, 0));
    // One chunk, whoever hears it.
    assert_eq!((chunks.sent, chunks.in_jobs), (1, 1));
    let offered = observer.pairs.iter().map(|count| (count.pair.tgt.as_str(), count.offered));
    assert!(offered.eq([("en", 1), ("ja", 1)]));
    // Whoever hears it again hears it twice.
    translated(&mut observer, second, 0, "en");
    assert_eq!(observer.jobs.duplicate, 1);
}

#[test]
fn a_second_answer_to_one_listener_is_not_the_first_to_another() {
    let mut observer = room(Profile::Lingua);
    said(&mut observer, 0, SECOND);
    let [first, _] = ENGLISH.map(Ear::Listener);
    translated(&mut observer, first, 0, "en");
    translated(&mut observer, first, 0, "en");
    assert_eq!((observer.jobs.duplicate, observer.jobs.completed), (1, 0));
}

#[test]
fn a_result_in_another_language_is_told_and_ends_nothing() {
    let mut observer = room(Profile::Lingua);
    said(&mut observer, 0, SECOND);
    translated(&mut observer, Ear::Listener(JAPANESE), 0, "en");
    into(&mut observer, 0, "fr", 2 * SECOND);
    assert_eq!((observer.findings.wrong_language, observer.open), (2, 2));
    translated(&mut observer, Ear::Own, 0, "en");
    assert_eq!((observer.findings.wrong_session, observer.open), (1, 2));
}

#[test]
fn a_refusal_in_one_language_is_none_in_the_other() {
    let mut observer = room(Profile::Lingua);
    said(&mut observer, 0, SECOND);
    let refusal = r#"{"type":"error","code":"NO_AVAILABLE_NODE","message":"",
        "details":{"utterance_index":0,"retryable":true,"session_id":"s"}}"#;
    // The event beside it goes to who speaks and names no language.
    let event = r#"{"type":"ui_event","session_id":"s","utterance_index":0,"event":"ERROR",
        "error_code":"NO_AVAILABLE_NODE"}"#;
    heard(&mut observer, Ear::Own, 0, event);
    heard(&mut observer, Ear::Listener(JAPANESE), 0, refusal);
    for place in ENGLISH {
        translated(&mut observer, Ear::Listener(place), 0, "en");
    }
    let jobs = &observer.jobs;
    assert_eq!((jobs.completed, jobs.refused, jobs.balance()), (1, 1, 0), "{jobs:?}");
}

#[test]
fn the_deployed_scheduler_answers_who_speaks() {
    let mut observer = room(Profile::Deployed);
    said(&mut observer, 0, SECOND);
    for tgt in ["ja", "en"] {
        translated(&mut observer, Ear::Own, 0, tgt);
    }
    assert_eq!((observer.jobs.completed, observer.findings.wrong_session), (2, 0));
}

#[test]
fn all_languages_fail_with_the_socket() {
    let mut observer = room(Profile::Lingua);
    said(&mut observer, 0, SECOND);
    assert!(!observer.is_quiet(ROOM, 0));
    assert_eq!(observer.reborn(ROOM, 1, true, 2 * SECOND), 1);
    assert!(observer.is_quiet(ROOM, 0));
    let (jobs, chunks) = (&observer.jobs, observer.chunks);
    assert_eq!((jobs.failed, jobs.balance()), (2, 0), "{jobs:?}");
    assert_eq!((chunks.sent, chunks.in_jobs, chunks.in_refused), (1, 1, 0));
}
