//! The other instances: who is there, and what is kept up beside the hub while the state is on
//! Redis.

mod board;
mod chores;
mod header;
mod links;
mod page;
mod parcel;
mod post;
mod presence;
mod standing;
mod webhook;

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lingua_core::instance::Routed;
use lingua_core::{InstanceId, Micros, Snapshot};
use lingua_duties::Order;
use lingua_store::{Inbox, Layout, Member, Replied, Store, StoreClock, StoreConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::access::{Secret, SecretError};
use crate::clock::{Clock, unix_ms};
use crate::event::Event;
use crate::hub::{Abroad, Home, Remote};
use crate::{Config, DutyConfig, ServeError};
use post::Post;

pub use board::Elsewhere;
pub(crate) use board::{Board, BoardError, elsewhere};
pub(crate) use chores::{Chore, DutyFigures};
pub(crate) use links::{Caller, Dialer, FRAME_BYTES, receive};
pub(crate) use parcel::{AnswerParcel, Parcel, ToInstance};
pub(crate) use standing::Standing;
pub use webhook::{Webhook, WebhookError};

/// Messages to other instances that wait to be posted.
const POST_MAX: usize = 8_192;

/// Steps under way at once, and as many that wait.
const BACKLOG: usize = 4_096;

/// Messages of this instance for others.
pub(crate) type Outbound = mpsc::Receiver<(InstanceId, Routed)>;

/// How often figures are made, those of this instance, and where those of all go.
type Figures =
    (Duration, watch::Receiver<Arc<crate::snapshot::Snapshot>>, watch::Sender<Option<Arc<Value>>>);

/// What an instance says of itself to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// Where it is reached.
    pub(crate) address: String,
    pub(crate) hostname: String,
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) started_at_ms: i64,
    /// Where its duties are at ZooKeeper; absent: in Redis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duties_root: Option<String>,
}

/// To the hub, from what is beside it.
#[derive(Debug)]
pub(crate) enum Shared {
    /// This instance was no member: whatever the store knew of its nodes is gone. It is present
    /// again until then; `lost` where the store has lost everything.
    Rejoined { until: Micros, lost: bool },
    /// What is to be ranked by.
    Snapshot(Box<Snapshot>),
    /// Who is there. Where nobody judges, whoever is not may be on the way back.
    Members { members: Vec<Member>, judges: bool },
    /// Another instance has linked to this one.
    Met { id: InstanceId, address: String },
    /// A link is there, or is down: what was given to it is lost.
    Link { to: InstanceId, up: bool },
    /// A message of another instance.
    Header(Box<Routed>),
    /// What belongs to one.
    Parcel { from: InstanceId, parcel: Box<Parcel> },
    /// What this instance holds: the shards of rooms among it, by their tokens, are its own until
    /// then.
    Duties { figures: DutyFigures, shards: Vec<(u16, u64)>, until: Micros },
    /// A message that could not be posted.
    NotPosted(Box<Routed>),
}

/// What instances show each other. It changes where the store has lost it.
#[derive(Debug, Clone)]
pub(crate) struct Passphrase(Arc<Mutex<Secret>>);

impl Passphrase {
    fn new(text: &str) -> Result<Self, SecretError> {
        Ok(Self(Arc::new(Mutex::new(text.parse()?))))
    }

    /// One that nobody has had before.
    ///
    /// # Errors
    /// The operating system gives no random bytes.
    pub(crate) fn fresh() -> Result<String, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    pub(crate) fn get(&self) -> Secret {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, text: &str) -> Result<(), SecretError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text.parse()?;
        Ok(())
    }
}

/// An instance that shares its state and is a member.
pub(crate) struct Joined {
    store: Store,
    board: Board,
    id: InstanceId,
    clock: Clock,
    standing: Standing,
    member_since: u64,
    address: Arc<str>,
    about: Arc<str>,
    passphrase: Passphrase,
    inbox: Inbox,
    announce: (mpsc::Sender<()>, mpsc::Receiver<()>),
}

