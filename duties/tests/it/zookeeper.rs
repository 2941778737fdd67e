//! Ways to ZooKeeper, and boards there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lingua_duties::zookeeper::{ZooKeeper, ZooKeeperConfig};
use tokio::io::copy_bidirectional;
use tokio::sync::watch;

/// A way to a server that can be cut.
pub(crate) struct Way {
    port: u16,
    cut: watch::Sender<bool>,
}

impl Way {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, is_cut) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut is_cut = is_cut.clone();
                tokio::spawn(async move {
                    let through = async {
                        let mut far = tokio::net::TcpStream::connect(("127.0.0.1", server)).await?;
                        copy_bidirectional(&mut near, &mut far).await
                    };
                    tokio::select! {
                        biased;
                        _ = is_cut.wait_for(|cut| *cut) => {}
                        _ = through => {}
                    }
                });
            }
        });
        Self { port, cut }
    }

    pub(crate) fn set_cut(&self, cut: bool) {
        self.cut.send_replace(cut);
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// A root that no other test has.
pub(crate) fn new_root() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("/lingua/{}/duties", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn at_zookeeper(
    address: &str,
    root: &str,
    credentials: Option<&str>,
) -> ZooKeeperConfig {
    ZooKeeperConfig {
        place: format!("{address}{root}").parse().unwrap(),
        credentials: credentials.map(|text| text.parse().unwrap()),
        timeout: Duration::from_secs(10),
    }
}

pub(crate) async fn zookeeper(address: &str, root: &str) -> ZooKeeper {
    ZooKeeper::connect(at_zookeeper(address, root, None)).await.unwrap()
}
