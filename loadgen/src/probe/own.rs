//! A scheduler of the probe's own, where none was named.

use crate::child::{ChildError, Program, Scheduler};

/// A running scheduler; it is killed when this is dropped.
#[derive(Debug)]
pub struct OwnScheduler(Scheduler);

impl OwnScheduler {
    /// Starts one on a free port and waits until it answers.
    ///
    /// # Errors
    /// It cannot be started, ends at once or does not answer.
    pub async fn start(program: &Program) -> Result<Self, ChildError> {
        Ok(Self(Scheduler::start(program).await?))
    }

    /// Where it listens, as `ws://host:port`.
    pub fn url(&self) -> String {
        format!("ws://{}", self.0.address)
    }

    /// The shell command that orders it to stop.
    pub fn stop_command(&self) -> String {
        format!("kill -TERM {}", self.0.pid())
    }
}
