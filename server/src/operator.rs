//! What an operator asks of the store on Redis, without an instance.

use std::time::Duration;

use lingua_core::claim::{self, Holder};
use lingua_core::{InstanceId, Micros, Op, Reply, StateConfig};
use lingua_duties::Coordinator;
use lingua_duties::zookeeper::ZooKeeperError;
use lingua_store::{Layout, Store, StoreClock, StoreConfig, StoreError};

use crate::instances::{Board, BoardError, Chore, Elsewhere, elsewhere};
use crate::{DutyConfig, RedisConfig};

/// Longest wait for the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why an operator got no answer.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The store cannot be served.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// ZooKeeper cannot be served.
    #[error(transparent)]
    ZooKeeper(#[from] ZooKeeperError),
    /// What was asked knows nothing of the duties.
    #[error(
        "{0}: say so by duty_zookeeper as the instances do, or ask each instance how many it holds: \
         scheduler_duties_held at its /metrics"
    )]
    Elsewhere(Elsewhere),
    /// No such instance is a member.
    #[error("no instance {0} takes part in the duties: `lingua redis duties` lists those that do")]
    NoInstance(u16),
    /// Another instance is on the drain list.
    #[error("instance {0} is on the drain list: end that first, or add --force")]
    Draining(u16),
    /// No such node is registered.
    #[error("no node {0:?} is registered: `lingua redis stats` shows how many are")]
    NoNode(String),
}

impl From<BoardError> for OperatorError {
    fn from(error: BoardError) -> Self {
        match error {
            BoardError::Redis(error) => Self::Store(error),
            BoardError::ZooKeeper(error) => Self::ZooKeeper(error),
        }
    }
}

/// The store, for an operator.
pub struct Operator {
    store: Store,
    duties: DutyConfig,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub what: &'static str,
    /// How it is.
    pub is: String,
    /// What to do about it; absent where all is well.
    pub mend: Option<&'static str>,
}

impl Operator {
    /// Connects, under the rules of the instances.
    ///
    /// # Errors
    /// The store cannot be served.
    pub async fn new(redis: &RedisConfig, rules: StateConfig) -> Result<Self, OperatorError> {
        let store = Store::connect(StoreConfig {
            urls: redis.addresses.clone(),
            layout: if redis.cluster { Layout::Cluster } else { Layout::OneServer },
            state: rules,
            timeout: PATIENCE,
            clock: StoreClock::Store,
        });
        Ok(Self { store: store.await?, duties: redis.duties.clone() })
    }

