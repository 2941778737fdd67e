//! Opening a session, with everything that the board needs found or made.

use std::time::Duration;

use lingua_core::claim::Membership;
use tokio::time::Instant;
use zookeeper_client::{Client, CreateMode};

use super::ZooKeeperConfig;
use super::error::ZooKeeperError;
use super::place::Dir;
use super::read::read_dirs;
use super::write::{Outcome, Writer};

/// How much longer than its lease a membership's session lives. A server of an ensemble tells its
/// leader of a renewal only with its next answer, after up to half of `tickTime`.
const MARGIN: Duration = Duration::from_millis(500);
/// Life of a session that keeps no membership.
const PLAIN: Duration = Duration::from_secs(10);

/// A session, and the membership that lives as long as it does.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) own: Option<Own>,
}

/// The membership that a session keeps.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) membership: Membership,
    pub(super) renewed: Instant,
}

impl Session {
    /// One without a membership.
    pub(super) async fn plain(config: &ZooKeeperConfig) -> Result<Self, ZooKeeperError> {
        Ok(Self { client: open(config, PLAIN).await?, own: None })
    }

    /// One for a membership of this lease.
    pub(super) async fn of_lease(
        config: &ZooKeeperConfig,
        lease: Duration,
    ) -> Result<Self, ZooKeeperError> {
        // ZooKeeper counts whole milliseconds.
        let needed = lease.max(Duration::from_millis(1)) + MARGIN;
        let needed = Duration::from_millis(needed.as_micros().div_ceil(1_000) as u64);
        let client = open(config, needed).await?;
        let given = client.session_timeout();
        if given != needed {
            return Err(ZooKeeperError::SessionTime { needed, given });
        }
        Ok(Self { client, own: None })
    }

    pub(super) fn keeps(&self, membership: Membership) -> bool {
        self.own.as_ref().is_some_and(|own| own.membership == membership)
    }

    pub(super) fn is_over(&self) -> bool {
        self.client.state().is_terminated()
    }

    /// Until when the server surely keeps it without another renewal.
    pub(super) fn until(&self) -> Option<Instant> {
        self.own.as_ref().map(|own| own.renewed + self.client.session_timeout())
    }

    /// Ends it: the server removes all that it holds, in one step.
    pub(super) async fn close(self) {
        let mut states = self.client.state_watcher();
        drop(self.client);
        while !states.peek_state().is_terminated() {
            states.changed().await;
        }
    }
}

async fn open(config: &ZooKeeperConfig, life: Duration) -> Result<Client, ZooKeeperError> {
    let mut connector = Client::connector().with_session_timeout(life).with_fail_eagerly();
    if let Some(credentials) = &config.credentials {
        connector = connector.with_auth("digest", credentials.digest());
    }
    let servers = config.place.servers.list();
    let client = connector
        .connect(servers)
        .await
        .map_err(|source| ZooKeeperError::Unreachable { servers: servers.to_owned(), source })?;
    if !may_change(&client, config).await? {
        make_dirs(&client, config).await?;
        may_change(&client, config).await?;
    }
    read_dirs(&client, &config.place.root).await?;
    Ok(client)
}

/// Whether the directories are there; an error where they must not be changed. The request ends
/// with what cannot be, so that nothing of it is carried out.
async fn may_change(client: &Client, config: &ZooKeeperConfig) -> Result<bool, ZooKeeperError> {
    let mut writer = Writer::new(client, config.acls());
    for path in Dir::ALL.map(|dir| config.place.root.dir(dir)) {
        let trial = format!("{path}/trial");
        writer = writer.set(&path, b"", None)?;
        writer = writer.create(&trial, b"", CreateMode::Persistent)?.delete(&trial)?;
    }
    let parts = writer.parts();
    let never = format!("{}/never", config.place.root.dir(Dir::Holders));
    let outcome = writer.check(&never)?.commit().await?;
    Ok(!matches!(outcome, Outcome::Unmet(part) if part < parts))
}

async fn make_dirs(client: &Client, config: &ZooKeeperConfig) -> Result<(), ZooKeeperError> {
    let options = CreateMode::Persistent.with_acls(config.acls());
    for path in Dir::ALL.map(|dir| config.place.root.dir(dir)) {
        let made = client.mkdir(&path, &options).await;
        made.map_err(|error| ZooKeeperError::at(&path, error))?;
    }
    Ok(())
}
