//! A Redis server of a test's own, with its data in a folder of its own.

use std::net::TcpListener;
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
}

impl Redis {
    /// One that forgets everything when it ends.
    pub(crate) fn start() -> Self {
        Self::new(false)
    }

    /// One that keeps what it holds over a restart.
    pub(crate) fn lasting() -> Self {
        Self::new(true)
    }

    fn new(keeps: bool) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut this = Self { child: None, port, folder: tempfile::tempdir().unwrap(), keeps };
        this.run();
        this
    }

    /// Starts it again on the same port.
    pub(crate) fn run(&mut self) {
        let mut command = Command::new("redis-server");
        command
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", if self.keeps { "yes" } else { "no" }, "--dir"])
            .arg(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| {
            panic!(
                "redis-server cannot be started ({error}): install it, or run .ci/run, which does"
            )
        });
        self.child = Some(child);
        let since = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
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
        Config { redis: RedisConfig { addresses, ..RedisConfig::default() }, ..config }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
