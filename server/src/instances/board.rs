//! Where the duties are kept: on the store, or at ZooKeeper.

use std::time::Duration;

use lingua_core::claim::{Event, Op, Reply};
use lingua_core::{InstanceId, Micros};
use lingua_duties::Coordinator;
use lingua_duties::zookeeper::{ZooKeeper, ZooKeeperConfig, ZooKeeperError};
use lingua_store::{Member, Store, StoreError};
use tokio::sync::mpsc;

use crate::DutyConfig;
use crate::instances::About;

/// Whoever holds a duty and dies is followed after so long.
pub(crate) const LEASE: Micros = Micros::secs(6);
/// Longest wait for ZooKeeper: there is time for another server of it where the first is silent.
const ANSWER: Duration = Duration::from_secs(5);

/// The board that all instances share.
#[derive(Clone)]
pub(crate) enum Board {
    Redis(Store),
    ZooKeeper(ZooKeeper),
}

/// Why a step was not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoardError {
    /// By Redis.
    #[error(transparent)]
    Redis(#[from] StoreError),
    /// By ZooKeeper.
    #[error(transparent)]
    ZooKeeper(#[from] ZooKeeperError),
}

impl Board {
    /// Finds out whether the board can be used.
    ///
    /// # Errors
    /// ZooKeeper does not answer, gives no authority, or not the lease.
    pub(crate) async fn connect(
        store: &Store,
        duties: &DutyConfig,
    ) -> Result<Self, ZooKeeperError> {
        let Some(place) = duties.zookeeper.clone() else {
            return Ok(Self::Redis(store.clone()));
        };
        let credentials = duties.zookeeper_login.clone();
        let config = ZooKeeperConfig { place, credentials, timeout: ANSWER };
        Ok(Self::ZooKeeper(ZooKeeper::connect_for(LEASE, config).await?))
    }
}

impl Coordinator for Board {
    type Error = BoardError;

    async fn apply(&self, now: Micros, op: Op) -> Result<Reply, BoardError> {
        match self {
            Self::Redis(store) => Ok(Coordinator::apply(store, now, op).await?),
            Self::ZooKeeper(board) => Ok(board.apply(now, op).await?),
        }
    }

    async fn hear(self, events: mpsc::Sender<Event>) {
        match self {
            Self::Redis(store) => store.hear(events).await,
            Self::ZooKeeper(board) => board.hear(events).await,
        }
    }
}

/// An instance whose duties are on another board: each of the two would be held twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    instance: InstanceId,
    root: Option<String>,
}

impl std::fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "instance {} keeps its duties ", self.instance.0)?;
        match &self.root {
            // Another instance has written it.
            Some(root) => write!(f, "at ZooKeeper under {}", root.escape_debug()),
            None => f.write_str("in Redis"),
        }
    }
}

/// Finds a member whose duties are elsewhere. The root alone decides: the servers of an ensemble
/// change.
pub(crate) fn elsewhere(members: &[Member], duties: &DutyConfig) -> Option<Elsewhere> {
    let root = duties.zookeeper.as_ref().map(|place| place.root());
    let present = members.iter().filter(|member| member.present);
    let mut told = present.filter_map(|member| {
        let about = serde_json::from_str::<About>(&member.about).ok()?;
        Some(Elsewhere { instance: member.id, root: about.duties_root })
    });
    told.find(|told| told.root.as_deref() != root)
}
