//! Which node a job goes to.

use std::time::Duration;

use crate::probe::client::Client;
use crate::probe::node::{Job, Node, next_job};
use crate::probe::speech::Codec;
use crate::probe::stage::Stage;
use crate::probe::talk::{Pattern, talk};
use crate::probe::verdict::{Outcome, Trouble, fail};
use crate::probe::worker::Worker;

/// Nodes over which jobs are spread, and the largest chi-square that chance reaches once in a
/// million runs with one degree of freedom less.
const SKEW_NODES: usize = 6;
const CHI_SQUARE: f64 = 35.9;

/// A burst of so many jobs piles up when one of four nodes has so many of them: chance does that
/// once in 100,000 runs.
const BURST_NODES: usize = 4;
const BURST: u8 = 12;
const PILE: usize = 11;

/// Enough nodes that following one by chance, three times, is rare: once in 512 runs.
const AFFINITY_NODES: usize = 8;
const FOLLOWERS: usize = 3;
/// Speech, in milliseconds: a chunk, and what must have been cut by its end.
const CHUNK_MS: usize = 500;
const LONGEST_MS: usize = 40_000;

pub(super) async fn skew(stage: &Stage) -> Outcome {
    let max_jobs = 64;
    let service = Duration::from_millis(5);
    let nodes = stage.fleet(SKEW_NODES, max_jobs).await?;
    let workers: Vec<Worker> =
        nodes.into_iter().map(|node| Worker::start(node, max_jobs, service)).collect();
    // Once each: jobs of one session may follow each other, and chance counts what is independent.
    let every = Duration::from_millis(1_500);
    let patience = stage.times.prompt;
    talk(stage, Pattern { sessions: 180, utterances: 1, every, patience }).await?;
    let mut counts = Vec::new();
    for worker in workers {
        counts.push(worker.stop().await?.jobs.len());
    }
    let jobs: usize = counts.iter().sum();
    if jobs < 60 {
        fail!("of 180 utterances only {jobs} came to a node");
    }
    let mean = jobs as f64 / SKEW_NODES as f64;
    let chi: f64 = counts.iter().map(|&n| (n as f64 - mean).powi(2) / mean).sum();
    let found =
        format!("{jobs} jobs over {SKEW_NODES} idle nodes: {counts:?}, chi-square {chi:.1}");
    if chi > CHI_SQUARE {
        fail!("{found}; chance stays below {CHI_SQUARE}");
    }
    Ok(found)
}

pub(super) async fn burst_spreads(stage: &Stage) -> Outcome {
    let mut nodes = stage.fleet(BURST_NODES, BURST.into()).await?;
    let mut client = stage.client().await?;
    for tag in 1..=BURST {
        client.say(&[tag]).await;
    }
    let mut counts = vec![0; nodes.len()];
    for _ in 0..BURST {
        // Not answered, so that a node that was chosen is not idle any more.
        let (at, _) = next_job(&mut nodes, stage.times.prompt, |_| true).await?;
        counts[at] += 1;
    }
    if counts.iter().any(|&count| count >= PILE) {
        fail!("{BURST} jobs of one session over {BURST_NODES} idle nodes: {counts:?}");
    }
    Ok(format!("{BURST} jobs of one session over {BURST_NODES} idle nodes: {counts:?}"))
}

pub(super) async fn affinity(stage: &Stage) -> Outcome {
    let mut nodes = stage.fleet(AFFINITY_NODES, 4).await?;
    let mut client = stage.client().await?;
    let mut first = None;
    for follower in 0..=FOLLOWERS {
        let (at, job) = endless(&mut client, &mut nodes).await?;
        if !job.is("is_max_duration_triggered") && !job.is("is_timeout_triggered") {
            fail!("endless speech was cut without is_max_duration_triggered");
        }
        nodes[at].answer(&job, "part").await;
        let (of, name) = (*first.get_or_insert(at), |n: usize| nodes[n].peer.name().to_owned());
        if of != at {
            fail!("the first part went to {}, part {} to {}", name(of), follower + 1, name(at));
        }
    }
    Ok(format!("{} parts of one speech at one of {AFFINITY_NODES} idle nodes", FOLLOWERS + 1))
}

/// Speech goes on until it is cut and its job is at a node.
async fn endless(client: &mut Client, nodes: &mut [Node]) -> Result<(usize, Job), Trouble> {
    // Sent as fast as it goes; beyond the documented 20 s a scheduler gets a moment each time.
    let chunk = Codec::Opus.chunk(1, CHUNK_MS);
    for spoken_ms in (CHUNK_MS..=LONGEST_MS).step_by(CHUNK_MS) {
        client.send(&chunk, false).await;
        let wait = if spoken_ms < 20_000 { Duration::ZERO } else { Duration::from_millis(400) };
        if let Ok(job) = next_job(nodes, wait, |_| true).await {
            return Ok(job);
        }
    }
    fail!("{} s of speech were not cut", LONGEST_MS / 1_000)
}
