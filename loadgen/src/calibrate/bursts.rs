//! What one message of each kind costs the scheduler: many of a kind at once, and the processor
//! time that it took for them. Of a scheduler elsewhere the time on the clock stands instead,
//! which is too much where something else was the limit.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep};

use super::peers::{PASSING, Peer, WORKING};
use super::{CalibrateError, Each};
use crate::process::Process;
use crate::target::Address;

const NODES: usize = 20;
const REGISTRATIONS: usize = 200;
const HEARTBEATS: u32 = 500;
/// Until a node's first heartbeat has been heard.
const HEARD: Duration = Duration::from_millis(500);
const RESULTS: u64 = 5_000;
/// So many, and then a pause, where only processor time counts.
const BREATH: u64 = 64;
const PAUSE: Duration = Duration::from_millis(1);
const SESSIONS: usize = 50;
/// Of 10 ms each, so that no utterance reaches the longest that is allowed.
const CHUNKS: u32 = 200;
const LARGE_CHUNKS: u32 = 40;
const SMALL: usize = 320;
const LARGE: usize = 8 * 1_024;
const JOBS: u64 = 60;

/// What each kind of message costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub(super) register: Each,
    pub(super) heartbeat: Each,
    pub(super) chunk: Each,
    pub(super) kib: Each,
    pub(super) result: Each,
    pub(super) dispatch: Each,
}

/// Counts time from one moment on.
struct Meter {
    process: Option<Process>,
    cpu: Duration,
    started: Instant,
}

impl Meter {
    async fn start(process: Option<Process>) -> Self {
        if let Some(process) = process {
            process.quiet().await;
        }
        let cpu = process.and_then(|process| process.cpu().ok()).unwrap_or_default();
        Self { process, cpu, started: Instant::now() }
    }

    /// Time per message since then.
    async fn each(self, count: u64) -> Each {
        let elapsed = self.started.elapsed();
        let time = match self.process {
            Some(process) => {
                process.quiet().await;
                process.cpu().unwrap_or_default().saturating_sub(self.cpu)
            }
            None => elapsed,
        };
        Each { time: time.div_f64(count as f64), count }
    }
}

pub(super) async fn measure(
    target: &Address,
    process: Option<Process>,
) -> Result<Costs, CalibrateError> {
    let register = register(target, process).await?;
    let mut only = node(target, "calibrate-0".to_owned(), WORKING).await?;
    sleep(HEARD).await;
    let result = repeated_results(target, process, &mut only).await?;
    let mut nodes = vec![only];
    for at in 1..NODES {
        nodes.push(node(target, format!("calibrate-{at}"), WORKING).await?);
    }
    sleep(HEARD).await;
    let jobs = jobs(target, process, nodes).await?;
    let heartbeat = heartbeats(target, process).await?;
    let small = chunks(target, process, CHUNKS, SMALL).await?;
    let large = chunks(target, process, LARGE_CHUNKS, LARGE).await?;
    let more = large.time.saturating_sub(small.time);
    let kib = Each { time: more.mul_f64(1_024.0 / (LARGE - SMALL) as f64), count: large.count };
    let share = kib.time.mul_f64(SMALL as f64 / 1_024.0);
    let chunk = Each { time: small.time.saturating_sub(share), ..small };
    // A repeated result leads to no message: those of the first are part of the dispatch.
    let dispatch = Each { time: jobs.time.saturating_sub(result.time), ..jobs };
    Ok(Costs { register, heartbeat, chunk, kib, result, dispatch })
}

/// A node that is ready for jobs.
async fn node(
    target: &Address,
    id: String,
    pair: (&'static str, &'static str),
) -> Result<Peer, CalibrateError> {
    let mut node = Peer::node(target, id, pair).await?;
    node.register().await?;
    node.heartbeat().await?;
    Ok(node)
}

