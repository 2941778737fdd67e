//! Latency and goodput.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::probe::client::End;
use crate::probe::peer::pause;
use crate::probe::stage::Stage;
use crate::probe::talk::{Pattern, Talk, talk};
use crate::probe::verdict::{Outcome, Trouble, fail};
use crate::probe::worker::{Taken, Worker};

/// The node of `latency-idle` gets so many jobs.
const IDLE_JOBS: u64 = 3;
/// The fleet of the other two.
const NODES: usize = 6;
const MAX_JOBS: u16 = 2;
const SERVICE: Duration = Duration::from_millis(100);
/// From one utterance of a session to its next: longer than a hangover and the work.
const EVERY: Duration = Duration::from_millis(500);
/// Of what was done at saturation, at least this share must be done at twice as much.
const KEPT: f64 = 0.85;
/// At twice saturation, slots must be busy for at least this share of the time.
const BUSY: f64 = 0.5;

pub(super) async fn latency_idle(stage: &Stage) -> Outcome {
    let mut node = stage.one_node(1).await?;
    let mut client = stage.client().await?;
    let mut worst = Duration::ZERO;
    for index in 0..IDLE_JOBS {
        pause(stage.times.idle_gap).await;
        let said = client.say(&[1]).await;
        let job = node.job(stage.times.settle).await?;
        node.answer(&job, "idle").await;
        client.result(index, stage.times.prompt).await?;
        worst = worst.max(job.at - said);
    }
    let (worst, limit) = (worst.as_millis(), stage.times.dispatch.as_millis());
    if worst > limit {
        fail!("a job was at its node {worst} ms after the last chunk, {limit} at most");
    }
    Ok(format!("{IDLE_JOBS} jobs, each at the node within {worst} ms of the last chunk"))
}

pub(super) async fn latency_under_load(stage: &Stage) -> Outcome {
    let run = load(stage, 0.5, stage.times.load).await?;
    let mut waits = run.dispatch();
    waits.sort_unstable();
    let open = run.without_end();
    let said = run.said();
    if open > 0 {
        fail!("of {said} utterances {open} had no end");
    }
    let Some(p99) = waits.get(waits.len().saturating_sub(1) * 99 / 100) else {
        fail!("of {said} utterances none came to a node");
    };
    let (p99, limit) = (p99.as_millis(), stage.times.dispatch.as_millis());
    let per_second = waits.len() as f64 / stage.times.load.as_secs_f64();
    if p99 > limit {
        fail!("at {per_second:.0} jobs/s p99 from last chunk to node is {p99} ms, {limit} at most");
    }
    Ok(format!("{per_second:.0} jobs/s, p99 from last chunk to node {p99} ms"))
}

pub(super) async fn goodput_overload(stage: &Stage) -> Outcome {
    let once = load(stage, 1.0, stage.times.load).await?.goodput();
    let run = load(stage, 2.0, stage.times.load).await?;
    let twice = run.goodput();
    let slots = per_second();
    let found = format!("{once:.0} results/s at saturation, {twice:.0} at twice as much");
    if twice < KEPT * once || twice < BUSY * slots {
        fail!("{found}; the nodes can do {slots:.0}");
    }
    match run.without_end() {
        0 => Ok(format!("{found}; the nodes can do {slots:.0}")),
        open => fail!("{found}; {open} of {} utterances had no end", run.said()),
    }
}

/// What the whole fleet can do in a second.
fn per_second() -> f64 {
    NODES as f64 * f64::from(MAX_JOBS) / SERVICE.as_secs_f64()
}

struct Load {
    talks: Vec<Talk>,
    jobs: Vec<Taken>,
    lasted: Duration,
}

impl Load {
    fn said(&self) -> usize {
        self.talks.iter().map(|talk| talk.said.len()).sum()
    }

    fn without_end(&self) -> usize {
        let open = |talk: &Talk| talk.indexes().filter(|&n| !talk.has_end(n)).count();
        self.talks.iter().map(open).sum()
    }

    fn goodput(&self) -> f64 {
        let ends = self.talks.iter().flat_map(|talk| &talk.ends);
        let results = ends.filter(|(_, end)| matches!(end, End::Result(_))).count();
        results as f64 / self.lasted.as_secs_f64()
    }

    /// From the last chunk to the job at its node.
    fn dispatch(&self) -> Vec<Duration> {
        let said: BTreeMap<(&str, u64), Instant> = self
            .talks
            .iter()
            .flat_map(|talk| {
                let session = talk.session.as_str();
                talk.indexes().zip(&talk.said).map(move |(n, at)| ((session, n), *at))
            })
            .collect();
        let wait = |job: &Taken| {
            said.get(&(job.session.as_str(), job.index)).map(|said| job.at.duration_since(*said))
        };
        self.jobs.iter().filter_map(wait).collect()
    }
}

/// Offers this share of what the fleet can do.
async fn load(stage: &Stage, share: f64, lasts: Duration) -> Result<Load, Trouble> {
    let nodes = stage.fleet(NODES, MAX_JOBS).await?;
    let workers: Vec<Worker> =
        nodes.into_iter().map(|node| Worker::start(node, MAX_JOBS, SERVICE)).collect();
    let sessions = (share * per_second() * EVERY.as_secs_f64()).round() as usize;
    let utterances = (lasts.as_secs_f64() / EVERY.as_secs_f64()).round() as usize;
    let patience = stage.times.prompt * 2;
    let pattern = Pattern { sessions, utterances, every: EVERY, patience };
    let talks = talk(stage, pattern).await?;
    let mut jobs = Vec::new();
    for worker in workers {
        jobs.extend(worker.stop().await?.jobs);
    }
    Ok(Load { talks, jobs, lasted: EVERY * utterances as u32 })
}
