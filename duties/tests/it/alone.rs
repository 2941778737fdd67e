//! An instance on its own, with the board in its process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lingua_core::InstanceId;
use lingua_core::Micros;
use lingua_core::claim::{ClaimConfig, DutyId, Token};
use lingua_duties::{Embedded, Keeper, Order, Rules, Work};
use tokio::sync::mpsc;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Default)]
struct Count(Arc<AtomicU64>);

impl Work for Count {
    async fn run(&self, _: DutyId, _: Token) -> Duration {
        self.0.fetch_add(1, Ordering::Relaxed);
        Duration::from_millis(10)
    }
}

/// Panics at its first run.
struct Trips(Count);

impl Work for Trips {
    async fn run(&self, duty: DutyId, token: Token) -> Duration {
        let rest = self.0.run(duty, token).await;
        assert!(self.0.0.load(Ordering::Relaxed) > 1, "the first run of a test");
        rest
    }
}

#[tokio::test]
async fn a_run_that_panics_is_not_the_last() {
    let work = Count::default();
    let rules = Rules { duties: vec![DutyId(0)], ..rules(1) };
    let (keeper, _) = Keeper::new(Embedded::default(), Trips(work.clone()), rules);
    let (_orders, ordered) = mpsc::channel(1);
    tokio::spawn(keeper.run(ordered));
    let more = async {
        while work.0.load(Ordering::Relaxed) < 5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, more).await.unwrap();
}

fn rules(instance: u16) -> Rules {
    let claim = ClaimConfig {
        lease: Micros::secs(3),
        tick: Micros::millis(200),
        ..ClaimConfig::new(InstanceId(instance))
    };
    Rules { claim, duties: (0..20).map(DutyId).collect(), seed: instance.into(), spreads: false }
}

#[tokio::test]
async fn a_newcomer_gets_its_share() {
    let board = Embedded::default();
    let mut all = Vec::new();
    for instance in 1..=3 {
        let rules = Rules { spreads: true, ..rules(instance) };
        let (keeper, mut status) = Keeper::new(board.clone(), Count::default(), rules);
        let (orders, ordered) = mpsc::channel(1);
        tokio::spawn(keeper.run(ordered));
        let some = |status: &lingua_duties::Status| !status.held.is_empty();
        timeout(PATIENCE, status.wait_for(some)).await.unwrap().unwrap();
        all.push((status, orders));
    }
    let even = async {
        loop {
            let held = all.iter().map(|(status, _)| status.borrow().held.len());
            let held: Vec<usize> = held.collect();
            if held.iter().sum::<usize>() == 20 && held.iter().all(|held| [6, 7].contains(held)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, even).await.unwrap();
}

#[tokio::test]
async fn one_instance_holds_all_and_gives_all_up() {
    let board = Embedded::default();
    let work = Count::default();
    let (keeper, mut status) = Keeper::new(board.clone(), work.clone(), rules(1));
    let (orders, ordered) = mpsc::channel(8);
    let kept = tokio::spawn(keeper.run(ordered));
    let all = |status: &lingua_duties::Status| status.held.len() == 20;
    timeout(PATIENCE, status.wait_for(all)).await.unwrap().unwrap();
    let runs = work.0.load(Ordering::Relaxed);
    let more = async {
        while work.0.load(Ordering::Relaxed) < runs + 100 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, more).await.unwrap();
    // A second one takes its share of what the first gives up.
    let (second, mut other) = Keeper::new(board.clone(), Count::default(), rules(2));
    let (_orders, ordered) = mpsc::channel(8);
    tokio::spawn(second.run(ordered));
    orders.send(Order::Release(DutyId(5))).await.unwrap();
    let has_it =
        |status: &lingua_duties::Status| status.held.iter().map(|(duty, _)| *duty).eq([DutyId(5)]);
    timeout(PATIENCE, other.wait_for(has_it)).await.unwrap().unwrap();
    orders.send(Order::Leave).await.unwrap();
    timeout(PATIENCE, kept).await.unwrap().unwrap();
    timeout(PATIENCE, other.wait_for(all)).await.unwrap().unwrap();
}
