//! Being present, knowing who is, and clearing up after those who are no more.

use std::sync::Arc;
use std::time::Duration;

use lingua_core::instance::Routed;
use lingua_core::{InstanceId, Micros, Op, Reply};
use lingua_store::{Member, Store, StoreError};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{info, warn};

use crate::clock::Clock;
use crate::event::Event;
use crate::instances::header::Header;
use crate::instances::post::Post;
use crate::instances::{Passphrase, Shared, Standing};

/// How often an instance says that it is there.
const EVERY: Duration = Duration::from_secs(2);
/// How long that counts: three times as long.
pub(super) const LIFE: Duration = Duration::from_secs(6);
/// The same where the store did not take it.
const AGAIN: Duration = Duration::from_millis(250);
/// How often what is ranked by is copied anew; a lost note of a change is healed then.
const COPY: Duration = Duration::from_secs(5);
/// Changes within this span are told as one, and copied as one.
const GATHER: Duration = Duration::from_millis(20);
const GATHER_COPY: Duration = Duration::from_millis(80);
/// Copies take at most this share of the time.
const SHARE: u32 = 10;
/// Nobody is judged by an instance to which the store has not answered for so long: the others may
/// not have had the time to come back.
const STEADY: Micros = Micros::secs(6);

/// Keeps an instance present.
pub(super) struct Keeper {
    pub(super) post: Post,
    pub(super) standing: Standing,
    pub(super) about: Arc<str>,
    pub(super) passphrase: Passphrase,
    // Since when it is a member, as the store has it and the hub has heard it.
    pub(super) member_since: u64,
    // Since when the store has answered every time.
    pub(super) steady_since: Option<Micros>,
    // It has been absent, and the hub does not know yet that it is present again.
    pub(super) returns: bool,
    // Who is to be cleared up after.
    pub(super) gone: watch::Sender<Vec<InstanceId>>,
    pub(super) hub: mpsc::Sender<Event>,
}

impl Keeper {
    /// Runs until the hub is gone; `nudged` when who is there may have changed.
    pub(super) async fn run(mut self, mut nudged: mpsc::Receiver<()>) {
        let mut up = true;
        let mut last = Micros::ZERO;
        while !self.hub.is_closed() {
            // Whoever stood still for long does not know whether the others did.
            let now = self.post.clock.now();
            self.steady_since = self.steady_since.filter(|_| now - last < STEADY);
            last = now;
            let told = self.say().await;
            if let Err(error) = &told
                && up
            {
                let cause = error.name();
                warn!(instance = self.post.id.0, cause, %error, "the store does not answer");
            } else if told.is_ok() && !up {
                info!(instance = self.post.id.0, "the store answers again");
            }
            up = told.is_ok();
            if up && self.steady_since.is_none() {
                self.steady_since = Some(self.post.clock.now());
            }
            self.steady_since = self.steady_since.filter(|_| up);
            // A nudge only comes early, and not too often.
            sleep(AGAIN).await;
            if up {
                let _ = timeout(EVERY - AGAIN, nudged.recv()).await;
            }
        }
    }

    /// Says that it is there, once.
    async fn say(&mut self) -> Result<(), StoreError> {
        let Post { store, id, clock, .. } = self.post.clone();
        let asked = clock.now();
        let roll = store.present(id, &self.about, LIFE).await?;
        let until = asked + Micros(LIFE.as_micros() as u64);
        // A member anew has been forgotten; every reply says it, as the first may be lost. And to the
        // store the nodes of whoever was absent have been silent for as long.
        let forgotten = roll.since != self.member_since;
        self.returns |= forgotten || !self.standing.holds(clock.now());
        if self.returns {
            let lost = self.come_back(&store, id).await?;
            self.returns = false;
            self.member_since = roll.since;
            warn!(instance = id.0, forgotten, lost, "present again");
            let _ = self.hub.send(Event::Shared(Shared::Rejoined { until, lost })).await;
        } else {
            self.standing.lasts(until);
        }
        let judges = self.steady_since.is_some_and(|since| asked - since > STEADY);
        let members = roll.members.clone();
        let _ = self.hub.send(Event::Shared(Shared::Members { members, judges })).await;
        let gone = |member: &&Member| judges && !member.present && member.id != id;
        let gone: Vec<_> = roll.members.iter().filter(gone).map(|member| member.id).collect();
        self.gone.send_if_modified(|known| std::mem::replace(known, gone) != *known);
        Ok(())
    }

    /// Tells whether the store has lost everything; then it is made what it was.
    async fn come_back(&self, store: &Store, id: InstanceId) -> Result<bool, StoreError> {
        store.agree_on_rules().await?;
        let own = self.passphrase.get();
        // A store that has lost everything gets another secret, by which all others know it too.
        let fresh = Passphrase::fresh().unwrap_or_else(|_| own.text().to_owned());
        let secret = store.secret(&fresh).await?;
        let lost = secret.is_new || secret.stands != own.text();
        if lost {
            store.skip_instances(id).await?;
            if let Err(error) = self.passphrase.set(&secret.stands) {
                warn!(instance = id.0, %error, "what instances show each other cannot be read");
            }
        }
        Ok(lost)
    }
}

/// Clears up after all of them.
pub(super) async fn sweep(post: &Post, all: Vec<InstanceId>) {
    for gone in all {
        info!(instance = post.id.0, gone = gone.0, "clearing up after an instance");
        if let Err(error) = clear_up(post, gone, false).await {
            // It is still a member, so somebody begins anew.
            warn!(instance = post.id.0, gone = gone.0, %error, "not cleared up");
        }
    }
}

/// Takes what an instance has left out of the store. Each part may be done twice.
pub(super) async fn clear_up(
    post: &Post,
    gone: InstanceId,
    leaves: bool,
) -> Result<(), StoreError> {
    let Post { store, clock, .. } = post;
    // Read before it is forgotten: what it registers when it comes back has newer generations,
    // which no removal of these touches.
    let nodes = store.nodes_of(gone).await?;
    if !store.forget(gone, leaves).await? {
        return Ok(());
    }
    for node in nodes {
        store.apply(clock.now(), &Op::Remove(node)).await?;
    }
    for entry in store.left_by(gone).await? {
        match Header::parse(&entry.header, clock.now()).map(|header| header.routed) {
            // Its origin tries another node.
            Some(Routed::Assign(assign)) if assign.job.origin != gone => {
                post.send(assign.job.origin, Routed::Full(assign.job, assign.attempt)).await?;
            }
            // Its receiver is gone, and the sessions or nodes that it was about.
            _ => store.keep_dead_letter(&entry.header, "its receiver is gone").await?,
        }
    }
    store.drop_inbox(gone).await?;
    store.settle(gone).await?;
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
        let began = Instant::now();
        if let Ok(Reply::Snapshot(snapshot)) = store.apply(clock.now(), &Op::Snapshot).await
            && hub.send(Event::Shared(Shared::Snapshot(snapshot))).await.is_err()
        {
            return;
        }
        let rest = began.elapsed() * SHARE;
        if let Ok(Some(())) = timeout_at(began + COPY, changed.recv()).await {
            let _ = nudge.try_send(());
            sleep(GATHER_COPY.max(rest)).await;
        }
    }
}
