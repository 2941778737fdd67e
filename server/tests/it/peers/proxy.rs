//! Between an instance and Redis: what goes through can be kept back.

use lingua_server::{Address, Config, RedisConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// It ends with its owner.
pub(crate) struct Proxy {
    address: Address,
    passes: watch::Sender<bool>,
}

impl Proxy {
    /// In front of the Redis of these settings.
    pub(crate) async fn before(config: &Config) -> Self {
        let redis = config.redis.addresses[0].to_string();
        let redis = redis.strip_prefix("redis://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("redis://{}", listener.local_addr().unwrap()).into();
        let (passes, open) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(there) = TcpStream::connect(&redis).await else { continue };
                let (near, far) = (stream.into_split(), there.into_split());
                tokio::spawn(pass_on(near.0, far.1, open.clone()));
                tokio::spawn(pass_on(far.0, near.1, open.clone()));
            }
        });
        Self { address, passes }
    }

    /// Settings of an instance behind it.
    pub(crate) fn with(&self, config: Config) -> Config {
        let addresses = vec![self.address.clone()];
        Config { redis: RedisConfig { addresses, ..config.redis }, ..config }
    }

    /// Keeps back whatever comes, in both directions.
    pub(crate) fn stall(&self) {
        self.passes.send_replace(false);
    }

    /// Lets it all through.
    pub(crate) fn go_on(&self) {
        self.passes.send_replace(true);
    }
}

async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut open: watch::Receiver<bool>) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        if open.wait_for(|open| *open).await.is_err()
            || to.write_all(&bytes[..length]).await.is_err()
        {
            return;
        }
    }
}