async fn register(target: &Address, process: Option<Process>) -> Result<Each, CalibrateError> {
    let mut nodes = Vec::with_capacity(REGISTRATIONS);
    for at in 0..REGISTRATIONS {
        nodes.push(Peer::node(target, format!("calibrate-r{at}"), PASSING).await?);
    }
    let meter = Meter::start(process).await;
    for node in &mut nodes {
        node.register().await?;
    }
    let each = meter.each(REGISTRATIONS as u64).await;
    for node in nodes {
        node.close().await;
    }
    Ok(each)
}

/// Nodes that beat so fast are taken for dead soon after, so nobody else needs these.
async fn heartbeats(target: &Address, process: Option<Process>) -> Result<Each, CalibrateError> {
    let mut nodes = Vec::with_capacity(NODES);
    for at in 0..NODES {
        nodes.push(node(target, format!("calibrate-h{at}"), PASSING).await?);
    }
    let meter = Meter::start(process).await;
    for _ in 0..HEARTBEATS {
        for node in &mut nodes {
            node.heartbeat().await?;
            node.drain()?;
        }
        yield_now().await;
    }
    Ok(meter.each(u64::from(HEARTBEATS) * nodes.len() as u64).await)
}

/// The result of one job, again and again: read, looked up and dropped.
async fn repeated_results(
    target: &Address,
    process: Option<Process>,
    only: &mut Peer,
) -> Result<Each, CalibrateError> {
    let mut session = Peer::session(target).await?;
    session.utterance(0, &STANDARD.encode([0; SMALL])).await?;
    let job = only.until("job_assign").await?;
    only.result(&job).await?;
    session.until("translation_result").await?;
    let meter = Meter::start(process).await;
    for at in 0..RESULTS {
        only.result(&job).await?;
        if process.is_some() && at % BREATH == 0 {
            // Each is answered, and who does not read the answers is closed.
            sleep(PAUSE).await;
        }
        only.drain()?;
        yield_now().await;
    }
    let each = meter.each(RESULTS).await;
    session.close().await;
    Ok(each)
}

/// Chunks of so many bytes, in utterances that are still open when all are in.
async fn chunks(
    target: &Address,
    process: Option<Process>,
    per_session: u32,
    bytes: usize,
) -> Result<Each, CalibrateError> {
    let mut sessions = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        sessions.push(Peer::session(target).await?);
    }
    let payload = STANDARD.encode(vec![0; bytes]);
    let meter = Meter::start(process).await;
    for seq in 0..per_session {
        for session in &mut sessions {
            session.chunk(seq, &payload).await?;
            session.drain()?;
        }
        yield_now().await;
    }
    // Its answer comes after all that was sent before it has been read.
    for session in &mut sessions {
        session.ping().await?;
    }
    let each = meter.each(u64::from(per_session) * SESSIONS as u64).await;
    for session in sessions {
        session.close().await;
    }
    Ok(each)
}

/// Whole jobs, each session one after the other.
async fn jobs(
    target: &Address,
    process: Option<Process>,
    nodes: Vec<Peer>,
) -> Result<Each, CalibrateError> {
    let mut sessions = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        sessions.push(Peer::session(target).await?);
    }
    let mut working = JoinSet::new();
    for mut node in nodes {
        working.spawn(async move {
            while let Ok(job) = node.until("job_assign").await {
                if node.result(&job).await.is_err() {
                    break;
                }
            }
        });
    }
    let payload = STANDARD.encode([0; SMALL]);
    let meter = Meter::start(process).await;
    let mut talking = JoinSet::new();
    for mut session in sessions {
        let payload = payload.clone();
        talking.spawn(async move {
            for index in 0..JOBS {
                session.utterance(index, &payload).await?;
                session.until("translation_result").await?;
            }
            Ok::<_, CalibrateError>(session)
        });
    }
    let mut done = Vec::with_capacity(SESSIONS);
    while let Some(talked) = talking.join_next().await {
        // A task of ours neither panics nor is cancelled.
        if let Ok(session) = talked {
            done.push(session?);
        }
    }
    let each = meter.each(JOBS * SESSIONS as u64).await;
    working.abort_all();
    for session in done {
        Peer::close(session).await;
    }
    Ok(each)
}
