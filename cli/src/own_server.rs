//! A scheduler of our own, as a process of its own on the loopback.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::failure::Failure;

/// A running `lingua serve`; it is killed when this is dropped.
pub(crate) struct OwnServer {
    child: Child,
    url: String,
}

impl OwnServer {
    /// Starts one on a free port and waits until it listens.
    pub(crate) fn start() -> Result<Self, Failure> {
        let failed = |what: &str| {
            let mend = "start one with `lingua serve` and name it with --target";
            Failure::Usage(format!("cannot start a server: {what}; {mend}"))
        };
        let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error.to_string()))?;
        let mut first = String::new();
        if let Some(out) = child.stdout.take() {
            let mut out = BufReader::new(out);
            // An unreadable line has no address, which is told below.
            let _ = out.read_line(&mut first);
            // Whatever else it prints must find a reader.
            std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        }
        let port = first
            .split_whitespace()
            .find_map(|word| word.strip_prefix("127.0.0.1:"))
            .map(|port| port.trim_end_matches(|c: char| !c.is_ascii_digit()));
        let Some(port) = port else {
            return Err(failed("it did not say where it listens"));
        };
        Ok(Self { child, url: format!("ws://127.0.0.1:{port}") })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The shell command that orders it to stop.
    pub(crate) fn stop_command(&self) -> String {
        format!("kill -TERM {}", self.child.id())
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
