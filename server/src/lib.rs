//! The Lingua scheduler: WebSockets around the scheduling core.
//!
//! A socket is a task that parses and encodes; the hub is one task that owns the instance and its
//! state. Sockets tell the hub small typed events and take ready messages from bounded outboxes.

mod accept;
mod access;
mod clock;
mod config;
mod event;
mod http;
mod hub;
mod instances;
mod lag;
mod ledger;
pub mod logs;
mod models;
pub mod operator;
mod profile;
mod rooms;
mod snapshot;
mod sockets;
mod threads;
mod wire;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use lingua_core::{SessionId, State};
use lingua_duties::Order;
use lingua_store::Store;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

pub use access::{Access, Kind, Rule, Secret, SecretError};
pub use instances::{Elsewhere, Webhook, WebhookError};
pub use lingua_duties::zookeeper;
pub use lingua_store::Address;

pub use config::{Config, DutyConfig, HostPort, HostPortError, Limits, RedisConfig, RoomLimits};

use clock::Clock;
use event::Event;
use hub::{Home, Hub};
use instances::{Joined, Passphrase, Standing};
use lag::Lag;
use ledger::Ledger;
use snapshot::{Snapshot, Snapshots};
use sockets::Roster;
use threads::Threads;

/// How often a stopping server looks whether all is answered.
const DRAIN_LOOK: Duration = Duration::from_millis(50);

/// Orders about duties that wait.
const ORDERS_MAX: usize = 64;

