//! What all tasks of a run share.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lingua_scenarios::streams::Streams;
use rustix::io::Errno;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::Profile;
use crate::ledger::{Kind, Ledger};
use crate::observer::Observer;
use crate::pacer::{Clock, Nanos, Pacer};
use crate::shard::Shard;
use crate::socket::{ConnectError, Socket};
use crate::target::{Address, Addresses};

/// Handshakes at once: a scheduler's backlog is short.
const HANDSHAKES: usize = 64;
/// Longest wait for one.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How far the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Sockets open, nobody speaks.
    Connecting,
    /// The plan began at this instant.
    Running(Nanos),
    /// Everybody closes.
    Closing,
}

/// Over when everybody must close, or when there is no run any more.
pub(crate) async fn closing(phase: &mut watch::Receiver<Phase>) {
    let _ = phase.wait_for(|phase| *phase == Phase::Closing).await;
}

pub(crate) struct Context {
    pub(crate) pacer: Pacer,
    pub(crate) clock: Clock,
    pub(crate) streams: Streams,
    pub(crate) ledger: Ledger,
    /// How far the run is; it has as many receivers as there are tasks.
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) profile: Profile,
    /// Tags of this run, all its shards, and of no other.
    pub(crate) run: u32,
    /// Times faster than real that talkers talk.
    pub(crate) speed: f64,
    pub(crate) shard: Shard,
    /// Length of the plan.
    pub(crate) duration: Nanos,
    nodes: u32,
    sockets_per_address: u32,
    talkers: AtomicU32,
    later: AtomicU32,
    observer: Mutex<Observer>,
    addresses: Addresses,
    handshakes: Semaphore,
}

/// What a context is made of.
pub(crate) struct Setup {
    pub(crate) pacer: Pacer,
    pub(crate) streams: Streams,
    pub(crate) profile: Profile,
    pub(crate) run: u32,
    pub(crate) speed: f64,
    pub(crate) shard: Shard,
    pub(crate) duration: Nanos,
    /// Nodes of the run: sessions have their source addresses after theirs.
    pub(crate) nodes: u32,
    /// Sockets that one source address has ports for.
    pub(crate) sockets_per_address: u32,
    pub(crate) observer: Observer,
    pub(crate) addresses: Addresses,
}

impl Context {
    pub(crate) fn new(of: Setup) -> Self {
        Self {
            clock: of.pacer.clock(),
            pacer: of.pacer,
            streams: of.streams,
            ledger: Ledger::default(),
            phase: watch::Sender::new(Phase::Connecting),
            talkers: AtomicU32::new(0),
            later: AtomicU32::new(0),
            profile: of.profile,
            run: of.run,
            speed: of.speed,
            shard: of.shard,
            duration: of.duration,
            nodes: of.nodes,
            sockets_per_address: of.sockets_per_address,
            observer: Mutex::new(of.observer),
            addresses: of.addresses,
            handshakes: Semaphore::new(HANDSHAKES),
        }
    }

    /// The accounts. Never held over an await.
    pub(crate) fn observer(&self) -> MutexGuard<'_, Observer> {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instant of a talker's plan, given in microseconds.
    pub(crate) fn planned(&self, start: Nanos, us: u64) -> Nanos {
        start.saturating_add((us as f64 * 1_000.0 / self.speed) as u64)
    }

    /// The number of a talker who is there from the start, whichever shard's he is.
    pub(crate) fn next_talker(&self) -> u32 {
        self.talkers.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of a talker who comes later: no other shard gives the same.
    pub(crate) fn later_talker(&self) -> u32 {
        let present = self.talkers.load(Ordering::Relaxed);
        present + self.shard.own(self.later.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of a session in tags and traces, where no other shard's has the same.
    pub(crate) fn tagged(&self, session: u32) -> u32 {
        self.shard.own(session)
    }

    /// Opens the socket of the peer with this number, at the next instance where its own one does
    /// not let it in; absent where none does. Peers with numbers in a row go to different instances.
    pub(crate) async fn open(&self, kind: Kind, number: u32) -> Option<Socket> {
        // The semaphore is never closed.
        let _turn = self.handshakes.acquire().await;
        for address in self.addresses.of(kind, number) {
            self.ledger.requested(kind);
            match timeout(HANDSHAKE, self.open_at(address, kind, number)).await {
                Ok(Ok(socket)) => {
                    self.ledger.established(kind);
                    return Some(socket);
                }
                Ok(Err(error)) => self.ledger.failed(kind, &cause(&error)),
                Err(_) => self.ledger.failed(kind, "no answer"),
            }
        }
        None
    }

    async fn open_at(
        &self,
        address: &Address,
        kind: Kind,
        number: u32,
    ) -> Result<Socket, ConnectError> {
        let (path, number) = match kind {
            Kind::Node => ("/ws/node", number),
            Kind::Session => ("/ws/session", self.nodes.saturating_add(number)),
        };
        let source = self.source(address, number);
        Socket::connect(&format!("{}{path}", address.base), address.socket, source).await
    }

    /// Loopback has more than one address to come from.
    fn source(&self, target: &Address, number: u32) -> Option<IpAddr> {
        let [a, b, c, d] = match target.socket.ip() {
            IpAddr::V4(address) if address.is_loopback() => address.octets(),
            _ => return None,
        };
        let extra = number / self.sockets_per_address;
        let last = u8::try_from(extra).unwrap_or(u8::MAX);
        (extra > 0).then(|| Ipv4Addr::new(a, b, c, d.saturating_add(last)).into())
    }
}

/// Why a socket was not opened, in few words.
fn cause(error: &ConnectError) -> String {
    match error {
        ConnectError::Tcp { source, .. } => match source.raw_os_error() {
            Some(code) if code == Errno::MFILE.raw_os_error() => "out of descriptors".into(),
            Some(code) if code == Errno::ADDRNOTAVAIL.raw_os_error() => "out of ports".into(),
            _ => source.kind().to_string(),
        },
        ConnectError::Handshake { .. } => "no WebSocket handshake".into(),
    }
}
