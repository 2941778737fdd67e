//! That speech is as long as it sounds.

use crate::probe::node::{Job, Node};
use crate::probe::speech::Codec;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

/// Speech that no rule may cut, in milliseconds.
const SHORT_MS: usize = 8_000;
/// Length of a chunk here, in milliseconds.
const CHUNK_MS: usize = 500;
/// Endless speech is cut somewhere between.
const CUT_MS: std::ops::RangeInclusive<usize> = 10_000..=30_000;

pub(super) async fn pcm16(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(8).await?;
    uncut(stage, &mut node, Codec::Pcm16).await?;
    Ok(format!("{} s in one job, called pcm16", SHORT_MS / 1_000))
}

pub(super) async fn opus(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(8).await?;
    uncut(stage, &mut node, Codec::Opus).await?;
    let mut client = stage.client().await?;
    let chunks = CUT_MS.end() / CHUNK_MS + 2;
    for tag in 0..chunks {
        client.send(&Codec::Opus.chunk(tag as u8 + 1, CHUNK_MS), false).await;
    }
    let job = node.job(stage.times.prompt).await?;
    let ms = Codec::Opus.duration_ms(&job.speech);
    if !CUT_MS.contains(&ms) || !job.is("is_max_duration_triggered") {
        let flag = job.is("is_max_duration_triggered");
        fail!("endless speech was cut after {ms} ms, is_max_duration_triggered {flag}");
    }
    Ok(format!("{} s in one job; endless speech cut after {ms} ms", SHORT_MS / 1_000))
}

/// Speech that is not too long makes one job with all of it.
async fn uncut(stage: &Stage, node: &mut Node, codec: Codec) -> Result<Job, Trouble> {
    let mut client = stage.client().await?;
    for tag in 0..SHORT_MS / CHUNK_MS {
        client.send(&codec.chunk(tag as u8 + 1, CHUNK_MS), false).await;
    }
    client.send(&[], true).await;
    let job = node.job(stage.times.prompt).await?;
    let ms = codec.duration_ms(&job.speech);
    if ms != SHORT_MS || !job.is("is_manual_cut") {
        fail!("of {SHORT_MS} ms of {} the first job holds {ms} ms", codec.name());
    }
    if job.frame["audio_format"] != codec.name() {
        fail!("{} is called {} in the job", codec.name(), job.frame["audio_format"]);
    }
    node.answer(&job, "long").await;
    client.result(0, stage.times.prompt).await?;
    Ok(job)
}
