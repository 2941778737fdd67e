//! Debian's ZooKeeper, one server or three, and boards there.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use lingua_duties::zookeeper::{Credentials, Root, Servers, ZooKeeper, ZooKeeperConfig};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::sync::watch;

use crate::servers::{end, free_port, wait_for};

/// What starts ZooKeeper; its manifest names the other archives.
const ARCHIVE: &str = "/usr/share/java/zookeeper.jar";
const MISSING: &str = "ZooKeeper starts: `apt-get install zookeeper`, or .ci/run does";

pub(crate) struct ZooKeeperServer {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl ZooKeeperServer {
    pub(crate) fn start() -> Self {
        let mut server = Self::begin(1, "");
        server.wait();
        server
    }

    /// Three that elect a leader.
    pub(crate) fn ensemble() -> [Self; 3] {
        let numbers = [1, 2, 3];
        let mut peers = String::new();
        for number in numbers {
            let (quorum, election) = (free_port(), free_port());
            writeln!(peers, "server.{number}=127.0.0.1:{quorum}:{election}").unwrap();
        }
        let mut servers = numbers.map(|number| Self::begin(number, &peers));
        servers.iter_mut().for_each(Self::wait);
        servers
    }

    fn begin(number: usize, peers: &str) -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let config = format!(
            "tickTime=500\nmaxSessionTimeout=60000\nmaxClientCnxns=0\nforceSync=no\n\
             admin.enableServer=false\ninitLimit=20\nsyncLimit=10\ndataDir={}\n\
             clientPortAddress=127.0.0.1\nclientPort={port}\n{peers}",
            folder.path().display(),
        );
        std::fs::write(folder.path().join("zoo.cfg"), config).unwrap();
        std::fs::write(folder.path().join("myid"), number.to_string()).unwrap();
        Self { child: Self::spawn(folder.path()), port, folder }
    }

    fn spawn(folder: &Path) -> Child {
        assert!(Path::new(ARCHIVE).exists(), "{MISSING}: there is no {ARCHIVE}");
        Command::new("java")
            .args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ARCHIVE])
            .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
            .arg(folder.join("zoo.cfg"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect(MISSING)
    }

    /// The one that tests share as long as one of them needs it; each has a root of its own.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<ZooKeeperServer>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::start());
            *shared = Arc::downgrade(&server);
            server
        })
    }

    fn wait(&mut self) {
        wait_for(&mut self.child, self.port, || Self::spawn(self.folder.path()), serves);
    }

    pub(crate) fn away(&mut self) {
        end(&mut self.child);
    }

    pub(crate) fn back(&mut self) {
        self.child = Self::spawn(self.folder.path());
        self.wait();
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for ZooKeeperServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// ZooKeeper listens before it serves.
fn serves(mut stream: TcpStream) -> io::Result<bool> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"srvr")?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    Ok(told.contains("Mode: "))
}

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
        servers: Servers::parse(address).unwrap(),
        root: Root::parse(root).unwrap(),
        credentials: credentials.map(|text| Credentials::parse(text).unwrap()),
        timeout: Duration::from_secs(10),
    }
}

pub(crate) async fn zookeeper(address: &str, root: &str) -> ZooKeeper {
    ZooKeeper::connect(at_zookeeper(address, root, None)).await.unwrap()
}
