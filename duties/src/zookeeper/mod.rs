//! The board at ZooKeeper.
//!
//! A member and what it holds are ephemeral znodes of one session, so they end together; tokens are
//! the numbers that ZooKeeper gives its changes. The session lives a little longer than the lease,
//! which the instance counts by its own clock from when it asked for the renewal.

mod error;
mod hear;
mod place;
mod read;
mod session;
mod steps;
mod write;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::time::Duration;

use lingua_core::Micros;
use lingua_core::claim::{Event, Join, Membership, Op, Reply};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until, timeout};
use zookeeper_client::Acls;

use crate::Coordinator;
use session::{Own, Session};
use steps::{Steps, Wish};

pub use error::ZooKeeperError;
pub use place::{Credentials, Place, PlaceError};

/// Target of what the client writes to the log.
pub const CLIENT: &str = "zookeeper_client";

/// Where the board is, and how long to wait for it.
#[derive(Debug, Clone)]
pub struct ZooKeeperConfig {
    /// Of which ensemble, and where there.
    pub place: Place,
    /// Who comes; without it the board is everybody's.
    pub credentials: Option<Credentials>,
    /// Longest wait for the answer to a step.
    pub timeout: Duration,
}

impl ZooKeeperConfig {
    fn acls(&self) -> Acls<'static> {
        match self.credentials {
            Some(_) => Acls::creator_all(),
            None => Acls::anyone_all(),
        }
    }
}

/// The board at ZooKeeper, for one instance. Clones share its membership and take turns.
#[derive(Debug, Clone)]
pub struct ZooKeeper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    config: ZooKeeperConfig,
    // A session that is over is not used again: the next step opens another.
    session: Mutex<Option<Session>>,
    // Znodes that no board has made, by the latest view.
    strangers: AtomicUsize,
}

impl ZooKeeper {
    /// Connects, and finds out whether the board can be used.
    ///
    /// # Errors
    /// There is no answer in time, or no authority over the board.
    pub async fn connect(config: ZooKeeperConfig) -> Result<Self, ZooKeeperError> {
        let session = within(config.timeout, Session::plain(&config)).await?;
        let (session, strangers) = (Mutex::new(Some(session)), AtomicUsize::new(0));
        Ok(Self(Arc::new(Shared { config, session, strangers })))
    }

    /// The same, and finds out whether a membership of this lease can be had.
    ///
    /// # Errors
    /// As [`Self::connect`], or the server gives sessions of other lengths only.
    pub async fn connect_for(
        lease: Micros,
        config: ZooKeeperConfig,
    ) -> Result<Self, ZooKeeperError> {
        let lease = Duration::from_micros(lease.0);
        drop(within(config.timeout, Session::of_lease(&config, lease)).await?);
        Self::connect(config).await
    }
}

impl Coordinator for ZooKeeper {
    type Error = ZooKeeperError;

    async fn apply(&self, _: Micros, op: Op) -> Result<Reply, ZooKeeperError> {
        within(self.0.config.timeout, step(&self.0, op)).await
    }

    async fn hear(self, events: mpsc::Sender<Event>) {
        tokio::select! {
            () = hear::hear(&self.0.config, &events) => {}
            () = events.closed() => {}
        }
    }
}

async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, ZooKeeperError>>,
) -> Result<T, ZooKeeperError> {
    timeout(limit, answer).await.unwrap_or(Err(ZooKeeperError::TimedOut(limit)))
}

async fn step(shared: &Arc<Shared>, op: Op) -> Result<Reply, ZooKeeperError> {
    let mut slot = shared.session.lock().await;
    let slot = &mut *slot;
    slot.take_if(|session| session.is_over());
    match op {
        Op::Join(asked) => join(shared, slot, asked).await,
        Op::Renew(own, sent) => {
            let Some(session) = slot.as_mut().filter(|session| session.keeps(own)) else {
                return Ok(Reply::Ended(own));
            };
            let asked = Instant::now();
            match shared.steps(session).stands(own).await {
                Ok(true) => {
                    session.own = Some(Own { membership: own, renewed: asked });
                    Ok(Reply::Renewed(own, sent))
                }
                Err(error) if !session.is_over() => Err(error),
                Ok(false) | Err(_) => {
                    *slot = None;
                    Ok(Reply::Ended(own))
                }
            }
        }
        Op::Claim(duty, own) => {
            let Some(session) = slot.as_ref().filter(|session| session.keeps(own)) else {
                return Ok(Reply::Ended(own));
            };
            let claimed = shared.steps(session).claim(duty, own).await;
            if session.is_over() { Ok(Reply::Ended(own)) } else { claimed }
        }
        Op::Leave(own) => {
            if let Some(session) = slot.take_if(|session| session.keeps(own)) {
                session.close().await;
            }
            Ok(Reply::Ended(own))
        }
        Op::Create(duty) => shared.any(slot).await?.create(duty).await,
        Op::Remove(duty) => shared.any(slot).await?.remove(duty).await,
        Op::Release(duty, token) => shared.any(slot).await?.release(duty, token).await,
        Op::Drain { instance, force } => {
            shared.any(slot).await?.drain(instance, Wish::Drain { force }).await
        }
        Op::EndDrain(instance) => shared.any(slot).await?.drain(instance, Wish::Stay).await,
        Op::Look(cause) => shared.any(slot).await?.look(cause).await,
    }
}

impl Shared {
    fn steps<'a>(&'a self, session: &'a Session) -> Steps<'a> {
        Steps { client: &session.client, shared: self }
    }

    /// Steps that need a session, whichever.
    async fn any<'a>(&'a self, slot: &'a mut Option<Session>) -> Result<Steps<'a>, ZooKeeperError> {
        let session = match slot.take() {
            Some(session) => session,
            None => Session::plain(&self.config).await?,
        };
        Ok(self.steps(slot.insert(session)))
    }
}

/// A membership gets a session of its own, which is kept only once it is known that it has joined:
/// one whose answer was lost ends with its session.
async fn join(
    shared: &Arc<Shared>,
    slot: &mut Option<Session>,
    asked: Join,
) -> Result<Reply, ZooKeeperError> {
    let kept = slot.as_ref().and_then(|session| session.own.as_ref());
    match kept.map(|own| own.membership.instance) {
        Some(instance) if instance == asked.instance => return Ok(Reply::Duplicate),
        Some(instance) => return Err(ZooKeeperError::Occupied(instance)),
        None => {}
    }
    let lease = Duration::from_micros(asked.lease.0);
    let mut session = Session::of_lease(&shared.config, lease).await?;
    let renewed = Instant::now();
    let reply = shared.steps(&session).join(asked).await?;
    if let Reply::Joined(membership, _) = reply {
        session.own = Some(Own { membership, renewed });
        *slot = Some(session);
        tokio::spawn(end_with_lease(Arc::downgrade(shared), membership));
    }
    Ok(reply)
}

/// The client keeps a session alive by itself; this ends one whose membership nobody renews.
async fn end_with_lease(shared: Weak<Shared>, membership: Membership) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let until = {
            let mut slot = shared.session.lock().await;
            let session = slot.as_ref().filter(|session| session.keeps(membership));
            let Some(until) = session.and_then(Session::until) else { return };
            if until <= Instant::now() {
                *slot = None;
                return;
            }
            until
        };
        drop(shared);
        sleep_until(until).await;
    }
}
