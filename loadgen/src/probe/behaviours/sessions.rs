//! What a session can rely on.

use std::time::Duration;

use serde_json::json;

use crate::probe::client::End;
use crate::probe::peer::pause;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, fail};

/// From a node's heartbeat to the speech of the session that it is to serve.
const SETTLED: Duration = Duration::from_millis(100);

pub(super) async fn newcomer_serves(stage: &Stage) -> Outcome {
    let mut client = stage.client().await?;
    let mut node = stage.node(1).await?;
    pause(SETTLED).await;
    let said = client.say(&[1]).await;
    let job = node.job(stage.times.prompt).await?;
    node.answer(&job, "served").await;
    client.result(0, stage.times.prompt).await?;
    Ok(format!("job at the node after {} ms", (job.at - said).as_millis()))
}

pub(super) async fn recovers_after_no_node(stage: &Stage) -> Outcome {
    let mut client = stage.client().await?;
    client.say(&[1]).await;
    let told = client.end_of(0, stage.times.prompt).await?;
    if let End::Result(text) = told {
        fail!("there is no node, yet the session got the result `{text}`");
    }
    let mut node = stage.one_node(1).await?;
    client.say(&[2]).await;
    let job = node.job(stage.times.prompt).await?;
    node.answer(&job, "later").await;
    client.result(job.index, stage.times.prompt).await?;
    Ok(format!("told {told}, then served"))
}

pub(super) async fn silent_session(stage: &Stage) -> Outcome {
    let mut client = stage.client().await?;
    if let Some(ended) = client.peer.end(stage.times.silence).await {
        fail!("the silent session's socket was {ended}");
    }
    let mut node = stage.one_node(1).await?;
    client.say(&[1]).await;
    let job = node.job(stage.times.prompt).await?;
    node.answer(&job, "after all").await;
    client.result(0, stage.times.prompt).await?;
    Ok(format!("served after {} s of silence", stage.times.silence.as_secs()))
}

pub(super) async fn session_bound(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(4).await?;
    let mut owner = stage.client().await?;
    let mut thief = stage.client().await?;
    owner.chunks(&[1]).await;
    let stolen = owner.session.clone();
    let audio = crate::probe::speech::Codec::Opus.chunk(9, 100);
    thief.send_audio(&stolen, &audio, false).await;
    let audio_told = thief.error(stage.times.prompt).await;
    let close = json!({"type": "session_close", "session_id": stolen, "reason": "not mine"});
    thief.peer.say(close).await;
    // It may be acknowledged or refused; what counts is that the owner's session lives on.
    pause(SETTLED).await;
    owner.say(&[2]).await;
    let job = node.job(stage.times.prompt).await?;
    if job.tags() != [1, 2] {
        fail!("the utterance holds the chunks {:?}; 9 is another socket's", job.tags());
    }
    node.answer(&job, "mine").await;
    owner.result(0, stage.times.prompt).await?;
    match audio_told {
        Some(code) => Ok(format!("the other socket was told {code}")),
        None => fail!("the other socket's audio was dropped without an error"),
    }
}
