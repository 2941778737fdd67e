//! Servers that tests start, each on a free port with a folder of its own.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use lingua_duties::zookeeper::{Credentials, Root, Servers, ZooKeeper, ZooKeeperConfig};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::sync::watch;

/// Longest wait for anything that a busy machine may delay.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Where Debian's packages put what starts ZooKeeper; its manifest names the other archives.
const ARCHIVE: &str = "/usr/share/java/zookeeper.jar";

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Ends a process that was started here.
pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits until a server that has just been started is ready.
fn wait_for(child: &mut Child, port: u16, is_ready: impl Fn(TcpStream) -> io::Result<bool>) {
    let since = Instant::now();
    while !TcpStream::connect(("127.0.0.1", port)).and_then(&is_ready).unwrap_or(false) {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "a server of the tests has ended: {ended:?}");
        assert!(since.elapsed() < PATIENCE, "a server of the tests is not ready");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(child.try_wait().unwrap().is_none(), "another process has taken port {port}");
}

pub(crate) struct RedisServer {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl RedisServer {
    pub(crate) fn start() -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server can be started: `apt-get install redis-server`, or .ci/run does");
        wait_for(&mut child, port, |_| Ok(true));
        Self { child, port, _folder: folder }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

pub(crate) struct ZooKeeperServer {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl ZooKeeperServer {
    pub(crate) fn start() -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let config = format!(
            "tickTime=500\nmaxSessionTimeout=60000\nmaxClientCnxns=0\nforceSync=no\nadmin.enableServer=false\n\
             clientPortAddress=127.0.0.1\nclientPort={port}\ndataDir={}\n",
            folder.path().display(),
        );
        std::fs::write(folder.path().join("zoo.cfg"), config).unwrap();
        let mut child = Self::run(&folder);
        wait_for(&mut child, port, serves);
        Self { child, port, folder }
    }

    fn run(folder: &TempDir) -> Child {
        const MISSING: &str =
            "ZooKeeper can be started: `apt-get install zookeeper`, or .ci/run does";
        assert!(std::path::Path::new(ARCHIVE).exists(), "{MISSING}: there is no {ARCHIVE}");
        Command::new("java")
            .args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ARCHIVE])
            .arg("org.apache.zookeeper.server.ZooKeeperServerMain")
            .arg(folder.path().join("zoo.cfg"))
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

    pub(crate) fn away(&mut self) {
        end(&mut self.child);
    }

    pub(crate) fn back(&mut self) {
        self.child = Self::run(&self.folder);
        wait_for(&mut self.child, self.port, serves);
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
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

impl Drop for ZooKeeperServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
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
        timeout: Duration::from_secs(3),
    }
}

pub(crate) async fn zookeeper(address: &str, root: &str) -> ZooKeeper {
    ZooKeeper::connect(at_zookeeper(address, root, None)).await.unwrap()
}
