//! Frames that are no messages, and goodbyes.

use std::time::Duration;

use tokio_tungstenite::tungstenite::Message;

use crate::probe::peer::{Ended, Frame, Order, Peer};
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

/// Nesting that no message has.
const DEEP: usize = 500;

/// No messages on any socket.
fn malformed() -> Vec<String> {
    let mut frames: Vec<String> = [
        "no json at all",
        "{\"type\":",
        "[]",
        "\"text\"",
        "{}",
        "{\"type\":17}",
        "{\"type\":\"no_such_message\"}",
    ]
    .map(str::to_owned)
    .into();
    frames.push("[".repeat(DEEP) + &"]".repeat(DEEP));
    frames
}

pub(super) async fn malformed_session(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(1).await?;
    let mut client = stage.client().await?;
    let session = client.session.clone();
    let typed = [
        "{\"type\":\"audio_chunk\"}".to_owned(),
        format!(
            "{{\"type\":\"audio_chunk\",\"session_id\":\"{session}\",\"seq\":\"one\",\
             \"is_final\":true}}"
        ),
    ];
    let count = all_answered(stage, &mut client.peer, typed).await?;
    client.say(&[1]).await;
    let job = node.job(stage.times.prompt).await?;
    node.answer(&job, "unharmed").await;
    client.result(0, stage.times.prompt).await?;
    Ok(format!("{count} frames answered with an error, then served"))
}

pub(super) async fn malformed_node(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(1).await?;
    let id = node.id.clone();
    let typed = [
        "{\"type\":\"node_heartbeat\"}".to_owned(),
        format!(
            "{{\"type\":\"job_result\",\"job_id\":7,\"attempt_id\":\"x\",\"node_id\":\"{id}\"}}"
        ),
    ];
    let count = all_answered(stage, &mut node.peer, typed).await?;
    let mut client = stage.client().await?;
    client.say(&[1]).await;
    let job = node.job(stage.times.prompt).await?;
    node.answer(&job, "unharmed").await;
    client.result(0, stage.times.prompt).await?;
    Ok(format!("{count} frames answered with an error, then served"))
}

/// Sends all that is no message, with a binary frame before it; how many there were.
async fn all_answered(
    stage: &Stage,
    peer: &mut Peer,
    typed: [String; 2],
) -> Result<usize, Trouble> {
    peer.order(Order::Send(Message::binary(vec![0xFF; 64]))).await;
    let frames: Vec<String> = malformed().into_iter().chain(typed).collect();
    for (n, text) in frames.iter().enumerate() {
        let error = |frame: &Frame| frame.is("error").then_some(());
        let shown: String = text.chars().take(40).collect();
        peer.order(Order::Send(Message::text(text.clone()))).await;
        let what = format!("the error for frame {} (`{shown}`)", n + 1);
        // Other errors than for this frame cannot come: nothing else is under way here.
        peer.wait(&what, stage.times.prompt, error).await?;
    }
    Ok(frames.len())
}

pub(super) async fn close_answered(stage: &Stage) -> Outcome {
    let client = stage.client().await?.peer;
    let node = stage.node(1).await?.peer;
    for mut peer in [client, node] {
        peer.order(Order::Close).await;
        match peer.end(Duration::from_secs(5)).await {
            Some(Ended::Closed(_)) => {}
            Some(Ended::Dropped) => fail!("{}'s close frame was not answered", peer.name()),
            None => fail!("{}'s socket did not end", peer.name()),
        }
    }
    Ok("both sockets answered".into())
}
