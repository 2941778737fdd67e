//! Nodes that die, fall silent or come twice.

use std::time::Duration;

use tokio::time::Instant;

use crate::probe::client::End;
use crate::probe::node::{Node, NodeLangs, next_job};
use crate::probe::peer::{Frame, Order, pause};
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, fail};

pub(super) async fn node_dies(stage: &Stage) -> Outcome {
    let mut doomed = stage.one_node(4).await?;
    let mut clients = Vec::new();
    for tag in 1..=3 {
        let mut client = stage.client().await?;
        client.say(&[tag]).await;
        doomed.job(stage.times.prompt).await?;
        clients.push(client);
    }
    // Another node, for whoever dispatches again.
    let mut heir = stage.node(4).await?;
    doomed.peer.order(Order::Drop).await;
    let died = Instant::now();
    let mut ends: Vec<Option<End>> = vec![None; clients.len()];
    while died.elapsed() < stage.times.settle && ends.contains(&None) {
        if let Some(job) = heir.any_job(Duration::from_millis(100)).await {
            heir.answer(&job, "by the other node").await;
        }
        for (client, end) in clients.iter_mut().zip(&mut ends) {
            if end.is_none() {
                *end = client.end_of(0, Duration::ZERO).await.ok();
            }
        }
    }
    let count = |wanted: fn(&Option<End>) -> bool| ends.iter().filter(|end| wanted(end)).count();
    let results = count(|end| matches!(end, Some(End::Result(_))));
    match count(Option::is_none) {
        0 => {
            let others = ends.len() - results;
            Ok(format!("{results} done by the other node, {others} told as errors"))
        }
        open => fail!("{open} of {} jobs of the dead node had no end", ends.len()),
    }
}

pub(super) async fn node_never_answers(stage: &Stage) -> Outcome {
    let mut nodes = stage.fleet(2, 4).await?;
    let mut client = stage.client().await?;
    client.say(&[1]).await;
    let (first, job) = next_job(&mut nodes, stage.times.prompt, |_| true).await?;
    let (second, again) =
        next_job(&mut nodes, stage.times.settle, |job| job.session == client.session).await?;
    if again.attempt <= job.attempt || second == first {
        fail!("attempt {} came to {}", again.attempt, nodes[second].peer.name());
    }
    if again.speech != job.speech {
        fail!("attempt {} has other audio than attempt {}", again.attempt, job.attempt);
    }
    let cancelled =
        |frame: &Frame| (frame.is("job_cancel") && frame.value["job_id"] == *job.id).then_some(());
    nodes[first].peer.wait("the job_cancel", stage.times.prompt, cancelled).await?;
    nodes[second].answer(&again, "at last").await;
    client.result(0, stage.times.prompt).await?;
    let after = (again.at - job.at).as_secs_f64();
    Ok(format!("after {after:.1} s cancelled, attempt {} at the other node", again.attempt))
}

pub(super) async fn heartbeats_stop(stage: &Stage) -> Outcome {
    let mut silent = stage.one_node(8).await?;
    silent.stop_heartbeat().await;
    pause(stage.times.presence).await;
    let mut other = stage.one_node(8).await?;
    for n in 1..=8 {
        let mut client = stage.client().await?;
        client.say(&[n]).await;
        let Some(job) = other.any_job(stage.times.prompt).await else {
            fail!("job {n} did not come to the node that has heartbeats");
        };
        other.answer(&job, "alive").await;
        client.result(0, stage.times.prompt).await?;
    }
    match silent.any_job(Duration::ZERO).await {
        Some(_) => fail!("the node without heartbeats got a job"),
        None => Ok(format!(
            "{} s after the last heartbeat the node got none of 8 jobs",
            stage.times.presence.as_secs()
        )),
    }
}

pub(super) async fn node_id_twice(stage: &Stage) -> Outcome {
    let langs = NodeLangs::new(&[&stage.langs[0]], &[&stage.langs[1]]);
    let id = stage.node_id();
    let old = Node::register(stage, &id, &langs, 1).await?;
    let mut new = Node::register(stage, &id, &langs, 1).await?;
    // The former socket may have been closed by the scheduler; if not, its node closes it now.
    pause(Duration::from_millis(300)).await;
    old.peer.order(Order::Close).await;
    pause(Duration::from_millis(300)).await;
    let mut client = stage.client().await?;
    let until = Instant::now() + stage.times.warm_up;
    for index in 0.. {
        client.say(&[1]).await;
        match new.any_job(Duration::from_secs(1)).await {
            Some(job) => {
                new.answer(&job, "newer").await;
                client.result(index, stage.times.prompt).await?;
                return Ok("the newer socket serves after the older one closed".into());
            }
            None if Instant::now() > until => break,
            None => {}
        }
    }
    fail!("the newer socket got no job after the older one closed")
}
