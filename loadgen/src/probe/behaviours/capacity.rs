//! How many jobs a node has at once.

use std::time::Duration;

use crate::probe::client::End;
use crate::probe::stage::Stage;
use crate::probe::talk::{Pattern, talk};
use crate::probe::verdict::{Outcome, fail};
use crate::probe::worker::Worker;

const NODES: usize = 5;
const MAX_JOBS: u16 = 2;
const SERVICE: Duration = Duration::from_millis(150);

pub(super) async fn capacity_kept(stage: &Stage) -> Outcome {
    let nodes = stage.fleet(NODES, MAX_JOBS).await?;
    let workers: Vec<Worker> =
        nodes.into_iter().map(|node| Worker::start(node, MAX_JOBS, SERVICE)).collect();
    let per_second = NODES as f64 * f64::from(MAX_JOBS) / SERVICE.as_secs_f64() / 2.0;
    let every = Duration::from_secs(1);
    let utterances = (stage.times.load.as_secs_f64() / every.as_secs_f64()).ceil() as usize;
    let sessions = per_second.round() as usize;
    let patience = stage.times.prompt;
    talk(stage, Pattern { sessions, utterances, every, patience }).await?;
    let (mut jobs, mut peak, mut oversold) = (0, 0, 0);
    for worker in workers {
        let work = worker.stop().await?;
        jobs += work.jobs.len();
        peak = peak.max(work.peak);
        oversold += work.oversold;
    }
    if oversold > 0 {
        fail!(
            "{oversold} of {jobs} jobs came to a full node; one had {peak} of {MAX_JOBS} at once"
        );
    }
    if jobs < sessions * utterances / 2 {
        fail!("of {} utterances only {jobs} came to a node", sessions * utterances);
    }
    Ok(format!("{jobs} jobs, at most {peak} of {MAX_JOBS} at a node"))
}

pub(super) async fn full_nodes_refuse(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(1).await?;
    let mut first = stage.client().await?;
    first.say(&[1]).await;
    let job = node.job(stage.times.prompt).await?;
    let mut second = stage.client().await?;
    second.say(&[2]).await;
    // Twice the hangover is enough for a scheduler that would send it.
    let refused = second.end_of(0, Duration::from_secs(1)).await.ok();
    if let Some(End::Result(text)) = &refused {
        fail!("no slot was free, yet the session got the result `{text}`");
    }
    if node.any_job(Duration::ZERO).await.is_some() {
        fail!("a node with max_jobs 1 got a second job");
    }
    node.answer(&job, "first").await;
    first.result(0, stage.times.prompt).await?;
    if refused.is_some() {
        // What becomes of a refused session is another behaviour's.
        second = stage.client().await?;
        second.say(&[3]).await;
    }
    let job = node.job(stage.times.prompt).await?;
    node.answer(&job, "second").await;
    second.result(0, stage.times.prompt).await?;
    Ok(match refused {
        Some(end) => format!("refused with {end}, then the free slot was used"),
        None => "waited for the slot".into(),
    })
}
