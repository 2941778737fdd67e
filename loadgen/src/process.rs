//! Processor time of a process on this machine.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a process must do nothing to count as quiet.
const QUIET: Duration = Duration::from_millis(50);
/// Processor time in such a span that counts as nothing.
const NOTHING: Duration = Duration::from_millis(1);
/// Longest wait for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process whose processor time can be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process(u32);

impl Process {
    /// The process of this id, if the system tells its processor time.
    pub(crate) fn new(pid: u32) -> Option<Self> {
        let process = Self(pid);
        process.cpu().is_ok().then_some(process)
    }

    /// This one.
    pub(crate) fn own() -> Self {
        Self(std::process::id())
    }

    /// The process that listens at an address of this machine, as far as this user may see it.
    pub(crate) fn listening_at(address: SocketAddr) -> Option<Self> {
        if !address.ip().is_loopback() {
            return None;
        }
        let inode = listener(address.port())?;
        let wanted = format!("socket:[{inode}]");
        let pids = fs::read_dir("/proc").ok()?.flatten();
        let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let holds = |pid: &u32| {
            let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
            let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
            links.any(|link| link.to_str() == Some(&wanted))
        };
        pids.find(holds).and_then(Self::new)
    }

    /// Time on a processor, all threads that are alive.
    pub(crate) fn cpu(self) -> io::Result<Duration> {
        let mut nanos = 0_u64;
        for task in fs::read_dir(format!("/proc/{}/task", self.0))? {
            // A thread that has just ended is not counted.
            let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let own = text.split_whitespace().next().and_then(|text| text.parse::<u64>().ok());
            nanos += own.unwrap_or(0);
        }
        if nanos == 0 {
            return Err(io::Error::other("the system tells no processor time"));
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Waits until the process has nothing to do, or for ten seconds.
    pub(crate) async fn quiet(self) {
        let patience = Instant::now() + PATIENCE;
        let mut before = self.cpu().unwrap_or_default();
        while Instant::now() < patience {
            sleep(QUIET).await;
            let now = self.cpu().unwrap_or_default();
            if now.saturating_sub(before) < NOTHING {
                return;
            }
            before = now;
        }
    }
}

/// The inode of the socket that listens at a port.
fn listener(port: u16) -> Option<u64> {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines().skip(1).find_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let (_, local) = columns.get(1)?.rsplit_once(':')?;
            let listens = *columns.get(3)? == "0A";
            let same = u16::from_str_radix(local, 16).ok()? == port;
            (listens && same).then(|| columns.get(9)?.parse().ok()).flatten()
        })
    })
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn work_is_seen_in_the_process_that_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = Process::listening_at(listener.local_addr().unwrap()).unwrap();
        assert_eq!(own.0, std::process::id());
        let before = own.cpu().unwrap();
        // The system counts in steps that a short piece of work may miss.
        let mut pieces = 0..1_000;
        while own.cpu().unwrap() == before {
            pieces.next().expect("no work is seen");
            (0..20_000_000_u64).for_each(|n| {
                black_box(n * n);
            });
        }
        assert!(own.cpu().unwrap() > before);
    }

    #[test]
    fn nobody_listens_at_a_foreign_address() {
        assert!(Process::listening_at("192.0.2.1:80".parse().unwrap()).is_none());
        assert!(Process::new(u32::MAX).is_none());
    }
}
