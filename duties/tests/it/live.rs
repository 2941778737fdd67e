//! Five processes and two hundred duties on one Redis: killed, frozen, drained.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lingua_core::claim::{Cause, DutyId, Op, Reply, View};
use lingua_core::{InstanceId, Micros};
use lingua_store::Store;
use tokio::time::sleep;

use crate::instance::{LEASE, NUMBER, REDIS, RUNS, store};

const DUTIES: u32 = 200;
const INSTANCES: u16 = 5;
/// Longest wait for what is promised within the lease and two seconds: a busy machine is slower.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest span in which all duties are to be held again after a death is known.
const SLACK: Duration = Duration::from_secs(2);

struct Server(
    Child,
    u16,
    #[allow(dead_code, reason = "it goes with the server")] tempfile::TempDir,
);

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server can be started: `apt-get install redis-server`, or .ci/run does");
        let since = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(since.elapsed() < PATIENCE, "redis-server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(child.try_wait().unwrap().is_none(), "another process has taken port {port}");
        Self(child, port, folder)
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.1)
    }
}

struct Instance(Child);

impl Instance {
    fn start(server: &Server, number: u16, runs: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "instance::instance", "--nocapture"])
            .env(REDIS, server.url())
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

/// Ends a process that was started here.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for Instance {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

async fn look(store: &Store) -> Arc<View> {
    match store.duty(Micros::ZERO, &Op::Look(Cause::Tick)).await.unwrap() {
        Reply::View(_, view) => view,
        other => panic!("{other:?}"),
    }
}

/// Waits until a view is as it should be; how long that took.
async fn until(store: &Store, what: &str, is_so: impl Fn(&View) -> bool) -> Duration {
    let since = Instant::now();
    loop {
        let view = look(store).await;
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
async fn every_duty_is_held_by_exactly_one_whatever_dies() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let store = store(&server.url()).await;
    for duty in 0..DUTIES {
        store.duty(Micros::ZERO, &Op::Create(DutyId(duty))).await.unwrap();
    }
    let runs: Vec<PathBuf> =
        (0..INSTANCES).map(|number| folder.path().join(number.to_string())).collect();
    let start = |number: u16| Instance::start(&server, number, &runs[usize::from(number)]);
    let mut instances: Vec<Instance> = (0..INSTANCES).map(start).collect();
    until(&store, "all held by five", |view| {
        view.members.len() == 5 && all_held_by(view, &[0, 1, 2, 3, 4])
    })
    .await;
    // Who came first may hold more than its limit for five: what is held is not taken away.
    let view = look(&store).await;
    eprintln!("each holds {:?}", (0..INSTANCES).map(|id| held_by(&view, id)).collect::<Vec<_>>());

    instances.drain(..2);
    let took =
        until(&store, "two killed, all held by three", |view| all_held_by(view, &[2, 3, 4])).await;
    eprintln!("promised within {:.1} s", (lease() + SLACK).as_secs_f64());
    assert!(took >= lease() / 2, "nobody can know earlier: {took:?}");

    instances[0].signal("-STOP");
    until(&store, "one frozen, all held by two", |view| all_held_by(view, &[3, 4])).await;
    instances[0].signal("-CONT");
    until(&store, "awake again, and a member anew", |view| {
        view.members.len() == 3 && all_held_by(view, &[2, 3, 4])
    })
    .await;

    let drain = |instance, force| Op::Drain { instance: InstanceId(instance), force };
    assert_eq!(store.duty(Micros::ZERO, &drain(3, false)).await.unwrap(), Reply::Done);
    until(&store, "half drained", |view| held_by(view, 3) < 40).await;
    let refused = store.duty(Micros::ZERO, &drain(4, false)).await.unwrap();
    assert_eq!(refused, Reply::Draining(InstanceId(3)), "one after the other");
    let stays = store.duty(Micros::ZERO, &Op::EndDrain(InstanceId(3))).await.unwrap();
    assert_eq!(stays, Reply::Done);
    until(&store, "the mind is changed, all held", |view| all_held_by(view, &[2, 3, 4])).await;
    assert_eq!(store.duty(Micros::ZERO, &drain(3, false)).await.unwrap(), Reply::Done);
    until(&store, "drained, all held by two", |view| all_held_by(view, &[2, 4])).await;
    drop(instances);
    let (all, refused) = check_runs(&runs);
    eprintln!("{all} runs counted, {refused} refused");
    assert!(all > 10 * DUTIES as usize, "{all}");
}

fn lease() -> Duration {
    Duration::from_micros(LEASE.0)
}
