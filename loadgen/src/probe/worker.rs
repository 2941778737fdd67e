//! A node that works by itself and counts what it is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::probe::node::Node;
use crate::probe::peer::Order;
use crate::probe::verdict::{Trouble, fail};

/// A node at work.
#[derive(Debug)]
pub(super) struct Worker {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Work>,
}

/// What a node was given.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) jobs: Vec<Taken>,
    /// Most jobs at once.
    pub(super) peak: usize,
    /// Jobs that came while it had all it allows.
    pub(super) oversold: usize,
}

/// One job.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) at: Instant,
    pub(super) session: String,
    pub(super) index: u64,
}

impl Worker {
    /// Answers every job after `service`. The node allows `max_jobs` at once.
    pub(super) fn start(node: Node, max_jobs: u16, service: Duration) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(work(node, max_jobs.into(), service, stopped)) }
    }

    /// Ends the work; what is under way is not answered any more.
    pub(super) async fn stop(self) -> Result<Work, Trouble> {
        let _ = self.stop.send(());
        match self.task.await {
            Ok(work) => Ok(work),
            Err(error) => fail!("a fake node broke: {error}"),
        }
    }
}

async fn work(
    mut node: Node,
    max_jobs: usize,
    service: Duration,
    mut stopped: oneshot::Receiver<()>,
) -> Work {
    let running = Arc::new(AtomicUsize::new(0));
    let mut work = Work { jobs: Vec::new(), peak: 0, oversold: 0 };
    loop {
        let job = tokio::select! {
            job = node.any_job(Duration::from_secs(1)) => job,
            _ = &mut stopped => return work,
        };
        let Some(job) = job else { continue };
        let now = running.fetch_add(1, Ordering::Relaxed) + 1;
        work.peak = work.peak.max(now);
        work.oversold += usize::from(now > max_jobs);
        let result = job.result(&node.id, &answer(&job.session, job.index));
        work.jobs.push(Taken { at: job.at, session: job.session, index: job.index });
        let (orders, running) = (node.peer.orders(), running.clone());
        tokio::spawn(async move {
            sleep(service).await;
            // Before it is sent: the scheduler may use the slot as soon as it hears.
            running.fetch_sub(1, Ordering::Relaxed);
            let _ = orders.send(Order::Say(result)).await;
        });
    }
}

/// What a worker translates an utterance to.
pub(super) fn answer(session: &str, index: u64) -> String {
    format!("answer to {session} {index}")
}
