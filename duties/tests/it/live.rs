//! Five processes and two hundred duties on one board: killed, frozen, drained.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lingua_core::claim::{Cause, DutyId, Op, Reply, View};
use lingua_core::{InstanceId, Micros};
use lingua_duties::Coordinator;
use lingua_testbed::{PATIENCE, RedisServer, ZooKeeperServer, end};
use tokio::time::sleep;

use crate::instance::{LEASE, NUMBER, REDIS, ROOT, RUNS, ZOOKEEPER, store};
use crate::zookeeper::{new_root, zookeeper};

const DUTIES: u32 = 200;
const INSTANCES: u16 = 5;
/// Longest span in which all duties are to be held again after a death is known.
const SLACK: Duration = Duration::from_secs(2);

struct Instance(Child);

impl Instance {
    fn start(board: &[(&str, String)], number: u16, runs: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "instance::instance", "--nocapture"])
            .envs(board.iter().map(|(name, value)| (name, value)))
            .env(NUMBER, number.to_string())
            .env(RUNS, runs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn signal(&self, name: &str) {
        let told = Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap();
        assert!(told.success());
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

async fn step<C: Coordinator>(board: &C, op: Op) -> Reply {
    board.apply(Micros::ZERO, op).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn look<C: Coordinator>(board: &C) -> Arc<View> {
    match step(board, Op::Look(Cause::Tick)).await {
        Reply::View(_, view) => view,
        other => panic!("{other:?}"),
    }
}

/// Waits until a view is as it should be; how long that took.
async fn until<C: Coordinator>(board: &C, what: &str, is_so: impl Fn(&View) -> bool) -> Duration {
    let since = Instant::now();
    loop {
        let view = look(board).await;
        if is_so(&view) {
            eprintln!("{what}: after {:.1} s", since.elapsed().as_secs_f64());
            return since.elapsed();
        }
        let held: Vec<_> = (0..INSTANCES).map(|id| held_by(&view, id)).collect();
        let members = &view.members;
        assert!(since.elapsed() < PATIENCE, "{what}: not so: {held:?} by {members:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

fn held_by(view: &View, instance: u16) -> usize {
    let by = |holder: &lingua_core::claim::Holder| holder.instance == InstanceId(instance);
    view.duties.iter().filter(|(_, holder)| holder.as_ref().is_some_and(by)).count()
}

/// All duties are held, by these instances and no others.
fn all_held_by(view: &View, instances: &[u16]) -> bool {
    instances.iter().map(|&id| held_by(view, id)).sum::<usize>() == DUTIES as usize
}

/// Every run that counted, by all instances: for each duty its numbers are whole, each is there
/// once, and no later one has a smaller token.
fn check_runs(runs: &[PathBuf]) -> (usize, usize) {
    let mut counted = BTreeMap::new();
    let (mut all, mut refused) = (0, 0);
    for line in runs.iter().flat_map(|runs| {
        let text = std::fs::read_to_string(runs).unwrap_or_default();
        // A killed process may leave the beginning of a line.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        text[..whole].lines().map(str::to_owned).collect::<Vec<_>>()
    }) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [duty, token, _, ran] = fields[..] else { panic!("{line}") };
        if ran == "refused" {
            refused += 1;
            continue;
        }
        all += 1;
        let key = (duty.parse::<u32>().unwrap(), ran.parse::<u64>().unwrap());
        let before = counted.insert(key, token.parse::<u64>().unwrap());
        assert!(before.is_none(), "run {} of duty {} counted twice", key.1, key.0);
    }
    let mut last = (u32::MAX, 0);
    for (&(duty, _), &token) in &counted {
        assert!(last.0 != duty || last.1 <= token, "duty {duty}: an older token after a newer one");
        last = (duty, token);
    }
    (all, refused)
}

#[tokio::test]
async fn on_redis_every_duty_is_held_by_exactly_one_whatever_dies() {
    let server = RedisServer::start();
    whatever_dies(&store(&server.url()).await, &[(REDIS, server.url())]).await;
}

/// The runs are counted on Redis all the same: what they write to is not the board.
#[tokio::test]
async fn on_zookeeper_every_duty_is_held_by_exactly_one_whatever_dies() {
    let (server, redis, root) = (ZooKeeperServer::shared(), RedisServer::start(), new_root());
    let board = zookeeper(&server.address(), &root).await;
    let told = [(REDIS, redis.url()), (ZOOKEEPER, server.address()), (ROOT, root)];
    whatever_dies(&board, &told).await;
}

async fn whatever_dies<C: Coordinator>(board: &C, told: &[(&str, String)]) {
    let folder = tempfile::tempdir().unwrap();
    for duty in 0..DUTIES {
        step(board, Op::Create(DutyId(duty))).await;
    }
    let runs: Vec<PathBuf> =
        (0..INSTANCES).map(|number| folder.path().join(number.to_string())).collect();
    let start = |number: u16| Instance::start(told, number, &runs[usize::from(number)]);
    let mut instances: Vec<Instance> = (0..INSTANCES).map(start).collect();
    until(board, "all held by five", |view| {
        view.members.len() == 5 && all_held_by(view, &[0, 1, 2, 3, 4])
    })
    .await;
    // Who came first may hold more than its limit for five: what is held is not taken away.
    let view = look(board).await;
    eprintln!("each holds {:?}", (0..INSTANCES).map(|id| held_by(&view, id)).collect::<Vec<_>>());

    instances.drain(..2);
    let took =
        until(board, "two killed, all held by three", |view| all_held_by(view, &[2, 3, 4])).await;
    eprintln!("promised within {:.1} s", (lease() + SLACK).as_secs_f64());
    assert!(took >= lease() / 2, "nobody can know earlier: {took:?}");

    instances[0].signal("-STOP");
    until(board, "one frozen, all held by two", |view| all_held_by(view, &[3, 4])).await;
    instances[0].signal("-CONT");
    until(board, "awake again, and a member anew", |view| {
        view.members.len() == 3 && all_held_by(view, &[2, 3, 4])
    })
    .await;

    let drain = |instance, force| Op::Drain { instance: InstanceId(instance), force };
    assert_eq!(step(board, drain(3, false)).await, Reply::Done);
    until(board, "half drained", |view| held_by(view, 3) < 40).await;
    let refused = step(board, drain(4, false)).await;
    assert_eq!(refused, Reply::Draining(InstanceId(3)), "one after the other");
    let stays = step(board, Op::EndDrain(InstanceId(3))).await;
    assert_eq!(stays, Reply::Done);
    until(board, "the mind is changed, all held", |view| all_held_by(view, &[2, 3, 4])).await;
    assert_eq!(step(board, drain(3, false)).await, Reply::Done);
    until(board, "drained, all held by two", |view| all_held_by(view, &[2, 4])).await;
    drop(instances);
    let (all, refused) = check_runs(&runs);
    eprintln!("{all} runs counted, {refused} refused");
    assert!(all > 10 * DUTIES as usize, "{all}");
}

fn lease() -> Duration {
    Duration::from_micros(LEASE.0)
}
