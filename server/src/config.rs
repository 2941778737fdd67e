//! What an operator may set.

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use lingua_core::instance::InstanceConfig;
use lingua_core::{Features, Needs, Pair, StateConfig};
use lingua_duties::zookeeper::{Credentials, Place};
use lingua_protocol::ServiceType;
use lingua_store::Address;

use crate::access::{Access, Kind, Rule};
use crate::logs::LogConfig;
use crate::profile::bits;
use crate::{ServeError, Webhook};

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Rules of the scheduling instance.
    pub instance: InstanceConfig,
    /// Rules of the shared state.
    pub state: StateConfig,
    /// The Redis that holds it; without one it is in this process.
    pub redis: RedisConfig,
    /// Concurrent jobs of a node that names no maximum, 1..=1024.
    pub max_jobs: u16,
    /// Whether jobs go only to nodes that say that recognition, translation and speech are ready.
    pub require_services: bool,
    /// What bounds peers.
    pub limits: Limits,
    /// What bounds rooms.
    pub rooms: RoomLimits,
    /// Who may open a socket, and who may see the operator's pages.
    pub access: Access,
    /// Which log lines are written.
    pub log: LogConfig,
}

/// Where the state of several instances is.
#[derive(Debug, Clone, Default)]
pub struct RedisConfig {
    /// One server, or some of a Cluster's; none: the state is in this process.
    pub addresses: Vec<Address>,
    /// Whether they are a Cluster's.
    pub cluster: bool,
    /// Where other instances reach this one; absent: where it listens.
    pub advertise: Option<HostPort>,
    /// Work that exactly one instance at a time does.
    pub duties: DutyConfig,
}

/// How many duties an instance takes, and when that is too many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DutyConfig {
    /// Instances that may die at once while the others can take all duties, from 1.
    pub tolerance: u32,
    /// Holding more than this raises an alarm, at most once in a minute.
    pub alarm_above: u32,
    /// Where an alarm is posted to, besides log and metrics.
    pub webhook: Option<Webhook>,
    /// ZooKeeper that keeps them; absent: Redis does.
    pub zookeeper: Option<Place>,
    /// Who comes there; absent: anybody may.
    pub zookeeper_login: Option<Credentials>,
}

impl Default for DutyConfig {
    fn default() -> Self {
        Self {
            tolerance: 1,
            alarm_above: 1_000,
            webhook: None,
            zookeeper: None,
            zookeeper_login: None,
        }
    }
}

/// A host, by name or address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort(String);

impl HostPort {
    /// `host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that is no host and port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write a host and a port, such as 10.0.0.7:5010 or scheduler-1:5010")]
pub struct HostPortError;

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, HostPortError> {
        let (host, port) = text.rsplit_once(':').ok_or(HostPortError)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        let fits = (1..=255).contains(&host.len()) && host.bytes().all(plain);
        match port.parse::<u16>() {
            Ok(1..) if fits => Ok(Self(text.to_owned())),
            _ => Err(HostPortError),
        }
    }
}

/// Bounds on rooms.
#[derive(Debug, Clone, Copy)]
pub struct RoomLimits {
    /// Rooms at once, at most 450,000: half of all codes, so that a code is hard to guess.
    pub rooms: usize,
    /// Members of one room, at most 1,024.
    pub members: usize,
    /// Wrong codes from one socket; beyond it the socket is closed.
    pub wrong_codes: u32,
    /// A room in which nobody spoke for this long is closed.
    pub idle: Duration,
    /// How often that is looked at.
    pub scan: Duration,
}

impl Default for RoomLimits {
    fn default() -> Self {
        Self {
            rooms: 10_000,
            members: 64,
            wrong_codes: 20,
            idle: Duration::from_secs(30 * 60),
            scan: Duration::from_secs(60),
        }
    }
}

/// Bounds on peers.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Sockets of both kinds at once.
    pub sockets: usize,
    /// Connections of one address at once. Many peers may share an address, or a proxy's.
    pub sockets_per_address: usize,
    /// Sessions of one socket.
    pub sessions_per_socket: usize,
    /// Bytes of a session's speech whose answers are owed.
    pub speech_per_session: usize,
    /// The same of all sessions; beyond it only those with little of it may speak on.
    pub speech: usize,
    /// Connections that are not sockets yet; beyond it the oldest is cut.
    pub handshakes: usize,
    /// Longest time for a request to arrive, and between two.
    pub handshake: Duration,
    /// Messages that wait for one peer to read; beyond it the peer is closed.
    pub outbox: usize,
    /// Messages that wait for the scheduler; beyond it peers are read more slowly.
    pub inbox: usize,
    /// Frames in a row that are no messages; beyond it the peer is closed.
    pub bad_frames: u32,
    /// How often a silent peer is pinged; two pings unanswered close it.
    pub ping: Duration,
    /// Longest wait for a socket's first message.
    pub first_message: Duration,
    /// Longest time that one write may take.
    pub write: Duration,
    /// Longest wait for what is under way when the server stops.
    pub drain: Duration,
    /// Longest wait after that for sockets to close.
    pub goodbye: Duration,
    /// How often pages and metrics are made anew.
    pub snapshot: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: 100_000,
            sockets_per_address: 100_000,
            sessions_per_socket: 16,
            speech_per_session: 16 << 20,
            speech: 1 << 30,
            handshakes: 4_096,
            handshake: Duration::from_secs(10),
            outbox: 256,
            inbox: 4_096,
            bad_frames: 20,
            ping: Duration::from_secs(20),
            first_message: Duration::from_secs(30),
            write: Duration::from_secs(10),
            drain: Duration::from_secs(30),
            goodbye: Duration::from_secs(5),
            snapshot: Duration::from_secs(5),
        }
    }
}

impl Config {
    /// Whether a server may listen there: nobody on another machine opens a socket without a token.
    ///
    /// # Errors
    /// The address is reached from other machines, and one kind of socket is open to anybody.
    pub fn check_reach(&self, address: SocketAddr) -> Result<(), ServeError> {
        let open = |kind: &Kind| matches!(self.access.rule(*kind), Rule::Open);
        let found = [Kind::Session, Kind::Node].into_iter().find(open);
        match found.filter(|_| !address.ip().is_loopback()) {
            Some(kind) => Err(ServeError::NoToken { address, kind }),
            None => Ok(()),
        }
    }

    /// What a job of a pair needs.
    pub(crate) fn needs(&self, pair: Pair) -> Needs {
        let services = [ServiceType::Asr, ServiceType::Nmt, ServiceType::Tts];
        let features = if self.require_services { bits(services) } else { Features::default() };
        Needs { features, ..Needs::pair(pair) }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            instance: InstanceConfig::default(),
            state: StateConfig::default(),
            redis: RedisConfig::default(),
            max_jobs: 4,
            require_services: false,
            limits: Limits::default(),
            log: LogConfig::default(),
            rooms: RoomLimits::default(),
            access: Access::default(),
        }
    }
}
