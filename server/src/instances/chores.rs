//! What one instance at a time does for all: clearing up after those who are gone, putting the
//! figures of all together, and owning a shard of rooms. Each is a duty.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use lingua_core::claim::{ClaimConfig, DutyId, Token, Tolerance};
use lingua_core::{InstanceId, Micros};
use lingua_duties::{Keeper, Order, Rules, Status, Work};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tracing::warn;

use crate::DutyConfig;
use crate::clock::Clock;
use crate::event::Event;
use crate::instances::board::{Board, LEASE};
use crate::instances::post::Post;
use crate::instances::{Shared, page, presence};
use crate::rooms::SHARDS;

/// Clearing up after instances that are gone.
const SWEEP: DutyId = DutyId(0);
/// Putting the figures of all instances together.
const AGGREGATE: DutyId = DutyId(1);

/// Owning the first shard of rooms; the others follow.
const ROOMS: u32 = 16;

/// Longest run of a sweep that finds nothing, so that the duty can be handed over.
const WATCH: Duration = Duration::from_secs(5);
/// Until then it is known who has been cleared up.
const SETTLED: Duration = Duration::from_secs(2);
/// Where nothing is to be done at times: shards of rooms, duties of another version, an instance
/// that ends.
const IDLE: Duration = Duration::from_secs(60);

/// A duty, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chore(pub(crate) DutyId);

impl fmt::Display for Chore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.shard()) {
            (SWEEP, _) => f.write_str("sweep"),
            (AGGREGATE, _) => f.write_str("aggregate"),
            (_, Some(shard)) => write!(f, "rooms-{shard}"),
            (DutyId(other), None) => write!(f, "duty-{other}"),
        }
    }
}

/// A text that names no duty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no duty has this name: sweep, aggregate and rooms-0 to rooms-{last} are", last = SHARDS - 1)]
pub(crate) struct ChoreError;

impl FromStr for Chore {
    type Err = ChoreError;

    fn from_str(name: &str) -> Result<Self, ChoreError> {
        let all = duties().into_iter().map(Self);
        all.into_iter().find(|chore| chore.to_string() == name).ok_or(ChoreError)
    }
}

impl Chore {
    /// The shard of rooms that it is.
    fn shard(self) -> Option<u16> {
        let shard = u16::try_from(self.0.0.checked_sub(ROOMS)?).ok()?;
        (shard < SHARDS).then_some(shard)
    }
}

/// All duties that there must be.
fn duties() -> Vec<DutyId> {
    let rooms = (0..SHARDS).map(|shard| DutyId(ROOMS + u32::from(shard)));
    [SWEEP, AGGREGATE].into_iter().chain(rooms).collect()
}

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

/// What is counted of this instance's duties.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DutyFigures {
    pub(crate) held: usize,
    pub(crate) alarms: u64,
}

/// Takes part in the duties until it is aborted or ordered to leave. `gone`: who is to be cleared up
/// after, as far as this instance can judge.
pub(super) async fn share(
    board: Board,
    post: Post,
    config: DutyConfig,
    (gone, every): (watch::Receiver<Vec<InstanceId>>, Duration),
    orders: mpsc::Receiver<Order>,
    hub: mpsc::Sender<Event>,
) {
    let (clock, id) = (post.clock, post.id);
    let claim = ClaimConfig {
        lease: LEASE,
        tolerance: Tolerance::new(config.tolerance).unwrap_or(Tolerance::ONE),
        alarm_above: config.alarm_above as usize,
        ..ClaimConfig::new(id)
    };
    let rules = Rules { claim, duties: duties(), seed: id.0.into(), spreads: true };
    let (keeper, status) = Keeper::new(board, Chores { post, gone, every }, rules);
    tokio::join!(
        keeper.run(orders),
        tell_hub(status.clone(), clock, hub),
        post_alarms(status, id, config)
    );
}

/// Tells the hub what is held, and until when, whenever that changes.
async fn tell_hub(mut status: watch::Receiver<Status>, clock: Clock, hub: mpsc::Sender<Event>) {
    while status.changed().await.is_ok() {
        let Status { held, until, alarms } = status.borrow_and_update().clone();
        let figures = DutyFigures { held: held.len(), alarms };
        let shards = held.iter().filter_map(|&(duty, token)| Some((Chore(duty).shard()?, token.0)));
        let shards = shards.collect();
        let until = until.map_or(Micros::ZERO, |until| clock.at(until));
        if hub.send(Event::Shared(Shared::Duties { figures, shards, until })).await.is_err() {
            return;
        }
    }
}

/// Posts alarms where they are wanted.
async fn post_alarms(mut status: watch::Receiver<Status>, id: InstanceId, config: DutyConfig) {
    let Some(webhook) = config.webhook else { return };
    let mut told = 0;
    while status.changed().await.is_ok() {
        let (alarms, held) = {
            let status = status.borrow_and_update();
            (status.alarms, status.held.len())
        };
        if alarms > told {
            told = alarms;
            if let Err(error) = webhook.post(id, held, config.alarm_above).await {
                warn!(instance = id.0, %webhook, %error, "an alarm could not be posted");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for duty in duties() {
            assert_eq!(Chore(duty).to_string().parse(), Ok(Chore(duty)));
        }
        for bad in ["", "rooms-", "rooms-64", "rooms-07", "duty-5", "sweep "] {
            assert_eq!(bad.parse::<Chore>(), Err(ChoreError), "{bad}");
        }
    }
}
