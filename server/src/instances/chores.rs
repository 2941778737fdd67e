//! What one instance at a time does for all: clearing up after those who are gone, and putting the
//! figures of all together. Each is a duty.

use std::time::Duration;

use lingua_core::claim::{ClaimConfig, DutyId, Token};
use lingua_core::{InstanceId, Micros};
use lingua_duties::{Keeper, Rules, Work};
use lingua_store::Store;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tracing::warn;

use crate::instances::post::Post;
use crate::instances::{page, presence};

/// Clearing up after instances that are gone.
const SWEEP: DutyId = DutyId(0);
/// Putting the figures of all instances together.
const AGGREGATE: DutyId = DutyId(1);

/// Whoever holds a duty and dies is followed after so long.
const LEASE: Micros = Micros::secs(6);
/// Longest run of a sweep that finds nothing, so that the duty can be handed over.
const WATCH: Duration = Duration::from_secs(5);
/// Until then it is known who has been cleared up.
const SETTLED: Duration = Duration::from_secs(2);
/// Where there is nothing to be done here: duties of another version, an instance that ends.
const IDLE: Duration = Duration::from_secs(60);

struct Chores {
    post: Post,
    gone: watch::Receiver<Vec<InstanceId>>,
    every: Duration,
}

impl Work for Chores {
    async fn run(&self, duty: DutyId, _: Token) -> Duration {
        match duty {
            SWEEP => {
                let mut gone = self.gone.clone();
                let some = timeout(WATCH, gone.wait_for(|gone| !gone.is_empty())).await;
                match some.map(|some| some.map(|gone| gone.clone())) {
                    Ok(Ok(gone)) => {
                        presence::sweep(&self.post, gone).await;
                        SETTLED
                    }
                    // Nobody judges here any more.
                    Ok(Err(_)) => IDLE,
                    Err(_) => Duration::ZERO,
                }
            }
            AGGREGATE => {
                if let Err(error) = page::gather(&self.post.store).await {
                    warn!(instance = self.post.id.0, %error, "figures are not put together");
                }
                // Twice as often as it is read.
                self.every / 2
            }
            _ => IDLE,
        }
    }
}

/// Takes part in the duties until it is aborted. `gone`: who is to be cleared up after, as far as
/// this instance can judge.
pub(super) async fn share(post: Post, gone: watch::Receiver<Vec<InstanceId>>, every: Duration) {
    let (store, id): (Store, InstanceId) = (post.store.clone(), post.id);
    let rules = Rules {
        claim: ClaimConfig { lease: LEASE, ..ClaimConfig::new(id) },
        duties: vec![SWEEP, AGGREGATE],
        seed: id.0.into(),
    };
    let (keeper, _) = Keeper::new(store, Chores { post, gone, every }, rules);
    let (_orders, ordered) = mpsc::channel(1);
    keeper.run(ordered).await;
}
