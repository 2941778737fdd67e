//! A connection to one server or to a Cluster, and what replaces one that is stuck.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::TcpSettings;
use redis::{Cmd, ErrorKind, IntoConnectionInfo, RedisError, RedisResult, Value};
use tokio::time::sleep;

use crate::{Address, Layout, StoreConfig, StoreError};

/// Longest wait between two attempts to connect.
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Longest that what was sent may go unacknowledged; then the connection is opened anew. Without it
/// the system tries again ever more rarely, and notices long after that a cut is mended.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(3);

/// A connection; clones share it.
#[derive(Clone)]
pub(crate) enum Link {
    One(ConnectionManager),
    Cluster(Arc<ToCluster>),
}

/// The client of a Cluster. After a failover the library's may wait for a dead primary for good, so
/// one whose commands are not answered is replaced.
pub(crate) struct ToCluster {
    connection: RwLock<ClusterConnection>,
    // Whether another one is on its way.
    renewing: AtomicBool,
    config: Arc<StoreConfig>,
    patience: Duration,
}

impl Link {
    /// Connects, for commands that are answered within `patience`.
    pub(crate) async fn connect(
        config: &Arc<StoreConfig>,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let Some(first) = config.urls.first() else { return Err(StoreError::NoAddress) };
        let connecting = async {
            Ok(match config.layout {
                Layout::OneServer => Self::One(to_server(first, config, patience).await?),
                Layout::Cluster => Self::Cluster(Arc::new(ToCluster {
                    connection: RwLock::new(to_cluster(config, patience).await?),
                    renewing: AtomicBool::new(false),
                    config: Arc::clone(config),
                    patience,
                })),
            })
        };
        connecting.await.map_err(|error| not_connected(first, &error))
    }

    pub(crate) async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::One(one) => one.clone().req_packed_command(command).await,
            Self::Cluster(cluster) => {
                let replied = cluster.current().req_packed_command(command).await;
                if let Err(error) = &replied
                    && (error.is_timeout() || error.is_io_error())
                {
                    cluster.renew();
                }
                replied
            }
        }
    }
}

impl ToCluster {
    fn current(&self) -> ClusterConnection {
        self.connection.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connects anew, beside what is under way; not more often than every [`RECONNECT_MAX`].
    fn renew(self: &Arc<Self>) {
        if self.renewing.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if let Ok(connection) = to_cluster(&this.config, this.patience).await {
                *this.connection.write().unwrap_or_else(PoisonError::into_inner) = connection;
            }
            sleep(RECONNECT_MAX).await;
            this.renewing.store(false, Ordering::Release);
        });
    }
}

async fn to_server(
    address: &Address,
    config: &StoreConfig,
    patience: Duration,
) -> RedisResult<ConnectionManager> {
    let info = address.whole().into_connection_info()?.set_tcp_settings(tcp());
    let client = redis::Client::open(info)?;
    let settings = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(config.timeout))
        .set_response_timeout(Some(patience))
        .set_max_delay(RECONNECT_MAX)
        .set_number_of_retries(1);
    ConnectionManager::new_with_config(client, settings).await
}

async fn to_cluster(config: &StoreConfig, patience: Duration) -> RedisResult<ClusterConnection> {
    let client = ClusterClient::builder(config.urls.iter().map(Address::whole))
        .connection_timeout(config.timeout)
        .response_timeout(patience)
        .tcp_settings(tcp())
        .retries(3)
        .build()?;
    client.get_async_connection().await
}

/// Commands are short and want to leave at once.
fn tcp() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(UNACKNOWLEDGED);
    settings
}

fn not_connected(first: &Address, error: &RedisError) -> StoreError {
    if error.kind() == ErrorKind::InvalidClientConfig {
        return StoreError::Address { url: first.to_string(), why: error.to_string() };
    }
    match StoreError::from_redis(error, "connect") {
        StoreError::Unreachable(why) => {
            let mend = "start redis-server there, or name another address";
            StoreError::Unreachable(format!("{first}: {why}; {mend}"))
        }
        other => other,
    }
}
