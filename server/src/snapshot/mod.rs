//! The snapshot: how things are, made anew every few seconds, for pages, metrics and whoever asks.
//!
//! The hub copies what it knows, once per interval. Sums, rates and percentiles are reckoned here,
//! in a task of their own; a reader takes the last snapshot and asks nobody.

mod histogram;
mod pools;
mod recent;

use std::sync::Arc;
use std::time::Duration;

use lingua_core::PoolRule;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::clock::unix_ms;
use crate::event::Event;
use crate::hub::Sample;
use crate::{Config, Shared};

pub(crate) use histogram::Histogram;
pub(crate) use pools::Pool;
pub(crate) use recent::{Point, Recent};

/// How things were at one instant.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) made_at_ms: i64,
    pub(crate) instance: Arc<Identity>,
    pub(crate) draining: bool,
    pub(crate) sockets: usize,
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) sample: Sample,
    pub(crate) pools: Vec<Pool>,
    pub(crate) recent: Recent,
    pub(crate) history: Vec<Point>,
}

/// Which process this is.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Identity {
    pub(crate) instance: u16,
    pub(crate) hostname: String,
    pub(crate) pid: u32,
    pub(crate) version: &'static str,
    pub(crate) started_at_ms: i64,
}

impl Identity {
    fn of(config: &Config) -> Self {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname");
        Self {
            instance: config.instance.id.0,
            hostname: hostname.map_or_else(|_| "unknown".into(), |name| name.trim().to_owned()),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            started_at_ms: unix_ms(),
        }
    }
}

/// Makes snapshots.
#[derive(Debug)]
pub(crate) struct Snapshots {
    instance: Arc<Identity>,
    every: Duration,
    rule: PoolRule,
    recorder: recent::Recorder,
    to: watch::Sender<Arc<Snapshot>>,
}

impl Snapshots {
    /// The first one, of a server that nobody has found yet; those to come replace it.
    pub(crate) fn new(config: &Config) -> (Self, watch::Receiver<Arc<Snapshot>>) {
        let instance = Arc::new(Identity::of(config));
        let first = Snapshot {
            made_at_ms: instance.started_at_ms,
            instance: instance.clone(),
            draining: false,
            sockets: 0,
            resident_bytes: None,
            sample: Sample::default(),
            pools: Vec::new(),
            recent: Recent::default(),
            history: Vec::new(),
        };
        let (to, from) = watch::channel(Arc::new(first));
        let every = config.limits.snapshot;
        let rule = config.state.pool_rule;
        (Self { instance, every, rule, recorder: recent::Recorder::default(), to }, from)
    }

    /// Runs until the hub is gone.
    pub(crate) async fn run(mut self, shared: Arc<Shared>) {
        let mut ticks = interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(mut sample) = ask(&shared.hub).await else { return };
            let counted = shared.store.as_ref().map(|store| store.counts());
            let figures = sample.store.take();
            sample.store = figures.zip(counted).map(|(figures, counts)| figures.with(counts));
            self.recorder.take(&sample, unix_ms());
            let snapshot = Snapshot {
                made_at_ms: unix_ms(),
                instance: self.instance.clone(),
                draining: shared.is_draining(),
                sockets: shared.sockets.len(),
                resident_bytes: resident_bytes(),
                pools: pools::of(&sample, self.rule),
                recent: self.recorder.recent(),
                history: self.recorder.history(),
                sample,
            };
            self.to.send_replace(Arc::new(snapshot));
        }
    }
}

async fn ask(hub: &mpsc::Sender<Event>) -> Option<Sample> {
    let (reply, sample) = oneshot::channel();
    hub.send(Event::Sample(reply)).await.ok()?;
    sample.await.ok()
}

/// Memory of this process, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1_024)
}
