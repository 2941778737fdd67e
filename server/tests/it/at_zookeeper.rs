//! Instances whose duties are at ZooKeeper, and the rest on Redis.

use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lingua_server::operator::Operator;
use lingua_server::{Config, DutyConfig, RedisConfig, ServeError, serve};
use lingua_testbed::{ZooKeeperServer, end};
use tokio::net::TcpListener;

use crate::figures::{eager, samples};
use crate::http::{ask, get, until};
use crate::peers::{Client, Node, Redis, server_with, speak_until_served};
use crate::room_moves::{duty, holder, job, members, moved};
use crate::rooms::{host, joined};

/// Shards of rooms, the sweep and the page of all instances.
const DUTIES: usize = 66;
/// Longest wait for what a busy machine may delay.
const LOOKS: u32 = 1_200;
const REST: Duration = Duration::from_millis(50);

/// Tell the process that is an instance where its state and its duties are.
const REDIS: &str = "LINGUA_TEST_REDIS";
const ZOOKEEPER: &str = "LINGUA_TEST_ZOOKEEPER";

/// Where no other test has its duties.
fn place(zookeeper: &ZooKeeperServer) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}/lingua/{}/duties", zookeeper.address(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn at(place: &str, config: Config) -> Config {
    let zookeeper = Some(place.parse().unwrap());
    let duties = DutyConfig { zookeeper, ..config.redis.duties };
    let redis = RedisConfig { duties, ..config.redis };
    Config { redis, limits: eager().limits, ..config }
}

/// An instance that can be killed.
struct Instance {
    child: Child,
    url: String,
}

impl Instance {
    fn start(redis: &str, place: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "at_zookeeper::instance", "--nocapture"])
            .envs([(REDIS, redis), (ZOOKEEPER, place)])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("ws://"), "{url}");
        Self { child, url: url.trim_end().to_owned() }
    }

    fn kill(&mut self) {
        end(&mut self.child);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Not a test: the process that the tests start.
#[tokio::test]
#[ignore = "the tests start it as a process of its own"]
async fn instance() {
    let told = |name| std::env::var(name).unwrap();
    let addresses = vec![told(REDIS).into()];
    let redis = RedisConfig { addresses, ..RedisConfig::default() };
    let config = at(&told(ZOOKEEPER), Config { redis, ..Config::default() });
    eprintln!("{}", server_with(config).await);
    std::future::pending::<()>().await;
}

/// An instance that has its number: those that come later have larger ones.
async fn started(config: &Config) -> String {
    let url = server_with(config.clone()).await;
    until(&url, "/ready", 200).await;
    url
}

/// Waits until every duty is held, and as many by each instance as it says itself.
async fn held_once(config: &Config, urls: &[&str]) {
    let operator = Operator::new(&config.redis, config.state.clone()).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..LOOKS {
        let mut own = Vec::new();
        for url in urls {
            let page = samples(&get(url, "/metrics").await.body);
            own.push(page.get("scheduler_duties_held").map_or(0, |&held| held as usize));
        }
        let board = operator.duties().await.unwrap();
        let (members, duties): (Vec<_>, Vec<_>) =
            board.iter().partition(|(name, _)| name.starts_with("instance "));
        let by = |member: &str| {
            duties.iter().filter(|(_, holder)| holder.starts_with(&format!("{member},"))).count()
        };
        let mut there: Vec<_> = members.iter().map(|(member, _)| by(member)).collect();
        let all = own.iter().sum::<usize>() == DUTIES && duties.len() == DUTIES;
        own.sort_unstable();
        there.sort_unstable();
        if all && own == there {
            return;
        }
        seen = board;
        tokio::time::sleep(REST).await;
    }
    panic!("not each duty is held once: {seen:?}");
}

/// A room over two instances.
struct Talk {
    node: Node,
    speaker: Client,
    guest: Client,
    next: u64,
}

impl Talk {
    /// Speaks until `done`: every utterance is heard once, in its order.
    async fn until(&mut self, done: impl Future<Output = ()>) {
        let over = Cell::new(false);
        let speaking = async {
            while !over.get() {
                self.speaker.speak(1, true).await;
                let task = self.node.job().await;
                assert_eq!(task.utterance_index, self.next);
                let text = self.next.to_string();
                self.node.answer(&task, &text).await;
                assert_eq!(self.guest.translation().await.0, text, "each once, and in order");
                self.next += 1;
                tokio::time::sleep(REST).await;
            }
        };
        let done = async {
            done.await;
            over.set(true);
        };
        tokio::join!(speaking, done);
    }
}

#[tokio::test]
async fn a_room_speaks_on_whoever_of_its_owners_dies_or_gives_it_up() {
    let (zookeeper, redis) = (ZooKeeperServer::shared(), Redis::start());
    let place = place(&zookeeper);
    let config = at(&place, redis.config());
    let (here, there) = (started(&config).await, started(&config).await);
    let mut third = Instance::start(&config.redis.addresses[0].to_string(), &place);
    held_once(&config, &[&here, &there, &third.url]).await;

    let mut node = Node::register(&here, "n1", "zh", "en", 4).await;
    let (mut speaker, code) = host(&here, None).await;
    let mut guest = joined(&there, &code, "Ana", "en").await;
    members(&mut speaker, 2).await;
    let first = job(&mut speaker, &mut node).await;
    node.answer(&first, "first").await;
    assert_eq!(guest.translation().await.0, "first");
    let mut talk = Talk { node, speaker, guest, next: first.utterance_index + 1 };

    let duty = duty(&code);
    let path = format!("/api/v1/duties/{duty}");
    let owners = ["instance 1,", "instance 2,", "instance 3,"];
    let release = async |owner: &str| {
        let at = owners.iter().position(|known| owner.starts_with(known)).unwrap();
        let released = ask([&here, &there, &third.url][at], "DELETE", &path).await;
        assert_eq!(released.status, 202, "{}", released.body);
        moved(&config, &duty, owner).await;
    };
    talk.until(async {
        loop {
            let owner = holder(&config, &duty).await;
            if owner.starts_with(owners[2]) {
                return;
            }
            release(&owner).await;
        }
    })
    .await;
    let owner = holder(&config, &duty).await;
    third.kill();
    talk.until(moved(&config, &duty, &owner)).await;
    held_once(&config, &[&here, &there]).await;

    let mut late = joined(&here, &code, "Bo", "en").await;
    members(&mut talk.speaker, 3).await;
    members(&mut talk.guest, 3).await;
    let task = job(&mut talk.speaker, &mut talk.node).await;
    talk.node.answer(&task, "to both").await;
    assert_eq!(talk.guest.translation().await.0, "to both");
    assert_eq!(late.translation().await.0, "to both");

    let operator = Operator::new(&config.redis, config.state.clone()).await.unwrap();
    operator.drain_instance(1, true, false).await.unwrap();
    let drained = ("instance 1".to_owned(), "holds 0, on the drain list".to_owned());
    while !operator.duties().await.unwrap().contains(&drained) {
        tokio::time::sleep(REST).await;
    }
    operator.drain_instance(1, false, false).await.unwrap();
    let wish = ask(&there, "DELETE", &path).await;
    assert_eq!(wish.status, 202, "{}", wish.body);
    held_once(&config, &[&here, &there]).await;
}

#[tokio::test]
async fn sessions_go_on_while_zookeeper_is_away() {
    let (mut zookeeper, redis) = (ZooKeeperServer::start(), Redis::start());
    let config = at(&place(&zookeeper), redis.config());
    let (here, there) = (server_with(config.clone()).await, server_with(config.clone()).await);
    held_once(&config, &[&here, &there]).await;
    let mut node = Node::register(&there, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&here, "zh", "en").await;
    speak_until_served(&mut client, &mut node, "before").await;

    zookeeper.away();
    for url in [&here, &there] {
        while samples(&get(url, "/metrics").await.body)["scheduler_duties_held"] > 0.0 {
            client.speak(1, true).await;
            let task = node.job().await;
            node.answer(&task, "meanwhile").await;
            assert_eq!(client.translation().await.0, "meanwhile");
            tokio::time::sleep(REST).await;
        }
        assert_eq!(get(url, "/ready").await.status, 200);
    }
    speak_until_served(&mut client, &mut node, "without duties").await;
    zookeeper.back();
    held_once(&config, &[&here, &there]).await;
    speak_until_served(&mut client, &mut node, "after").await;
}

async fn refused(config: Config) -> ServeError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    serve(config, listener, std::future::ready(())).await.unwrap_err()
}

