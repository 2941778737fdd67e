//! Being present, knowing who is, and clearing up after those who are no more.

use std::sync::Arc;
use std::time::Duration;

use lingua_core::{InstanceId, Micros, Op, Reply};
use lingua_store::{Store, StoreError};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{info, warn};

use crate::clock::Clock;
use crate::event::Event;
use crate::instances::{Shared, Standing};

/// How often an instance says that it is there.
const EVERY: Duration = Duration::from_secs(2);
/// How long that counts: three times as long.
pub(super) const LIFE: Duration = Duration::from_secs(6);
/// The same where the store did not take it.
const AGAIN: Duration = Duration::from_millis(250);
/// How often what is ranked by is copied anew; a lost note of a change is healed then.
const COPY: Duration = Duration::from_secs(5);
/// Changes within this span are told, and copied, as one.
const GATHER: Duration = Duration::from_millis(20);
/// One instance at a time clears up; if it dies another one does after so long.
const SWEEP: Duration = Duration::from_secs(10);

/// Keeps an instance present.
pub(super) struct Keeper {
    pub(super) store: Store,
    pub(super) id: InstanceId,
    pub(super) clock: Clock,
    pub(super) standing: Standing,
    pub(super) about: Arc<str>,
    pub(super) secret: String,
    pub(super) hub: mpsc::Sender<Event>,
}

impl Keeper {
    /// Runs until the hub is gone; `nudged` when who is there may have changed.
    pub(super) async fn run(mut self, mut nudged: mpsc::Receiver<()>) {
        let mut up = true;
        while !self.hub.is_closed() {
            let told = self.say().await;
            if let Err(error) = &told
                && up
            {
                let cause = error.name();
                warn!(instance = self.id.0, cause, %error, "the store does not answer");
            } else if told.is_ok() && !up {
                info!(instance = self.id.0, "the store answers again");
            }
            up = told.is_ok();
            // A nudge only comes early.
            let _ = timeout(if up { EVERY } else { AGAIN }, nudged.recv()).await;
        }
    }

    /// Says that it is there, once.
    async fn say(&mut self) -> Result<(), StoreError> {
        let asked = self.clock.now();
        let roll = self.store.present(self.id, &self.about, LIFE).await?;
        let until = asked + Micros(LIFE.as_micros() as u64);
        if roll.joined {
            self.store.agree_on_rules().await?;
            let secret = self.store.secret(&self.secret).await?;
            let lost = secret.is_new || secret.stands != self.secret;
            if lost {
                self.store.skip_instances(self.id).await?;
                self.secret = secret.stands;
            }
            warn!(instance = self.id.0, lost, "the store had forgotten this instance");
            let _ = self.hub.send(Event::Shared(Shared::Rejoined { until, lost })).await;
        } else {
            self.standing.lasts(until);
        }
        let gone = roll.members.iter().filter(|member| !member.present && member.id != self.id);
        for member in gone {
            if self.store.lock("sweeper", self.id, SWEEP).await? {
                info!(instance = self.id.0, gone = member.id.0, "clearing up after an instance");
                clear_up(&self.store, member.id, asked, false).await?;
            }
        }
        Ok(())
    }
}

/// Takes what an instance has left out of the store. Each part may be done twice.
pub(super) async fn clear_up(
    store: &Store,
    gone: InstanceId,
    now: Micros,
    leaves: bool,
) -> Result<(), StoreError> {
    for node in store.nodes_of(gone).await? {
        store.apply(now, &Op::Remove(node)).await?;
    }
    store.forget(gone, leaves).await?;
    store.tell_changed().await
}

/// Tells all instances of changes that this one has made.
pub(super) async fn announce(store: Store, mut changes: mpsc::Receiver<()>) {
    while changes.recv().await.is_some() {
        sleep(GATHER).await;
        // The next whole copy heals what is not told.
        let _ = store.tell_changed().await;
    }
}

/// Gives the hub what it ranks by, on every change and now and then.
pub(super) async fn copy(
    store: Store,
    clock: Clock,
    hub: mpsc::Sender<Event>,
    mut changed: mpsc::Receiver<()>,
    nudge: mpsc::Sender<()>,
) {
    loop {
        let next = Instant::now() + COPY;
        if let Ok(Reply::Snapshot(snapshot)) = store.apply(clock.now(), &Op::Snapshot).await
            && hub.send(Event::Shared(Shared::Snapshot(snapshot))).await.is_err()
        {
            return;
        }
        if let Ok(Some(())) = timeout_at(next, changed.recv()).await {
            let _ = nudge.try_send(());
            sleep(GATHER).await;
        }
    }
}
