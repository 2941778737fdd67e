//! In which order a session is answered.

use std::time::Duration;

use crate::probe::client::{Client, End, end_in};
use crate::probe::node::{Job, Node};
use crate::probe::peer::pause;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

pub(super) async fn order_with_pauses(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(8).await?;
    let mut client = stage.client().await?;
    let mut came = Vec::new();
    for tag in 1..=3 {
        client.chunks(&[tag]).await;
        if tag < 3 {
            pause(stage.times.pause).await;
        } else {
            client.send(&[], true).await;
        }
        // Some schedulers notice a pause only by the next chunk.
        let limit = if tag < 3 { Duration::ZERO } else { stage.times.cut };
        while came.len() < 3
            && let Some(job) = node.any_job(limit).await
        {
            node.answer(&job, &format!("text {}", job.index)).await;
            came.push((job.index, job.tags()));
        }
    }
    if came != [(0, vec![1]), (1, vec![2]), (2, vec![3])] {
        fail!("spoken 1, 2, 3 with pauses between; utterances and their chunks: {came:?}");
    }
    in_order(stage, &mut client, 3).await?;
    Ok("three utterances, ended by two pauses and a last chunk, answered in order".into())
}

pub(super) async fn result_order(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(8).await?;
    let mut client = stage.client().await?;
    let jobs = held(stage, &mut client, &mut node, 3).await?;
    for (job, wait) in jobs.iter().rev().zip([100, 100, 0]) {
        node.answer(job, &format!("text {}", job.index)).await;
        pause(Duration::from_millis(wait)).await;
    }
    in_order(stage, &mut client, 3).await?;
    Ok("answered 2 1 0 at the node, heard 0 1 2 by the session".into())
}

pub(super) async fn gap_rule(stage: &Stage) -> Outcome {
    let mut nodes = stage.fleet(2, 8).await?;
    let mut client = stage.client().await?;
    client.say(&[1]).await;
    client.say(&[2]).await;
    // The first utterance is answered by nobody, however often it comes.
    let mut second = None;
    while second.is_none() {
        for node in &mut nodes {
            if let Some(job) = node.any_job(Duration::from_millis(20)).await
                && job.index == 1
            {
                node.answer(&job, "text 1").await;
                second = Some(());
            }
        }
    }
    let said = tokio::time::Instant::now();
    let end = client.end_of(0, stage.times.settle).await?;
    if let End::Result(text) = end {
        fail!("nobody answered utterance 0, yet it got the result `{text}`");
    }
    let after = said.elapsed().as_secs_f64();
    let text = client.result(1, stage.times.prompt).await?;
    if text != "text 1" {
        fail!("utterance 1 got `{text}`");
    }
    Ok(format!("utterance 0 ended in {end} after {after:.1} s, then the result of 1 came"))
}

/// Jobs of so many utterances of a session, all at one node and not yet answered.
async fn held(
    stage: &Stage,
    client: &mut Client,
    node: &mut Node,
    count: u8,
) -> Result<Vec<Job>, Trouble> {
    let mut jobs = Vec::new();
    for tag in 1..=count {
        client.say(&[tag]).await;
        jobs.push(node.job(stage.times.prompt).await?);
    }
    Ok(jobs)
}

/// The session hears the results `text 0`, `text 1`, … in this order.
async fn in_order(stage: &Stage, client: &mut Client, count: u64) -> Result<(), Trouble> {
    let mut heard = Vec::new();
    while heard.len() < count as usize {
        let what = format!("result {} of {count}", heard.len() + 1);
        heard.push(client.peer.wait(&what, stage.times.prompt, end_in).await?);
    }
    let wanted = |n: u64| (n, End::Result(format!("text {n}")));
    if !heard.iter().cloned().eq((0..count).map(wanted)) {
        let heard: Vec<String> = heard.iter().map(|(n, end)| format!("{n}: {end}")).collect();
        fail!("the session heard {}", heard.join(", "));
    }
    Ok(())
}