#[tokio::test]
async fn duties_at_two_places_are_refused() {
    let (zookeeper, redis) = (ZooKeeperServer::shared(), Redis::start());
    let (one, other) = (place(&zookeeper), place(&zookeeper));
    let here = started(&at(&one, redis.config())).await;
    for config in [redis.config(), at(&other, redis.config())] {
        let told = refused(config.clone()).await.to_string();
        let root = one.split_once('/').unwrap().1;
        let says = format!("instance 1 keeps its duties at ZooKeeper under /{root}: give all");
        assert!(told.starts_with(&says), "{told}");
        let operator = Operator::new(&config.redis, config.state.clone()).await.unwrap();
        let instances = operator.stats().await.unwrap();
        let instances = instances.iter().filter(|(name, _)| name.starts_with("instance "));
        assert_eq!(instances.count(), 1, "who is refused is no member");
        let told = operator.duties().await.unwrap_err().to_string();
        assert!(told.contains("say so by duty_zookeeper as the instances do"), "{told}");
        let told = operator.drain_instance(1, true, false).await.unwrap_err().to_string();
        assert!(told.contains("say so by duty_zookeeper as the instances do"), "{told}");
    }
    held_once(&at(&one, redis.config()), &[&here]).await;
}

#[tokio::test]
async fn a_zookeeper_that_cannot_be_served_refuses_the_start() {
    let (zookeeper, redis) = (ZooKeeperServer::shared(), Redis::start());
    let mut nobody = ZooKeeperServer::start();
    nobody.away();
    let told = refused(at(&place(&nobody), redis.config())).await.to_string();
    assert!(told.contains("no session at ZooKeeper 127.0.0.1:"), "{told}");

    let mut own = at(&place(&zookeeper), redis.config());
    own.redis.duties.zookeeper_login = Some("lingua:se:cret".parse().unwrap());
    let here = server_with(own.clone()).await;
    held_once(&own, &[&here]).await;
    let mut others = own.clone();
    others.redis.duties.zookeeper_login = Some("lingua:other".parse().unwrap());
    let told = refused(others).await.to_string();
    assert!(told.starts_with("no authority over /lingua/"), "{told}");
}
