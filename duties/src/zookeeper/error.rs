//! What may go wrong at ZooKeeper.

use std::time::Duration;

use lingua_core::InstanceId;
use lingua_core::claim::DutyId;
use zookeeper_client::Error as ClientError;

/// Why ZooKeeper has not carried out a step; it may have done so all the same.
#[derive(Debug, thiserror::Error)]
pub enum ZooKeeperError {
    /// No server gives a session.
    #[error("no session at ZooKeeper {servers}: {source}; check that it runs and the address")]
    Unreachable {
        /// Which servers were asked.
        servers: String,
        /// What came instead.
        source: ClientError,
    },
    /// The board must not be changed by whoever has come.
    #[error(
        "no authority over {path} at ZooKeeper: give the user:password that it was created with, \
         or set its ACL to cdrw for whoever comes"
    )]
    Denied {
        /// Which znode.
        path: String,
    },
    /// The lease would not be the session's.
    #[error(
        "ZooKeeper gives a session of {given:?} where the lease needs {needed:?}: set its \
         minSessionTimeout and maxSessionTimeout so that this lies between, or change the lease"
    )]
    SessionTime {
        /// Lease and margin.
        needed: Duration,
        /// What the server allows.
        given: Duration,
    },
    /// There was no answer in time.
    #[error("no answer from ZooKeeper within {0:?}")]
    TimedOut(Duration),
    /// Others were faster again and again.
    #[error("{path} at ZooKeeper is changed by others all the time; try again")]
    Contended {
        /// Which znode.
        path: String,
    },
    /// A session keeps one membership.
    #[error("instance {} is a member here already; give each instance a connection", .0.0)]
    Occupied(InstanceId),
    /// Only the session that holds a duty can release it.
    #[error("duty {} is held by another session; release it there", .0.0)]
    HeldElsewhere(DutyId),
    /// What came is no answer.
    #[error("{path} at ZooKeeper: the answer is of another kind than the question")]
    Unreadable {
        /// About which znode.
        path: String,
    },
    /// Anything else.
    #[error("{path} at ZooKeeper: {source}")]
    Failed {
        /// At which znode.
        path: String,
        /// What the client says.
        source: ClientError,
    },
}

impl ZooKeeperError {
    pub(super) fn at(path: &str, source: ClientError) -> Self {
        let path = path.to_owned();
        match source {
            ClientError::NoAuth => Self::Denied { path },
            source => Self::Failed { path, source },
        }
    }
}
