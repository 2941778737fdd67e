//! How long the probe waits, pauses and loads.

use std::time::Duration;

/// Waits and pauses. They follow the figures that the documents name, not a scheduler's settings.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Longest wait for what should come at once.
    pub prompt: Duration,
    /// Longest wait for a node to get its first job.
    pub warm_up: Duration,
    /// Between two heartbeats of a node.
    pub heartbeat: Duration,
    /// From the last chunk to the job at the node, hangover included, at most.
    pub dispatch: Duration,
    /// Between two jobs of a scheduler that has nothing else to do.
    pub idle_gap: Duration,
    /// A session is silent for this long and should still work.
    pub silence: Duration,
    /// A pause of the speaker that ends an utterance.
    pub pause: Duration,
    /// Longest from the last chunk to the job, where only silence ends the utterance.
    pub cut: Duration,
    /// Longest until a job that no node answers is settled.
    pub settle: Duration,
    /// Longest that a node gets jobs after its last heartbeat.
    pub presence: Duration,
    /// How long load is put on.
    pub load: Duration,
    /// Longest until a page shows what is.
    pub page: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            prompt: Duration::from_secs(5),
            warm_up: Duration::from_secs(20),
            heartbeat: Duration::from_secs(5),
            dispatch: Duration::from_secs(1),
            idle_gap: Duration::from_secs(10),
            silence: Duration::from_secs(80),
            pause: Duration::from_millis(3_600),
            cut: Duration::from_secs(15),
            settle: Duration::from_secs(65),
            presence: Duration::from_secs(50),
            load: Duration::from_secs(5),
            page: Duration::from_secs(7),
        }
    }
}
