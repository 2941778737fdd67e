//! One instance as a process of its own: it keeps duties, and counts every run on Redis.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lingua_core::claim::{ClaimConfig, DutyId, Holder, Token};
use lingua_core::{InstanceId, Micros, StateConfig};
use lingua_duties::{Coordinator, Keeper, Rules, Work};
use lingua_store::{Layout, Store, StoreClock, StoreConfig};
use tokio::sync::mpsc;

use crate::zookeeper::zookeeper;

/// Life of a membership, and how often it is renewed.
pub(crate) const LEASE: Micros = Micros::secs(4);
const TICK: Micros = Micros::millis(800);
/// Between two runs of a duty.
const REST: Duration = Duration::from_millis(100);
/// What tells the process who it is and where to write.
pub(crate) const REDIS: &str = "LINGUA_DUTIES_REDIS";
pub(crate) const ZOOKEEPER: &str = "LINGUA_DUTIES_ZOOKEEPER";
pub(crate) const ROOT: &str = "LINGUA_DUTIES_ROOT";
pub(crate) const NUMBER: &str = "LINGUA_DUTIES_NUMBER";
pub(crate) const RUNS: &str = "LINGUA_DUTIES_RUNS";

pub(crate) async fn store(url: &str) -> Store {
    let config = StoreConfig {
        urls: vec![url.into()],
        layout: Layout::OneServer,
        state: StateConfig::default(),
        timeout: Duration::from_secs(2),
        clock: StoreClock::Store,
    };
    Store::connect(config).await.unwrap()
}

struct Counted {
    store: Store,
    instance: InstanceId,
    runs: Arc<Mutex<std::fs::File>>,
}

impl Work for Counted {
    async fn run(&self, duty: DutyId, token: Token) -> Duration {
        let holder = Holder { instance: self.instance, token };
        let Ok(ran) = self.store.duty_ran(Micros::ZERO, duty, holder).await else { return REST };
        let ran = ran.map_or_else(|| "refused".to_owned(), |ran| ran.to_string());
        let line = format!("{} {} {} {ran}\n", duty.0, token.0, self.instance.0);
        // Whole lines, whoever else writes.
        self.runs.lock().unwrap().write_all(line.as_bytes()).unwrap();
        REST
    }
}

/// Not a test: the process that the live tests start.
#[tokio::test]
#[ignore = "the live tests start it as a process of its own"]
async fn instance() {
    let told = |name| std::env::var(name).unwrap();
    let (store, number) = (store(&told(REDIS)).await, told(NUMBER).parse().unwrap());
    let runs = std::fs::OpenOptions::new().create(true).append(true).open(told(RUNS)).unwrap();
    let instance = InstanceId(number);
    let work = Counted { store: store.clone(), instance, runs: Arc::new(Mutex::new(runs)) };
    match std::env::var(ZOOKEEPER) {
        Ok(address) => keep(zookeeper(&address, &told(ROOT)).await, work).await,
        Err(_) => keep(store, work).await,
    }
}

async fn keep<C: Coordinator>(board: C, work: Counted) {
    let instance = work.instance;
    let claim = ClaimConfig { lease: LEASE, tick: TICK, ..ClaimConfig::new(instance) };
    let rules = Rules { claim, duties: Vec::new(), seed: instance.0.into(), spreads: false };
    let (keeper, _) = Keeper::new(board, work, rules);
    let (_orders, ordered) = mpsc::channel(1);
    keeper.run(ordered).await;
}
