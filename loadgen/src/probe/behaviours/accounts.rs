//! Every utterance, exactly one result, at the session that spoke it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::probe::stage::Stage;
use crate::probe::talk::{Pattern, Talk, talk};
use crate::probe::verdict::{Outcome, Trouble, fail};
use crate::probe::worker::{Worker, answer};

const SERVICE: Duration = Duration::from_millis(40);
const SESSIONS: usize = 4;
const UTTERANCES: usize = 6;

pub(super) async fn no_result_lost(stage: &Stage) -> Outcome {
    let talks = conversations(stage).await?;
    let (mut ended, mut lost) = (0, Vec::new());
    // A result that another session hears is not lost, and what a session lost whose socket was
    // ended has that cause: both are other behaviours'.
    let heard: BTreeSet<&str> = talks.iter().flat_map(Talk::texts).collect();
    for talk in &talks {
        ended += talk.indexes().filter(|&n| talk.has_end(n)).count();
        let gone = |&n: &u64| {
            let elsewhere = heard.contains(answer(&talk.session, n).as_str());
            talk.ended.is_none() && !talk.has_end(n) && !elsewhere
        };
        lost.extend(talk.indexes().filter(gone).map(|n| format!("{} {n}", talk.session)));
    }
    let said = SESSIONS * UTTERANCES;
    match lost.as_slice() {
        [] => Ok(format!("{said} utterances, {ended} ended")),
        lost => fail!("of {said} utterances {} had no end: {}", lost.len(), lost.join(", ")),
    }
}

pub(super) async fn no_result_twice(stage: &Stage) -> Outcome {
    let talks = conversations(stage).await?;
    let mut twice = Vec::new();
    for talk in &talks {
        // Of its own: what belongs to others is another behaviour's.
        let own = |n: u64| talk.results(n).filter(|text| *text == answer(&talk.session, n)).count();
        let more = talk.indexes().filter(|&n| own(n) > 1);
        twice.extend(more.map(|n| format!("{} {n}", talk.session)));
    }
    match twice.as_slice() {
        [] => Ok(format!("{} utterances, none with two results", SESSIONS * UTTERANCES)),
        twice => fail!("{} utterances had two results: {}", twice.len(), twice.join(", ")),
    }
}

pub(super) async fn own_results(stage: &Stage) -> Outcome {
    let talks = conversations(stage).await?;
    let mut wrong = Vec::new();
    for talk in &talks {
        for n in talk.indexes() {
            let others = talk.results(n).filter(|text| *text != answer(&talk.session, n));
            wrong.extend(others.map(|text| format!("{} {n} got `{text}`", talk.session)));
        }
    }
    match wrong.as_slice() {
        [] => Ok(format!("{SESSIONS} sessions, none heard another's result")),
        wrong => fail!("{} wrong results: {}", wrong.len(), wrong.join(", ")),
    }
}

pub(super) async fn no_unexplained_close(stage: &Stage) -> Outcome {
    let talks = conversations(stage).await?;
    let ended = talks
        .iter()
        .filter_map(|talk| talk.ended.map(|ended| format!("{} was {ended}", talk.session)));
    match ended.collect::<Vec<_>>().as_slice() {
        [] => Ok(format!("{SESSIONS} sockets open to the end")),
        ended => fail!("{} sockets of speaking sessions ended: {}", ended.len(), ended.join(", ")),
    }
}

/// A few sessions speak a few utterances each, and two nodes answer all.
async fn conversations(stage: &Stage) -> Result<Vec<Talk>, Trouble> {
    let max_jobs = 16;
    let nodes = stage.fleet(2, max_jobs).await?;
    let workers: Vec<Worker> =
        nodes.into_iter().map(|node| Worker::start(node, max_jobs, SERVICE)).collect();
    let every = Duration::from_millis(400);
    let patience = stage.times.prompt;
    let pattern = Pattern { sessions: SESSIONS, utterances: UTTERANCES, every, patience };
    let talks = talk(stage, pattern).await?;
    for worker in workers {
        worker.stop().await?;
    }
    Ok(talks)
}
