//! Where utterances end, and that nothing between them is lost.

use crate::probe::client::Client;
use crate::probe::node::Node;
use crate::probe::peer::pause;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

pub(super) async fn late_chunk(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(8).await?;
    let mut client = stage.client().await?;
    client.chunks(&[1, 2]).await;
    pause(stage.times.pause).await;
    client.chunks(&[3]).await;
    // Within the pause rule the rest follows; a scheduler that splits would have done so by now.
    pause(stage.times.pause / 6).await;
    client.say(&[4, 5]).await;
    let first = node.job(stage.times.cut).await?;
    let second = node.job(stage.times.prompt).await?;
    let (first, second) = (first.tags(), second.tags());
    if (first.as_slice(), second.as_slice()) != (&[1, 2], &[3, 4, 5]) {
        fail!("spoken 1 2, pause, 3 4 5; the utterances hold {first:?} and {second:?}");
    }
    Ok("spoken 1 2, pause, 3 4 5: two utterances, cut at the pause".into())
}

pub(super) async fn close_with_audio(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(8).await?;
    let mut client = stage.client().await?;
    client.chunks(&[1, 2, 3]).await;
    client.close_session().await;
    arrives(&mut node, stage, &[1, 2, 3]).await?;
    // Web clients do not say session_close: they close their socket.
    let mut client = stage.client().await?;
    client.chunks(&[4, 5, 6]).await;
    close_socket(client).await;
    arrives(&mut node, stage, &[4, 5, 6]).await?;
    Ok("all audio reached the node, after session_close and after a closed socket".into())
}

pub(super) async fn close_in_hangover(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(8).await?;
    let mut client = stage.client().await?;
    client.say(&[1, 2]).await;
    client.close_session().await;
    arrives(&mut node, stage, &[1, 2]).await?;
    let mut client = stage.client().await?;
    client.say(&[3, 4]).await;
    close_socket(client).await;
    arrives(&mut node, stage, &[3, 4]).await?;
    Ok("the utterance reached the node, after session_close and after a closed socket".into())
}

async fn close_socket(mut client: Client) {
    client.peer.order(crate::probe::peer::Order::Close).await;
    client.peer.end(std::time::Duration::from_secs(5)).await;
}

/// All of these chunks come to the node, in one job or several.
async fn arrives(node: &mut Node, stage: &Stage, wanted: &[u8]) -> Result<(), Trouble> {
    let mut heard = Vec::new();
    while heard.len() < wanted.len() {
        let Some(job) = node.any_job(stage.times.cut).await else {
            fail!("of the chunks {wanted:?} the node got {heard:?}");
        };
        node.answer(&job, "closed").await;
        heard.extend(job.tags());
    }
    if heard != wanted {
        fail!("of the chunks {wanted:?} the node got {heard:?}");
    }
    Ok(())
}
