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
mod lag;
mod ledger;
pub mod logs;
mod models;
mod profile;
mod snapshot;
mod sockets;
mod wire;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tracing::{info, warn};

pub use access::{Access, Kind, Rule, Secret, SecretError};
pub use config::{Config, Limits, RoomLimits};

use clock::Clock;
use event::Event;
use lag::Lag;
use ledger::Ledger;
use models::Models;
use snapshot::{Snapshot, Snapshots};
use sockets::Roster;

/// How often a stopping server looks whether all is answered.
const DRAIN_LOOK: Duration = Duration::from_millis(50);

/// Why a server ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The operating system gave no random bytes.
    #[error("no random bytes from the operating system: {0}")]
    Random(getrandom::Error),
    /// The listening socket failed.
    #[error("the listening socket failed: {0}")]
    Listen(#[from] io::Error),
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
    hub: mpsc::Sender<Event>,
    sockets: Roster,
    next_session: AtomicU32,
    models: Models,
    speech: Ledger,
    draining: AtomicBool,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    snapshot_reads: AtomicU64,
}

impl Shared {
    /// Whether the order to stop has come.
    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// The last snapshot, for somebody who asked.
    fn read_snapshot(&self) -> Arc<Snapshot> {
        self.snapshot_reads.fetch_add(1, Ordering::Relaxed);
        self.snapshot.borrow().clone()
    }
}

/// Serves until `shutdown` is over.
///
/// # Errors
/// The listener or the source of randomness fails, or the listener is open to other machines and
/// the sockets to anybody.
pub async fn serve(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    config.check_reach(listener.local_addr()?)?;
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(ServeError::Random)?;
    let (hub, inbox) = mpsc::channel(config.limits.inbox);
    let (clock, lag) = (Clock::start(), Lag::default());
    let measuring = tokio::spawn(lag.clone().measure(clock));
    let scheduler = tokio::spawn(hub::Hub::new(&config, clock, lag, seed).run(inbox));
    let (snapshots, snapshot) = Snapshots::new(&config);
    let limits = config.limits;
    let shared = Arc::new(Shared {
        config,
        hub,
        sockets: Roster::new(limits.sockets),
        // Not from zero: a client that outlived a restart should not meet its old name.
        next_session: AtomicU32::new(u32::from_le_bytes([seed[0], seed[1], seed[2], seed[3]])),
        models: Models::default(),
        speech: Ledger::default(),
        draining: AtomicBool::new(false),
        snapshot,
        snapshot_reads: AtomicU64::new(0),
    });
    let snapshots = tokio::spawn(snapshots.run(shared.clone()));
    let stop = drained(shared.clone(), shutdown);
    accept::accept(&listener, http::routes(shared.clone()), limits, stop).await;
    shared.sockets.close_all(limits.goodbye).await;
    snapshots.abort();
    scheduler.abort();
    measuring.abort();
    Ok(())
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
    let answered = async {
        let mut looks = tokio::time::interval(DRAIN_LOOK);
        loop {
            looks.tick().await;
            let (reply, owed) = oneshot::channel();
            let asked = shared.hub.send(Event::Drain(reply)).await.is_ok();
            if !asked || owed.await.unwrap_or(0) == 0 {
                return;
            }
        }
    };
    match timeout(shared.config.limits.drain, answered).await {
        Ok(()) => info!(instance, "drained: all is answered"),
        Err(_) => warn!(instance, "drained: what is not answered ends with its socket"),
    }
}
