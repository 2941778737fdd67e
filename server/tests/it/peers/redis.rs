//! A Redis server of a test's own, with its data in a folder of its own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lingua_server::{Config, RedisConfig};
use tempfile::TempDir;

/// Longest wait for a server.
const PATIENCE: Duration = Duration::from_secs(30);

/// It ends with its owner.
pub(crate) struct Redis {
    child: Option<Child>,
    port: u16,
    folder: TempDir,
    keeps: bool,
    cluster: bool,
}

impl Redis {
    /// One that forgets everything when it ends.
    pub(crate) fn start() -> Self {
        Self::new(false, false)
    }

    /// One that keeps what it holds over a restart.
    pub(crate) fn lasting() -> Self {
        Self::new(true, false)
    }

    /// A Cluster of one server.
    pub(crate) fn cluster() -> Self {
        let this = Self::new(false, true);
        this.ask("CLUSTER ADDSLOTSRANGE 0 16383");
        let since = Instant::now();
        while !this.ask("CLUSTER INFO").contains("cluster_state:ok") {
            assert!(since.elapsed() < PATIENCE, "the Cluster does not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
        this
    }

    fn new(keeps: bool, cluster: bool) -> Self {
        // The bus of a Cluster listens 10,000 above.
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port = std::iter::repeat_with(free).find(|&port| port < 55_000).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut this = Self { child: None, port, folder, keeps, cluster };
        this.run();
        this
    }

    /// A command, and the beginning of what it says.
    pub(crate) fn ask(&self, command: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut said = [0; 4_096];
        let length = socket.read(&mut said).unwrap();
        String::from_utf8_lossy(&said[..length]).into_owned()
    }

    /// Starts it again on the same port.
    pub(crate) fn run(&mut self) {
        let mut command = Command::new("redis-server");
        command
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", if self.keeps { "yes" } else { "no" }, "--dir"])
            .arg(self.folder.path())
            .args(["--cluster-enabled", if self.cluster { "yes" } else { "no" }])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| {
            panic!(
                "redis-server cannot be started ({error}): install it, or run .ci/run, which does"
            )
        });
        self.child = Some(child);
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(since.elapsed() < PATIENCE, "redis-server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it, as a crash does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Settings of an instance on it.
    pub(crate) fn config(&self) -> Config {
        self.with(Config::default())
    }

    pub(crate) fn with(&self, config: Config) -> Config {
        let addresses = vec![format!("redis://127.0.0.1:{}", self.port).into()];
        Config {
            redis: RedisConfig { addresses, cluster: self.cluster, ..RedisConfig::default() },
            ..config
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