/// Why a server ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The operating system gave no random bytes.
    #[error("no random bytes from the operating system: {0}")]
    Random(getrandom::Error),
    /// The operating system gave no threads.
    #[error("no threads from the operating system: {0}")]
    Threads(io::Error),
    /// The listening socket failed.
    #[error("the listening socket failed: {0}")]
    Listen(#[from] io::Error),
    /// The store on Redis cannot be served.
    #[error(transparent)]
    Store(#[from] lingua_store::StoreError),
    /// Duties cannot be kept at ZooKeeper.
    #[error(transparent)]
    ZooKeeper(#[from] zookeeper::ZooKeeperError),
    /// Duties would be held twice.
    #[error("{0}: give all instances the same duty_zookeeper, starting them when all have stopped")]
    DutiesElsewhere(Elsewhere),
    /// What instances show each other is none of ours.
    #[error("the store holds no secret of ours at lingua:v1:{{dir}}:secret: {0}")]
    Secret(#[from] SecretError),
    /// Other instances would not find this one.
    #[error("{0} is no address for other instances: set advertise to where they reach this one")]
    Advertise(SocketAddr),
    /// One server is one address.
    #[error("{0} Redis servers are named: set redis_cluster if they are a Cluster, else name one")]
    SeveralServers(usize),
    /// The log lines cannot be written.
    #[error("the log cannot be written: {0}")]
    Logs(io::Error),
    /// Other machines could open sockets without a token.
    #[error(
        "{address} is reached from other machines, and a {kind} socket needs no token: set \
         {kind}_token or {kind}_jwt_key, or listen on 127.0.0.1",
        kind = .kind.name()
    )]
    NoToken {
        /// The address.
        address: SocketAddr,
        /// The kind of socket that anybody could open.
        kind: Kind,
    },
}

/// What all socket tasks share.
struct Shared {
    config: Config,
    clock: Clock,
    hub: mpsc::Sender<Event>,
    // A queue of their own: what ends jobs never waits behind speech.
    from_sessions: mpsc::Sender<Event>,
    // Where the tasks of nodes' sockets run.
    nodes: Handle,
    sockets: Roster,
    next_session: AtomicU32,
    speech: Ledger,
    draining: AtomicBool,
    // Where the state is on Redis.
    store: Option<Store>,
    standing: Option<Standing>,
    passphrase: Option<Passphrase>,
    // To whoever keeps this instance's duties; nobody, where there are none.
    duties: mpsc::Sender<Order>,
    // The figures of all instances, where there is a page of them.
    page: watch::Receiver<Option<Arc<Value>>>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    snapshot_reads: AtomicU64,
}

impl Shared {
    /// Whether the order to stop has come.
    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// A number that no session of any instance has.
    fn new_session(&self) -> SessionId {
        let n = self.next_session.fetch_add(1, Ordering::Relaxed);
        SessionId(u64::from(self.config.instance.id.0) << 32 | u64::from(n))
    }

    /// Whether the store takes this instance for present; one without a store needs none.
    fn is_present(&self) -> bool {
        self.standing.as_ref().is_none_or(|standing| standing.holds(self.clock.now()))
    }

    /// The last snapshot, for somebody who asked.
    fn read_snapshot(&self) -> Arc<Snapshot> {
        self.snapshot_reads.fetch_add(1, Ordering::Relaxed);
        self.snapshot.borrow().clone()
    }
}

/// A server that is ready to serve.
pub struct Server {
    config: Config,
    listener: TcpListener,
    clock: Clock,
    seed: [u8; 32],
    joined: Option<Joined>,
}

impl Server {
    /// Makes ready. Where the state is on Redis this instance is a member from here on, under a
    /// number of its own.
    ///
    /// # Errors
    /// The listener is open to other machines and the sockets to anybody, the source of randomness
    /// fails, or the store cannot be served.
    pub async fn new(mut config: Config, listener: TcpListener) -> Result<Self, ServeError> {
        let address = listener.local_addr()?;
        config.check_reach(address)?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(ServeError::Random)?;
        let clock = Clock::start();
        let joined = if config.redis.addresses.is_empty() {
            None
        } else {
            let secret = Passphrase::fresh().map_err(ServeError::Random)?;
            Some(Joined::new(&mut config, address, clock, secret).await?)
        };
        Ok(Self { config, listener, clock, seed, joined })
    }

    /// The settings, with the number of this instance.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Serves until `shutdown` is over.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn run(
        self,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let Self { config, listener, clock, seed, joined } = self;
        let threads = Threads::start().map_err(ServeError::Threads)?;
        let (hub, inbox) = mpsc::channel(config.limits.inbox);
        let (from_sessions, speech) = mpsc::channel(config.limits.inbox);
        let lag = Lag::default();
        let measuring = tokio::spawn(lag.clone().measure(clock));
        let mut home = Home::Here(Box::new(State::new(config.state.clone())));
        let (mut replies, mut abroad, mut outbound) = (None, None, None);
        if let Some(joined) = &joined {
            let (remote, from_store) = joined.home(&config);
            let (others, to_others) = joined.abroad(&hub, threads.nodes());
            (home, replies) = (remote, Some(from_store));
            (abroad, outbound) = (Some(others), Some(to_others));
        }
        let store = joined.as_ref().map(|joined| joined.store().clone());
        let standing = joined.as_ref().map(|joined| joined.standing().clone());
        let scheduler =
            Hub::new(&config, home, abroad, clock, lag, seed).run(inbox, speech, replies);
        let scheduler = threads.hub().spawn(scheduler);
        let (snapshots, snapshot) = Snapshots::new(&config);
        let (limits, id) = (config.limits, config.instance.id);
        // Not from zero: a client that outlived a restart should not meet its old name.
        let first = u32::from_le_bytes([seed[0], seed[1], seed[2], seed[3]]);
        let (to_page, page) = watch::channel(None);
        let (duties, orders) = mpsc::channel(ORDERS_MAX);
        let shared = Arc::new(Shared {
            config,
            clock,
            hub: hub.clone(),
            from_sessions,
            nodes: threads.nodes().clone(),
            sockets: Roster::new(limits.sockets),
            next_session: AtomicU32::new(first),
            speech: Ledger::default(),
            draining: AtomicBool::new(false),
            store: store.clone(),
            standing,
            page,
            passphrase: joined.as_ref().map(|joined| joined.passphrase().clone()),
            duties,
            snapshot,
            snapshot_reads: AtomicU64::new(0),
        });
        let own = shared.snapshot.clone();
        let figures = (limits.snapshot, own, to_page);
        let duty_config = shared.config.redis.duties.clone();
        let beside = joined
            .zip(outbound)
            .map(|(joined, outbound)| joined.start(hub, outbound, (duty_config, orders), figures));
        let snapshots = tokio::spawn(snapshots.run(shared.clone()));
        let stop = drained(shared.clone(), shutdown);
        accept::accept(&listener, http::routes(shared.clone()), limits, stop).await;
        shared.sockets.close_all(limits.goodbye).await;
        snapshots.abort();
        scheduler.abort();
        measuring.abort();
        drop(beside);
        if let Some(store) = store {
            // The store may be away as well.
            let _ = timeout(limits.goodbye, instances::leave(store, id, clock)).await;
        }
        Ok(())
    }
}

/// Makes a server ready and serves until `shutdown` is over.
///
/// # Errors
/// As [`Server::new`] and [`Server::run`].
pub async fn serve(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    Server::new(config, listener).await?.run(shutdown).await
}

/// Waits for the order to stop, then until all that was admitted is answered, but not for ever.
async fn drained(shared: Arc<Shared>, shutdown: impl Future<Output = ()> + Send) {
    shutdown.await;
    shared.draining.store(true, Ordering::Relaxed);
    let instance = shared.config.instance.id.0;
    info!(
        instance,
        limit_s = shared.config.limits.drain.as_secs(),
        "draining: nothing new is admitted"
    );
    // Others take them over at once; else they would wait for the lease to end.
    let _ = shared.duties.try_send(Order::Leave);
    let answered = async {
        loop {
            let (reply, owed) = oneshot::channel();
            // Behind what sessions have sent before: it is admitted, so it is answered.
            let asked = shared.from_sessions.send(Event::Drain(reply)).await.is_ok();
            if !asked || owed.await.unwrap_or(0) == 0 {
                return;
            }
            sleep(DRAIN_LOOK).await;
        }
    };
    match timeout(shared.config.limits.drain, answered).await {
        Ok(()) => info!(instance, "drained: all is answered"),
        Err(_) => warn!(instance, "drained: what is not answered ends with its socket"),
    }
}
