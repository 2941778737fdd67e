//! What a behaviour plays on: the target, languages of its own, and peers that it opens.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::private;
use crate::probe::client::Client;
use crate::probe::log::Log;
use crate::probe::node::{Node, NodeLangs, next_job};
use crate::probe::run::Commands;
use crate::probe::target::Target;
use crate::probe::times::Times;
use crate::probe::verdict::{Trouble, fail};

/// Languages of one behaviour.
pub(super) const LANGS: usize = 4;
/// How long a trial waits for its job before the next one.
const TRIAL: Duration = Duration::from_secs(2);

/// Everything that a behaviour needs.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) target: Target,
    pub(super) times: Times,
    pub(super) log: Log,
    pub(super) commands: Commands,
    /// Private languages that no other behaviour uses.
    pub(super) langs: [String; LANGS],
    run: u32,
    place: u32,
    peers: AtomicU32,
}

impl Stage {
    /// The stage of the behaviour at `place` of run number `run`.
    pub(super) fn new(
        target: Target,
        times: Times,
        commands: Commands,
        run: u32,
        place: u32,
    ) -> Self {
        let first = run.wrapping_add(place.wrapping_mul(LANGS as u32));
        let langs = std::array::from_fn(|n| private::code(first as usize + n));
        let (log, peers) = (Log::begin(), AtomicU32::new(0));
        Self { target, times, log, commands, langs, run, place, peers }
    }

    /// A name for the next peer of a kind.
    pub(super) fn name(&self, kind: &str) -> String {
        format!("{kind} {}", self.peers.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// A session of the behaviour's pair.
    pub(super) async fn client(&self) -> Result<Client, Trouble> {
        Client::open(self, &self.langs[0], &self.langs[1], &Value::Null).await
    }

    /// A node of the behaviour's pair.
    pub(super) async fn node(&self, max_jobs: u16) -> Result<Node, Trouble> {
        let langs = NodeLangs::new(&[&self.langs[0]], &[&self.langs[1]]);
        self.node_of(&langs, max_jobs).await
    }

    pub(super) async fn node_of(&self, langs: &NodeLangs, max: u16) -> Result<Node, Trouble> {
        Node::register(self, &self.node_id(), langs, max).await
    }

    /// An id that no other node has.
    pub(super) fn node_id(&self) -> String {
        let n = self.peers.load(Ordering::Relaxed);
        format!("probe-{:08x}-{}-{n}", self.run, self.place)
    }

    /// Nodes of the behaviour's pair that serve: a scheduler may take its time with new ones, and
    /// only one behaviour asks about that.
    pub(super) async fn fleet(&self, count: usize, max_jobs: u16) -> Result<Vec<Node>, Trouble> {
        let mut nodes = Vec::with_capacity(count);
        for _ in 0..count {
            nodes.push(self.node(max_jobs).await?);
        }
        self.warm_up(&mut nodes).await?;
        Ok(nodes)
    }

    /// The only node of the behaviour's pair, once it serves.
    pub(super) async fn one_node(&self, max_jobs: u16) -> Result<Node, Trouble> {
        let mut nodes = self.fleet(1, max_jobs).await?;
        match nodes.pop() {
            Some(node) => Ok(node),
            None => fail!("no node was made"),
        }
    }

    /// Sends trial utterances until a node gets one.
    pub(super) async fn warm_up(&self, nodes: &mut [Node]) -> Result<(), Trouble> {
        let until = Instant::now() + self.times.warm_up;
        while Instant::now() < until {
            let mut trial = self.client().await?;
            trial.say(&[255]).await;
            if let Ok((at, job)) = next_job(nodes, TRIAL, |_| true).await {
                nodes[at].answer(&job, "trial").await;
                // The slot is free once the scheduler has read that.
                let _ = trial.end_of(0, Duration::from_millis(200)).await;
                return Ok(());
            }
        }
        let waited = self.times.warm_up.as_secs_f64();
        fail!("no node got a job within {waited:.0} s after it registered")
    }
}
