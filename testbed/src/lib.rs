//! Servers that the tests of several crates start, each on a free port with a folder of its own. What
//! cannot be started fails the test.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod zookeeper;

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use zookeeper::ZooKeeperServer;

/// Longest wait for anything that a busy machine may delay.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A port that nobody listened at just now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Ends a process that was started here.
pub fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits until a server is ready. Between being found free and being taken its port may have been
/// another's; then it is started again.
fn wait_for(
    child: &mut Child,
    port: u16,
    start: impl Fn() -> Child,
    is_ready: impl Fn(TcpStream) -> io::Result<bool>,
) {
    let since = Instant::now();
    loop {
        let is_ready = TcpStream::connect(("127.0.0.1", port)).and_then(&is_ready);
        match (child.try_wait().unwrap(), is_ready) {
            (None, Ok(true)) => return,
            (None, _) => {}
            (Some(_), _) => *child = start(),
        }
        if since.elapsed() > PATIENCE {
            end(child);
            panic!("a server of the tests is not ready at port {port}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A Redis that forgets everything when it ends.
pub struct RedisServer {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl RedisServer {
    /// Starts it, and waits until it listens.
    pub fn start() -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let start = || {
            Command::new("redis-server")
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
                .arg(folder.path())
                .stdout(Stdio::null())
                .spawn()
                .expect("redis-server starts: `apt-get install redis-server`, or .ci/run does")
        };
        let mut child = start();
        wait_for(&mut child, port, start, |_| Ok(true));
        Self { child, port, _folder: folder }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