impl Joined {
    /// Joins the instances that share the store; the number that it gives goes into `config`.
    ///
    /// # Errors
    /// The store or ZooKeeper cannot be served, other instances could not reach this one, or they
    /// keep their duties elsewhere.
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
        let duties = &config.redis.duties;
        let board = Board::connect(&store, duties).await?;
        let duties_root = duties.zookeeper.as_ref().map(|place| place.root().to_owned());
        let id = store.new_instance().await?;
        config.instance.id = id;
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let about = About {
            address: address.clone(),
            hostname: hostname.map_or_else(|_| "unknown".into(), |name| name.trim().to_owned()),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at_ms: unix_ms(),
            duties_root,
        };
        let about: Arc<str> =
            serde_json::to_string(&about).expect("string keys into memory").into();
        let passphrase = Passphrase::new(&store.secret(&secret).await?.stands)?;
        let standing = Standing::default();
        let inbox = store.open_inbox(id).await?;
        let announce = mpsc::channel(1);
        let address = address.into();
        let asked = clock.now();
        let roll = store.present(id, &about, presence::LIFE).await?;
        // Only now: of two that start at the same time one sees the other.
        if let Some(other) = elsewhere(&roll.members, &config.redis.duties) {
            leave(store, id, clock).await;
            return Err(ServeError::DutiesElsewhere(other));
        }
        store.tell_changed().await?;
        standing.lasts(asked + Micros(presence::LIFE.as_micros() as u64));
        Ok(Self {
            store,
            board,
            id,
            clock,
            standing,
            member_since: roll.since,
            address,
            about,
            passphrase,
            inbox,
            announce,
        })
    }

    /// The way to the state for the hub, and where the replies come from.
    pub(crate) fn home(&self, config: &Config) -> (Home, mpsc::Receiver<Replied>) {
        let (sender, replies) = mpsc::channel(BACKLOG);
        let handle = self.store.clone().drive(BACKLOG, sender);
        let (standing, announce) = (self.standing.clone(), self.announce.0.clone());
        let remote = Remote::new(handle, standing, announce, &config.state);
        (Home::Redis(Box::new(remote)), replies)
    }

    /// The way to other instances for the hub, and what is to be posted.
    pub(crate) fn abroad(&self, hub: &mpsc::Sender<Event>, threads: &Handle) -> (Abroad, Outbound) {
        let (post, outbound) = mpsc::channel(POST_MAX);
        let (id, passphrase) = (self.id, self.passphrase.clone());
        let address = self.address.clone();
        let (hub, threads) = (hub.downgrade(), threads.clone());
        let dialer = Dialer { id, address, passphrase, hub, threads };
        (Abroad::new(id, dialer, post), outbound)
    }

    pub(crate) fn passphrase(&self) -> &Passphrase {
        &self.passphrase
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Starts what is to be kept up; it ends with the set.
    pub(crate) fn start(
        self,
        hub: mpsc::Sender<Event>,
        outbound: Outbound,
        (rules, orders): (DutyConfig, mpsc::Receiver<Order>),
        (every, own, page): Figures,
    ) -> JoinSet<()> {
        let post = Post {
            store: self.store.clone(),
            id: self.id,
            clock: self.clock,
            sequence: Arc::default(),
        };
        let mut tasks = JoinSet::new();
        let (changes, changed) = mpsc::channel(1);
        let (nudge, nudged) = mpsc::channel(1);
        tasks.spawn(self.store.clone().hear_changes(changes));
        tasks.spawn(presence::announce(self.store.clone(), self.announce.1));
        tasks.spawn(presence::copy(self.store.clone(), self.clock, hub.clone(), changed, nudge));
        tasks.spawn(post.clone().run(outbound, hub.clone()));
        let (gone, cleared) = watch::channel(Vec::new());
        tasks.spawn(chores::share(
            self.board,
            post.clone(),
            rules,
            (cleared, every),
            orders,
            hub.clone(),
        ));
        tasks.spawn(page::keep(self.store.clone(), self.id, every, own, page));
        tasks.spawn(post::receive(self.inbox, self.store, self.clock, hub.clone()));
        let keeper = presence::Keeper {
            post,
            standing: self.standing,
            about: self.about,
            passphrase: self.passphrase,
            member_since: self.member_since,
            steady_since: None,
            returns: false,
            gone,
            hub,
        };
        tasks.spawn(keeper.run(nudged));
        tasks
    }
}

/// Leaves for good: the nodes and headers of this instance are cleared up.
pub(crate) async fn leave(store: Store, id: InstanceId, clock: Clock) {
    // Beyond whatever it has posted: a receiver drops what it knows.
    let sequence = Arc::new(AtomicU64::new(1 << 52));
    let post = Post { store, id, clock, sequence };
    if let Err(error) = presence::clear_up(&post, id, true).await {
        tracing::warn!(instance = id.0, %error, "left without clearing up: another instance will");
    }
}
