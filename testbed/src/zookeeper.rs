//! Debian's ZooKeeper, one server or three.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tempfile::TempDir;

use crate::{end, free_port, wait_for};

/// What starts ZooKeeper; its manifest names the other archives.
const ARCHIVE: &str = "/usr/share/java/zookeeper.jar";
const MISSING: &str = "ZooKeeper starts: `apt-get install zookeeper`, or .ci/run does";

/// One server; it ends with its owner.
#[derive(Debug)]
pub struct ZooKeeperServer {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl ZooKeeperServer {
    /// Starts one, and waits until it serves.
    pub fn start() -> Self {
        let mut server = Self::begin(1, "");
        server.wait();
        server
    }

    /// Three that elect a leader.
    pub fn ensemble() -> [Self; 3] {
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
    pub fn shared() -> Arc<Self> {
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

    /// Kills it, as a crash does.
    pub fn away(&mut self) {
        end(&mut self.child);
    }

    /// Starts it again with what it had.
    pub fn back(&mut self) {
        self.child = Self::spawn(self.folder.path());
        self.wait();
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The same as `host:port`.
    pub fn address(&self) -> String {
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
