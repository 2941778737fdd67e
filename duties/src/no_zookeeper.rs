//! What stands for the board at ZooKeeper in a build without it: nothing of it can be made, so
//! whoever offers it needs no other code for such a build.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use lingua_core::Micros;
use lingua_core::claim::{Event, Op, Reply};
use tokio::sync::mpsc;

use crate::Coordinator;

/// Target of what the client writes to the log.
pub const CLIENT: &str = "zookeeper_client";

/// There is no such place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {}

impl Place {
    /// The path under which the board lies.
    pub fn root(&self) -> &str {
        match *self {}
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(_: &str) -> Result<Self, PlaceError> {
        Err(PlaceError)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// Nobody comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {}

impl FromStr for Credentials {
    type Err = PlaceError;

    fn from_str(_: &str) -> Result<Self, PlaceError> {
        Err(PlaceError)
    }
}

/// Why no place at ZooKeeper can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this build has no ZooKeeper; one that has it: cargo run --release --features zookeeper -- \
     serve …"
)]
pub struct PlaceError;

/// Where the board is: nowhere.
#[derive(Debug, Clone)]
pub struct ZooKeeperConfig {
    /// Of which ensemble, and where there.
    pub place: Place,
    /// Who comes.
    pub credentials: Option<Credentials>,
    /// Longest wait for the answer to a step.
    pub timeout: Duration,
}

/// Nothing goes wrong.
#[derive(Debug, thiserror::Error)]
pub enum ZooKeeperError {}

/// There is no such board.
#[derive(Debug, Clone)]
pub enum ZooKeeper {}

impl ZooKeeper {
    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub async fn connect(config: ZooKeeperConfig) -> Result<Self, ZooKeeperError> {
        match config.place {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub async fn connect_for(_: Micros, config: ZooKeeperConfig) -> Result<Self, ZooKeeperError> {
        match config.place {}
    }
}

impl Coordinator for ZooKeeper {
    type Error = ZooKeeperError;

    async fn apply(&self, _: Micros, _: Op) -> Result<Reply, ZooKeeperError> {
        match *self {}
    }

    async fn hear(self, _: mpsc::Sender<Event>) {
        match self {}
    }
}
