//! The other instances: who is there, and what is kept up beside the hub while the state is on
//! Redis.

mod presence;
mod standing;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lingua_core::{InstanceId, Micros, Snapshot};
use lingua_store::{Layout, Replied, Store, StoreClock, StoreConfig};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::clock::{Clock, unix_ms};
use crate::event::Event;
use crate::hub::{Home, Remote};
use crate::{Config, ServeError};

pub(crate) use standing::Standing;

/// Steps under way at once, and as many that wait.
const BACKLOG: usize = 4_096;

/// What an instance says of itself to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// Where it is reached.
    pub(crate) address: String,
    pub(crate) hostname: String,
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) started_at_ms: i64,
}

/// To the hub, from what is beside it.
#[derive(Debug)]
pub(crate) enum Shared {
    /// This instance was no member: whatever the store knew of its nodes is gone. It is present
    /// again until then; `lost` where the store has lost everything.
    Rejoined { until: Micros, lost: bool },
    /// What is to be ranked by.
    Snapshot(Box<Snapshot>),
}

/// An instance that shares its state and is a member.
pub(crate) struct Joined {
    store: Store,
    id: InstanceId,
    clock: Clock,
    standing: Standing,
    about: Arc<str>,
    secret: String,
    announce: (mpsc::Sender<()>, mpsc::Receiver<()>),
}

impl Joined {
    /// Joins the instances that share the store; the number that it gives goes into `config`.
    ///
    /// # Errors
    /// The store cannot be served, or other instances could not reach this one.
    pub(crate) async fn new(
        config: &mut Config,
        listens: SocketAddr,
        clock: Clock,
        secret: String,
    ) -> Result<Self, ServeError> {
        let address = match &config.redis.advertise {
            Some(address) => address.as_str().to_owned(),
            None if listens.ip().is_unspecified() => return Err(ServeError::Advertise(listens)),
            None => listens.to_string(),
        };
        if config.redis.addresses.len() > 1 && !config.redis.cluster {
            return Err(ServeError::SeveralServers(config.redis.addresses.len()));
        }
        config.instance.cluster = config.redis.cluster;
        let timeout = Duration::from_micros(config.instance.store_timeout.0);
        let store = Store::connect(StoreConfig {
            urls: config.redis.addresses.clone(),
            layout: if config.redis.cluster { Layout::Cluster } else { Layout::OneServer },
            state: config.state.clone(),
            timeout,
            clock: StoreClock::Store,
        });
        let store = store.await?;
        let id = store.new_instance().await?;
        config.instance.id = id;
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let about = About {
            address,
            hostname: hostname.map_or_else(|_| "unknown".into(), |name| name.trim().to_owned()),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at_ms: unix_ms(),
        };
        let about = serde_json::to_string(&about).expect("string keys into memory").into();
        let secret = store.secret(&secret).await?.stands;
        let standing = Standing::default();
        let this = Self { store, id, clock, standing, about, secret, announce: mpsc::channel(1) };
        let asked = clock.now();
        this.store.present(id, &this.about, presence::LIFE).await?;
        this.standing.lasts(asked + Micros(presence::LIFE.as_micros() as u64));
        Ok(this)
    }

    /// The way to the state for the hub, and where the replies come.
    pub(crate) fn home(&self, config: &Config) -> (Home, mpsc::Receiver<Replied>) {
        let (sender, replies) = mpsc::channel(BACKLOG);
        let handle = self.store.clone().drive(BACKLOG, sender);
        let (standing, announce) = (self.standing.clone(), self.announce.0.clone());
        let remote = Remote::new(handle, standing, announce, &config.state);
        (Home::Redis(Box::new(remote)), replies)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Starts what is to be kept up; it ends with the set.
    pub(crate) fn start(self, hub: mpsc::Sender<Event>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let (changes, changed) = mpsc::channel(1);
        let (nudge, nudged) = mpsc::channel(1);
        tasks.spawn(self.store.clone().hear_changes(changes));
        tasks.spawn(presence::announce(self.store.clone(), self.announce.1));
        tasks.spawn(presence::copy(self.store.clone(), self.clock, hub.clone(), changed, nudge));
        let keeper = presence::Keeper {
            store: self.store,
            id: self.id,
            clock: self.clock,
            standing: self.standing,
            about: self.about,
            secret: self.secret,
            hub,
        };
        tasks.spawn(keeper.run(nudged));
        tasks
    }
}

/// Leaves for good: the nodes and headers of this instance are cleared up.
pub(crate) async fn leave(store: &Store, id: InstanceId, clock: Clock) {
    if let Err(error) = presence::clear_up(store, id, clock.now(), true).await {
        tracing::warn!(instance = id.0, %error, "left without clearing up: another instance will");
    }
}