    /// Whether the store is fit for its work, as far as can be seen.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn check(&self) -> Result<Vec<Finding>, OperatorError> {
        let server = self.store.info("server").await?;
        let memory = self.store.info("memory").await?;
        let persistence = self.store.info("persistence").await?;
        let field = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.unwrap_or("unknown").to_owned()
        };
        let policy = field(&memory, "maxmemory_policy");
        let keeps = field(&persistence, "aof_enabled");
        let began = tokio::time::Instant::now();
        let copied = self.store.apply(Micros::ZERO, &Op::Snapshot).await;
        let nodes = match &copied {
            Ok(Reply::Snapshot(snapshot)) => snapshot.live.iter().flatten().count(),
            Ok(_) => 0,
            Err(error) => return Err(error.clone().into()),
        };
        let unreadable = self.store.counts().unreadable();
        let finding =
            |what, is: String, bad: bool, mend| Finding { what, is, mend: bad.then_some(mend) };
        Ok(vec![
            finding("version", field(&server, "redis_version"), false, ""),
            finding(
                "maxmemory-policy",
                policy.clone(),
                policy != "noeviction",
                "set noeviction: a full store must refuse steps, not forget leases",
            ),
            finding(
                "appendonly",
                if keeps == "1" { "yes".to_owned() } else { "no".to_owned() },
                keeps != "1",
                "set appendonly yes: else a restart ends every node's socket",
            ),
            finding(
                "nodes that cannot be read",
                unreadable.to_string(),
                unreadable > 0,
                "they are put aside when they register anew",
            ),
            finding("nodes registered", nodes.to_string(), false, ""),
            finding("read in", format!("{} ms", began.elapsed().as_millis()), false, ""),
        ])
    }

    /// What the store holds, a line each: name and value.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn stats(&self) -> Result<Vec<(String, String)>, OperatorError> {
        let roll = self.store.roll().await?;
        let ids: Vec<_> = roll.members.iter().map(|member| member.id).collect();
        let holdings = self.store.holdings(&ids).await?;
        let mut lines = Vec::new();
        for (member, (_, waiting)) in roll.members.iter().zip(&holdings.inboxes) {
            let is = if member.present { "present" } else { "gone, not yet cleared up" };
            let of = self.store.nodes_of(member.id).await?.len();
            let value = format!("{is}; {of} nodes; {waiting} headers wait; {}", member.about);
            lines.push((format!("instance {}", member.id.0), value));
        }
        lines.push(("nodes ever".to_owned(), holdings.nodes.to_string()));
        lines.push(("dead letters".to_owned(), holdings.dead_letters.to_string()));
        if let Some(bytes) = holdings.memory {
            lines.push(("memory".to_owned(), format!("{:.1} MiB", bytes as f64 / 1_048_576.0)));
        }
        Ok(lines)
    }

    /// The board of the instances.
    async fn board(&self) -> Result<Board, OperatorError> {
        let roll = self.store.roll().await?;
        match elsewhere(&roll.members, &self.duties) {
            Some(other) => Err(OperatorError::Elsewhere(other)),
            None => Ok(Board::connect(&self.store, &self.duties).await?),
        }
    }

    /// The duties among instances, a line each: name and holder; then the instances.
    ///
    /// # Errors
    /// They are elsewhere, or the board did not answer as it should.
    pub async fn duties(&self) -> Result<Vec<(String, String)>, OperatorError> {
        let look = claim::Op::Look(claim::Cause::Tick);
        let reply = self.board().await?.apply(Micros::ZERO, look).await?;
        let claim::Reply::View(_, view) = reply else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        for &(duty, holder) in &view.duties {
            let value = match holder {
                Some(Holder { instance, token }) => {
                    format!("instance {}, token {}", instance.0, token.0)
                }
                None => "nobody".to_owned(),
            };
            lines.push((Chore(duty).to_string(), value));
        }
        for member in &view.members {
            let id = member.membership.instance;
            let held =
                |(_, holder): &&(_, Option<Holder>)| holder.is_some_and(|h| h.instance == id);
            let held = view.duties.iter().filter(held).count();
            let drains = if member.draining { ", on the drain list" } else { "" };
            lines.push((format!("instance {}", id.0), format!("holds {held}{drains}")));
        }
        Ok(lines)
    }

    /// An instance hands its duties over and takes no others, or takes some again.
    ///
    /// # Errors
    /// There is no such instance, another one drains, the duties are elsewhere, or the board did not
    /// answer as it should.
    pub async fn drain_instance(
        &self,
        id: u16,
        draining: bool,
        force: bool,
    ) -> Result<(), OperatorError> {
        let instance = InstanceId(id);
        let op = match draining {
            true => claim::Op::Drain { instance, force },
            false => claim::Op::EndDrain(instance),
        };
        match self.board().await?.apply(Micros::ZERO, op).await? {
            claim::Reply::Draining(other) => Err(OperatorError::Draining(other.0)),
            claim::Reply::Unknown(_) => Err(OperatorError::NoInstance(id)),
            _ => Ok(()),
        }
    }

    /// A node gets no new jobs, or jobs again, whichever instance holds its socket. It lasts until
    /// the node registers anew.
    ///
    /// # Errors
    /// No such node is registered, or the store did not answer as it should.
    pub async fn drain(&self, name: &str, draining: bool) -> Result<(), OperatorError> {
        let node = self.store.node_named(name).await?;
        let node = node.ok_or_else(|| OperatorError::NoNode(name.chars().take(64).collect()))?;
        self.store.apply(Micros::ZERO, &Op::Drain(node, draining)).await?;
        self.store.tell_changed().await?;
        Ok(())
    }
}
