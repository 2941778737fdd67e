//! A server as a process of its own, and what a process has used.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::Failure;

/// Ticks of a second in `/proc/<pid>/stat`: the same on every Linux.
const TICKS: f64 = 100.0;

/// A server that ends with this value.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a server and waits until it says where it listens.
    pub(crate) fn start(mut command: Command) -> Result<Self, Failure> {
        let what = command.get_program().to_string_lossy().into_owned();
        let failed = |source| Failure::Start { what: what.clone(), source };
        // Its log is not what is looked at here.
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let stdout = child.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        let mut lines = BufReader::new(stdout).lines();
        let address = loop {
            match lines.next() {
                Some(Ok(line)) => {
                    if let Some(address) = address_in(&line) {
                        break address;
                    }
                }
                Some(Err(source)) => return Err(failed(source)),
                None => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
            }
        };
        // A full pipe would stop the server.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, address })
    }

    pub(crate) fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(&self.child.id().to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    line.split_whitespace().find_map(|word| word.trim_end_matches(':').parse().ok())
}

/// What a process has used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Seconds of processor time.
    pub(crate) cpu: f64,
    /// Resident bytes.
    pub(crate) resident: u64,
}

impl Usage {
    pub(crate) fn of_this_process() -> Result<Self, Failure> {
        Self::of("self")
    }

    fn of(process: &str) -> Result<Self, Failure> {
        let read = |file| {
            let path = format!("/proc/{process}/{file}");
            fs::read_to_string(&path).map_err(|source| Failure::Usage { path, source })
        };
        Ok(Self {
            cpu: cpu(&read("stat")?).unwrap_or_default(),
            resident: resident(&read("status")?).unwrap_or_default(),
        })
    }
}

/// User and system time; the name before them may hold anything but a last parenthesis.
fn cpu(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_where_linux_writes_them() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 9 1 1 1";
        assert_eq!(cpu(stat), Some(3.0));
        assert_eq!(resident("VmPeak:\t 9 kB\nVmRSS:\t    12 kB\n"), Some(12_288));
        let line = "serving on 127.0.0.1:41000: policy SampleScan";
        assert_eq!(address_in(line), Some(([127, 0, 0, 1], 41_000).into()));
    }
}
