//! Headers to and from the inboxes.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use lingua_core::InstanceId;
use lingua_core::instance::Routed;
use lingua_store::{Acks, Inbox, Posted, Store, StoreError};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::clock::Clock;
use crate::event::Event;
use crate::instances::Shared;
use crate::instances::header::Header;

/// Headers on their way at once.
const AT_ONCE: usize = 64;
/// How long a job is tried to be posted, and how long anything else is.
const PATIENCE_JOB: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);
/// Rest after an error.
const REST: Duration = Duration::from_millis(100);
/// How long headers are gathered that have been dealt with, and how many.
const GATHERING: Duration = Duration::from_millis(100);
const GATHERED_MAX: usize = 1_024;
/// Headers remembered, so that one that comes twice counts once.
const REMEMBERED: usize = 8_192;

/// Writes headers.
#[derive(Clone)]
pub(super) struct Post {
    pub(super) store: Store,
    pub(super) id: InstanceId,
    pub(super) clock: Clock,
    pub(super) sequence: Arc<AtomicU64>,
}

impl Post {
    /// Puts a message into the receiver's inbox.
    pub(super) async fn send(&self, to: InstanceId, routed: Routed) -> Result<Posted, StoreError> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        self.send_as(sequence, to, routed).await
    }

    async fn send_as(
        &self,
        sequence: u64,
        to: InstanceId,
        routed: Routed,
    ) -> Result<Posted, StoreError> {
        let header = Header { sequence, from: self.id, to, routed };
        self.store.post(to, &header.to_text(self.clock.now())).await
    }

    /// The same, again and again for a while; gives it back where it could not be posted.
    async fn insist(&self, to: InstanceId, routed: Routed) -> Option<Routed> {
        let is_job = matches!(routed, Routed::Assign(_));
        let since = Instant::now();
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        loop {
            match self.send_as(sequence, to, routed).await {
                Ok(Posted::In) => return None,
                Ok(Posted::Gone) => return Some(routed),
                Ok(Posted::Full) if is_job => return Some(routed),
                Ok(Posted::Full) | Err(_) => {}
            }
            if since.elapsed() >= if is_job { PATIENCE_JOB } else { PATIENCE } {
                return Some(routed);
            }
            sleep(REST).await;
        }
    }

    /// Posts what the hub gives; what could not be posted goes back to it.
    pub(super) async fn run(
        self,
        mut messages: mpsc::Receiver<(InstanceId, Routed)>,
        hub: mpsc::Sender<Event>,
    ) {
        let this = &self;
        let messages = stream::poll_fn(move |cx| messages.poll_recv(cx));
        let posted = messages.map(|(to, routed)| this.insist(to, routed)).buffered(AT_ONCE);
        let mut posted = std::pin::pin!(posted);
        while let Some(posted) = posted.next().await {
            if let Some(routed) = posted
                && hub.send(Event::Shared(Shared::NotPosted(Box::new(routed)))).await.is_err()
            {
                return;
            }
        }
    }
}

/// Headers that came lately.
#[derive(Debug, Default)]
struct Seen {
    known: HashSet<(InstanceId, u64)>,
    order: VecDeque<(InstanceId, u64)>,
}

impl Seen {
    /// Whether it comes for the first time.
    fn is_new(&mut self, header: &Header) -> bool {
        let name = (header.from, header.sequence);
        if !self.known.insert(name) {
            return false;
        }
        self.order.push_back(name);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

/// Gives the hub what comes into this instance's inbox.
pub(super) async fn receive(inbox: Inbox, store: Store, clock: Clock, hub: mpsc::Sender<Event>) {
    let (dealt, gathered) = mpsc::channel(GATHERED_MAX);
    let acks = inbox.acks();
    tokio::join!(read(inbox, store, clock, hub, dealt), acknowledge(acks, gathered));
}

async fn read(
    mut inbox: Inbox,
    store: Store,
    clock: Clock,
    hub: mpsc::Sender<Event>,
    dealt: mpsc::Sender<String>,
) {
    let mut seen = Seen::default();
    while !hub.is_closed() {
        let Ok(entries) = inbox.read().await else {
            sleep(REST).await;
            continue;
        };
        for entry in entries {
            match Header::parse(&entry.header, clock.now()) {
                Some(header) if seen.is_new(&header) => {
                    let event = Event::Shared(Shared::Header(Box::new(header.routed)));
                    if hub.send(event).await.is_err() {
                        return;
                    }
                }
                Some(_) => {}
                None => {
                    warn!("a header in the inbox cannot be read: kept as a dead letter");
                    let _ = store.keep_dead_letter(&entry.header, "unreadable").await;
                }
            }
            if dealt.send(entry.id).await.is_err() {
                return;
            }
        }
    }
}

/// Acknowledges many headers with one command. What is not acknowledged comes again, and is known
/// then.
async fn acknowledge(acks: Acks, mut gathered: mpsc::Receiver<String>) {
    let mut ids = Vec::with_capacity(GATHERED_MAX);
    while gathered.recv_many(&mut ids, 1).await > 0 {
        sleep(GATHERING).await;
        while ids.len() < GATHERED_MAX
            && let Ok(id) = gathered.try_recv()
        {
            ids.push(id);
        }
        let _ = acks.done(&ids).await;
        ids.clear();
    }
}
