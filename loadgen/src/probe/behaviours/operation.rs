//! What an operator does to a scheduler.

use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::probe::client::End;
use crate::probe::node::Node;
use crate::probe::peer::pause;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

/// Longest run of an operator's command.
const COMMAND: Duration = Duration::from_secs(60);
/// From the command's end until its effect is expected.
const EFFECT: Duration = Duration::from_millis(500);

pub(super) async fn drain(stage: &Stage) -> Outcome {
    let Some(command) = &stage.commands.drain else {
        let why = "name the command that orders the scheduler to stop with --drain";
        return Err(Trouble::NotRun(why.into()));
    };
    let mut node = stage.one_node(4).await?;
    let mut client = stage.client().await?;
    client.say(&[1]).await;
    let job = node.job(stage.times.prompt).await?;
    run(command).await?;
    pause(EFFECT).await;
    let late = late_utterance(stage).await;
    if node.any_job(Duration::from_secs(1)).await.is_some() {
        fail!("ordered to stop, it admitted another utterance");
    }
    node.answer(&job, "finished").await;
    client.result(0, stage.times.prompt).await?;
    Ok(format!("what was admitted got its result; a new session {late}"))
}

/// A new session speaks; what becomes of it.
async fn late_utterance(stage: &Stage) -> String {
    match stage.client().await {
        Err(_) => "found no socket or no session".into(),
        Ok(mut late) => {
            late.say(&[2]).await;
            match late.end_of(0, Duration::from_secs(1)).await {
                Ok(end) => format!("was told {end}"),
                Err(_) => "was told nothing within 1 s".into(),
            }
        }
    }
}

pub(super) async fn node_drain(stage: &Stage) -> Outcome {
    let mut leaving = stage.one_node(4).await?;
    let mut client = stage.client().await?;
    client.say(&[1]).await;
    let held = leaving.job(stage.times.prompt).await?;
    let drain = format!("/api/v1/nodes/{}/drain", leaving.id);
    set(stage, "PUT", &drain).await?;
    let mut staying = stage.one_node(4).await?;
    served_by(stage, &mut staying, &mut leaving).await?;
    leaving.answer(&held, "finished").await;
    client.result(0, stage.times.prompt).await?;
    set(stage, "DELETE", &drain).await?;
    set(stage, "PUT", &format!("/api/v1/nodes/{}/drain", staying.id)).await?;
    served_by(stage, &mut leaving, &mut staying).await?;
    Ok("it finished what it had, got none of 6 jobs, and serves again after the drain".into())
}

/// Changes the state of a node.
async fn set(stage: &Stage, method: &str, path: &str) -> Result<(), Trouble> {
    match stage.target.ask(method, path).await.map(|page| page.status) {
        Ok(200..300) => Ok(()),
        Ok(404 | 405) => Err(Trouble::Unsupported("it has no /api/v1/nodes/ID/drain".into())),
        Ok(401 | 403) => Err(Trouble::NotRun(format!("{path} is for the operator only"))),
        Ok(status) => fail!("{method} {path} is answered with {status}"),
        Err(error) => fail!("{error}"),
    }
}

/// A few jobs, all of them at the node that serves.
async fn served_by(stage: &Stage, serves: &mut Node, rests: &mut Node) -> Result<(), Trouble> {
    for n in 1..=6 {
        let mut client = stage.client().await?;
        client.say(&[n]).await;
        let Some(job) = serves.any_job(stage.times.prompt).await else {
            fail!("job {n} did not come to the node that is not drained");
        };
        serves.answer(&job, "served").await;
        client.result(0, stage.times.prompt).await?;
    }
    match rests.any_job(Duration::ZERO).await {
        Some(_) => fail!("the drained node got a job"),
        None => Ok(()),
    }
}

pub(super) async fn redis_restart(stage: &Stage) -> Outcome {
    let page = match stage.target.get("/api/v1/cluster").await {
        Ok(page) => page,
        Err(error) => fail!("{error}"),
    };
    let store = serde_json::from_str::<Value>(&page.body)
        .map_or(Value::Null, |cluster| cluster["store"].clone());
    if matches!(page.status, 404 | 503) || store == "embedded" {
        let said = format!("/api/v1/cluster is answered with {}, store {store}", page.status);
        return Err(Trouble::Unsupported(format!("{said}: no Redis")));
    }
    let Some(command) = &stage.commands.redis_restart else {
        let why = "name the command that restarts Redis with --redis-restart";
        return Err(Trouble::NotRun(why.into()));
    };
    let mut node = stage.one_node(4).await?;
    let mut client = stage.client().await?;
    run(command).await?;
    let until = tokio::time::Instant::now() + stage.times.warm_up;
    for index in 0.. {
        client.say(&[1]).await;
        if let Some(job) = node.any_job(Duration::from_secs(2)).await {
            node.answer(&job, "served again").await;
            client.result(job.index, stage.times.prompt).await?;
            return Ok(format!("served again, {index} utterances later"));
        }
        if let Ok(End::Result(text)) = client.end_of(index, stage.times.prompt).await {
            fail!("utterance {index} reached no node, yet got the result `{text}`");
        }
        if tokio::time::Instant::now() > until {
            break;
        }
    }
    fail!("no job within {} s after the restart", stage.times.warm_up.as_secs())
}

/// Runs what the operator named.
async fn run(command: &str) -> Result<(), Trouble> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).kill_on_drop(true);
    match timeout(COMMAND, shell.status()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => fail!("`{command}` ended with {status}"),
        Ok(Err(error)) => fail!("`{command}`: {error}"),
        Err(_) => fail!("`{command}` did not end within {} s", COMMAND.as_secs()),
    }
}
