//! Sessions that speak at their own pace, whatever they hear.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::probe::client::{Client, End, end_in};
use crate::probe::peer::Ended;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Trouble, fail};

/// After all has ended, how long a session listens for what should not come.
const LINGER: Duration = Duration::from_millis(500);

/// Who speaks how much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    pub(super) sessions: usize,
    /// Utterances of each.
    pub(super) utterances: usize,
    /// From one utterance of a session to its next.
    pub(super) every: Duration,
    /// How long to wait, after the last one, for what has not ended.
    pub(super) patience: Duration,
}

/// What one session said and heard.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) session: String,
    /// When the end of each utterance was sent.
    pub(super) said: Vec<Instant>,
    /// Utterances and how they ended, as it was heard.
    pub(super) ends: Vec<(u64, End)>,
    /// How the socket ended, if it did.
    pub(super) ended: Option<Ended>,
}

impl Talk {
    /// Translations of an utterance that were heard.
    pub(super) fn results(&self, index: u64) -> impl Iterator<Item = &str> {
        self.ends.iter().filter_map(move |(of, end)| match end {
            End::Result(text) if *of == index => Some(text.as_str()),
            _ => None,
        })
    }

    /// All translations that were heard.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.ends.iter().filter_map(|(_, end)| match end {
            End::Result(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether an utterance has ended, whichever way.
    pub(super) fn has_end(&self, index: u64) -> bool {
        self.ends.iter().any(|(of, _)| *of == index)
    }

    /// Indexes of what was said.
    pub(super) fn indexes(&self) -> std::ops::Range<u64> {
        0..self.said.len() as u64
    }
}

/// Lets all sessions of a pattern talk. Each has a phase of its own, so that they make no bursts.
pub(super) async fn talk(stage: &Stage, pattern: Pattern) -> Result<Vec<Talk>, Trouble> {
    let mut clients = Vec::with_capacity(pattern.sessions);
    for _ in 0..pattern.sessions {
        clients.push(stage.client().await?);
    }
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (n, client) in clients.into_iter().enumerate() {
        let phase = pattern.every.mul_f64(n as f64 / pattern.sessions as f64);
        tasks.spawn(one(client, pattern, start + phase));
    }
    let mut talks = Vec::with_capacity(pattern.sessions);
    while let Some(talk) = tasks.join_next().await {
        match talk {
            Ok(talk) => talks.push(talk),
            Err(error) => fail!("a fake client broke: {error}"),
        }
    }
    Ok(talks)
}

async fn one(mut client: Client, pattern: Pattern, start: Instant) -> Talk {
    let mut said = Vec::with_capacity(pattern.utterances);
    for n in 0..pattern.utterances {
        sleep_until(start + pattern.every * n as u32).await;
        said.push(client.say(&[n as u8 + 1]).await);
    }
    let mut ends = Vec::new();
    let mut open: BTreeSet<u64> = (0..said.len() as u64).collect();
    let mut until = Instant::now() + pattern.patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Some((index, end)) = client.peer.seek(left, end_in).await else { break };
        ends.push((index, end));
        if open.remove(&index) && open.is_empty() {
            until = Instant::now() + LINGER;
        }
    }
    let ended = client.peer.end(Duration::ZERO).await;
    Talk { session: client.session, said, ends, ended }
}
