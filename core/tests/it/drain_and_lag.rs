//! Speech that is under way when the process stops, and speech that is heard late.

use lingua_core::finalize::{Chunk, Reason};
use lingua_core::instance::{
    Ending, Input, InstanceConfig, Output, Refused, Setup, WholeUtterance,
};
use lingua_core::*;

use crate::fixture::{Solo, caps, pair};

const SESSION: SessionId = SessionId(9);

fn talking() -> Solo {
    let mut solo = Solo::new(InstanceConfig::default(), StateConfig::default());
    solo.node("a", &caps("zh", "en"), 8);
    solo.handle(Input::SessionOpened(SESSION, setup()));
    solo
}

fn setup() -> Setup {
    Setup::new(&[Needs::pair(pair("zh:en"))])
}

fn chunk(is_final: bool) -> Input {
    let audio = Micros::millis(100);
    Input::Chunk(SESSION, Chunk { bytes: 400, audio, is_final, sent: Micros::ZERO })
}

/// Indexes of the utterances that went to a node, and of those that were refused for the drain.
fn fates(out: &[Output]) -> (Vec<u32>, Vec<u32>) {
    let mut fates = (Vec::new(), Vec::new());
    for output in out {
        match output {
            Output::Assign(assign) => fates.0.push(assign.request.index),
            Output::Final(last) if last.ending == Ending::Refused(Refused::Draining) => {
                fates.1.push(last.request.index);
            }
            _ => {}
        }
    }
    fates
}

#[test]
fn what_has_begun_before_the_drain_is_done_and_nothing_after_it() {
    let mut solo = talking();
    // The first is in its hangover, the second still spoken.
    let mut out = solo.handle(chunk(true));
    out.extend(solo.handle(chunk(false)));
    assert_eq!(solo.instance.owed(), 2);
    solo.instance.drain();
    solo.instance.drain();
    for _ in 0..2 {
        out.extend(solo.handle(chunk(true)));
    }
    let (index, sent) = (7, Micros::ZERO);
    let whole = WholeUtterance { index, setup: setup(), speech: sent, bytes: 400, sent };
    out.extend(solo.handle(Input::Utterance(SESSION, whole)));
    out.extend(solo.wait(Micros::secs(1)));
    let (done, refused) = fates(&out);
    assert_eq!(done, [0, 1]);
    // The refusal of the third waits for its turn.
    assert_eq!((refused, solo.instance.owed()), (vec![7], 2));
}

#[test]
fn a_session_that_opens_in_the_drain_gets_nothing_done() {
    let mut solo = talking();
    solo.instance.drain();
    solo.handle(Input::SessionClosed(SESSION));
    solo.handle(Input::SessionOpened(SESSION, setup()));
    let mut out = solo.handle(chunk(true));
    out.extend(solo.wait(Micros::secs(1)));
    assert_eq!(fates(&out), (vec![], vec![0]));
    assert_eq!(solo.instance.owed(), 0);
}

/// Reasons of the utterances that end when a chunk comes after 3.5 s and one more 100 ms later.
fn ends_over_a_gap(late: &[Micros]) -> Vec<Option<Reason>> {
    let mut solo = talking();
    let mut out = solo.handle(chunk(false));
    for &late in late {
        solo.handle(Input::Late(late));
    }
    out.extend(solo.wait(Micros::millis(3_500)));
    out.extend(solo.handle(chunk(true)));
    out.extend(solo.wait(Micros::secs(1)));
    let opened = |output: &Output| match output {
        Output::Opened(opened) => Some(opened.reason),
        _ => None,
    };
    out.iter().filter_map(opened).collect()
}

#[test]
fn the_lag_of_the_process_is_no_pause_of_the_speaker() {
    let (pause, end) = (Some(Reason::Pause), Some(Reason::IsFinal));
    let (none, short, long) = (Micros::ZERO, Micros::millis(400), Micros::millis(600));
    assert_eq!(ends_over_a_gap(&[]), [pause, end]);
    assert_eq!(ends_over_a_gap(&[short]), [pause, end]);
    assert_eq!(ends_over_a_gap(&[long]), [end]);
    assert_eq!(ends_over_a_gap(&[long, none]), [pause, end]);
}
