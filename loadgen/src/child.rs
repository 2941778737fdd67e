//! A scheduler of the run's own, as a process beside it.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep, timeout};

use crate::http;

/// Longest wait until it answers.
const START: Duration = Duration::from_secs(10);
/// Longest wait until it has ended after it was told to.
const STOP: Duration = Duration::from_secs(35);
const LOOK: Duration = Duration::from_millis(20);

/// How the scheduler's process is started: `{address}` in an argument is where it must listen.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where its output goes.
    pub log: Option<PathBuf>,
}

/// Why there is no scheduler.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It cannot be started, or its port or log cannot be had.
    #[error("cannot start a scheduler ({what}): {source}; or name a running one with --target")]
    Start {
        /// Which step failed.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// It ended before it answered.
    #[error("the scheduler ended at once ({status}); what it said is in {log}")]
    Ended {
        /// How.
        status: String,
        /// Where its output is.
        log: String,
    },
    /// It does not answer.
    #[error("the scheduler at {address} did not answer /health within {} s", START.as_secs())]
    Silent {
        /// Where it should listen.
        address: SocketAddr,
    },
}

/// A running scheduler; it is killed when dropped without [`Self::stop`].
#[derive(Debug)]
pub(crate) struct Scheduler {
    child: Child,
    pub(crate) address: SocketAddr,
    program: Program,
}

impl Scheduler {
    pub(crate) async fn start(of: &Program) -> Result<Self, ChildError> {
        let address = free_address()
            .map_err(|source| ChildError::Start { what: "a free port".to_owned(), source })?;
        Self::start_at(of, address).await
    }

    async fn start_at(of: &Program, address: SocketAddr) -> Result<Self, ChildError> {
        let mut scheduler = Self { child: spawn(of, address)?, address, program: of.clone() };
        let patience = Instant::now() + START;
        while Instant::now() < patience {
            if let Ok(Some(status)) = scheduler.child.try_wait() {
                let log = of.log.as_ref().map(|log| log.display().to_string()).unwrap_or_default();
                return Err(ChildError::Ended { status: status.to_string(), log });
            }
            if timeout(START, is_healthy(address)).await.is_ok_and(|healthy| healthy) {
                return Ok(scheduler);
            }
            sleep(LOOK).await;
        }
        Err(ChildError::Silent { address })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as a crash would.
    pub(crate) fn kill(&mut self) {
        // Both fail only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again where it was.
    pub(crate) async fn restart(&mut self) -> Result<(), ChildError> {
        let (program, address) = (self.program.clone(), self.address);
        *self = Self::start_at(&program, address).await?;
        Ok(())
    }

    /// Asks it to end, and sees that it does.
    pub(crate) async fn stop(mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // A process that is gone already needs no signal.
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
        let patience = Instant::now() + STOP;
        while Instant::now() < patience {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(LOOK).await;
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(of: &Program, address: SocketAddr) -> Result<Child, ChildError> {
    let failed = |what: String| move |source| ChildError::Start { what, source };
    let (out, err) = match &of.log {
        Some(path) => {
            let what = path.display().to_string();
            let log = create(path).map_err(failed(what.clone()))?;
            let copy = log.try_clone().map_err(failed(what))?;
            (Stdio::from(log), Stdio::from(copy))
        }
        None => (Stdio::null(), Stdio::null()),
    };
    let at = address.to_string();
    Command::new(&of.program)
        .args(of.arguments.iter().map(|argument| argument.replace("{address}", &at)))
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(failed(of.program.display().to_string()))
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    File::options().create(true).append(true).open(path)
}

/// A port that nobody has now. The scheduler takes it a moment later.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Whether `GET /health` is answered with 200.
pub(crate) async fn is_healthy(address: SocketAddr) -> bool {
    let page = http::ask(address, &address.to_string(), "GET", "/health").await;
    page.is_ok_and(|page| page.status == 200)
}
