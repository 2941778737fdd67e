//! What a reservation costs the store: dispatches per second against 1,000 nodes, beside a script
//! that does nothing with as many keys, one that sends the same commands without a rule between
//! them and one that sends the fewest that any reservation needs; the memory of nodes and jobs; and
//! the commands of a job.

#[allow(dead_code, clippy::unwrap_used, reason = "shared with the tests")]
#[path = "../tests/it/servers.rs"]
mod servers;

use std::process::Command;

use lingua_core::*;
use lingua_store::{Inbox, Layout, Scripts, Step, Store, StoreClock, StoreConfig};
use redis::{Connection, cmd};
use tokio::runtime::Runtime;

use servers::Servers;

const NODES: u32 = 1_000;
const REQUESTS: u32 = 20_000;
/// The scripts take turns so often; the middle one of each counts.
const ROUNDS: usize = 5;
/// Jobs whose commands are counted. Their headers are acknowledged together, as an instance that
/// gets 200 a second does.
const JOBS: u64 = 20;
/// Enough slots that none is full.
const MAX_JOBS: u32 = 1_024;
/// redis-benchmark puts a number below 1,000 in its place.
const RANDOM: &str = "__rand_int__";
const NOW: Micros = Micros::secs(1_900_000_000);

/// The commands of a dispatch that finds a slot at once.
const BARE: &str = "local call = redis.call \
    call('TIME') \
    call('ZCOUNT', 'expiries', '-inf', '1') \
    call('GET', KEYS[1]) \
    call('HMGET', 'node' .. ARGV[2], 'state', 'first') \
    call('HLEN', 'leases' .. ARGV[2]) \
    call('ZSCORE', 'pair', '1') \
    call('HINCRBY', 'node' .. ARGV[2], 'granted', 1) \
    call('HSET', 'leases' .. ARGV[2], ARGV[7], '1 1900000000000000 1900000000000000 1 1 1 1 en') \
    call('SET', KEYS[1], '1 1 1 0 1 2 0', 'PX', 1320000) \
    return {0, 0, 0, 1, 1, 1, ARGV[7], 2}";

/// The fewest commands of any script that reserves by the time of the store, once however often it
/// is asked, and with a lease: the time, what the request was answered, the node, its lease, the
/// answer.
const FEWEST: &str = "local call = redis.call \
    call('TIME') \
    call('GET', KEYS[1]) \
    call('HMGET', 'few' .. ARGV[2], 'state', 'first') \
    call('HSET', 'few' .. ARGV[2], ARGV[7], '1 1900000000000000 1900000000000000 1 1 1 1 en') \
    call('SET', KEYS[1], '1 1 1 0 1 2 0', 'PX', 1320000) \
    return {0, 0, 0, 1, 1, 1, ARGV[7], 2}";

fn main() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    rates(&runtime);
    for servers in [Servers::one(), Servers::cluster()] {
        commands(&runtime, servers);
    }
}

fn rates(runtime: &Runtime) {
    let mut servers = Servers::one();
    let state = StateConfig::default();
    let store = runtime.block_on(servers.store(&state));
    let before = memory(&mut servers.connections[0]);
    runtime.block_on(async {
        for num in 0..NODES {
            register(&store, num).await;
        }
    });
    let after = memory(&mut servers.connections[0]);
    println!("memory of {NODES} nodes without jobs: {} kB", (after - before) / 1_000);

    let connection = &mut servers.connections[0];
    let scripts = Scripts::new(Layout::OneServer, &state);
    let texts = [scripts.text(Step::Dispatch), BARE, FEWEST, "return 1"];
    let hashes = texts.map(|text| load(connection, text));
    let url = servers.servers[0].url();
    let port = url.rsplit(':').next().expect("a port");
    for pipeline in ["1", "16"] {
        let mut rounds = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            for (hash, rates) in hashes.iter().zip(&mut rounds) {
                rates.push(rate(port, pipeline, hash));
            }
        }
        let [dispatch, bare, fewest, trivial] = rounds.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[ROUNDS / 2]
        });
        println!(
            "pipeline {pipeline}: {dispatch:.0} reservations/s; the same commands without rules \
             {bare:.0}/s, ratio {:.2}; a script that does nothing {trivial:.0}/s, ratio {:.2}, and \
             of the fewest commands that any reservation needs to it {:.2}",
            dispatch / bare,
            dispatch / trivial,
            fewest / trivial,
        );
    }
    // Answers are told apart by session and index, a thousand of each.
    let answers: u64 = cmd("DBSIZE").query(&mut servers.connections[0]).expect("DBSIZE");
    let held = memory(&mut servers.connections[0]) - after;
    println!("memory of jobs: {} kB, {answers} keys in all", held / 1_000);
}

async fn register(store: &Store, num: u32) -> NodeRef {
    let langs = |tags: [&str; 2]| tags.map(|tag| tag.parse().expect("a language"));
    let (both, rule) = (langs(["zh", "en"]), PoolRule::AsrXTts);
    let languages = Languages::new(&both, &both, &both, rule).expect("languages");
    let register = Register {
        name: format!("node-{num:06}").into(),
        caps: Capabilities { languages, ..Capabilities::default() },
        max_jobs: MAX_JOBS,
        owner: InstanceId(0),
    };
    let reply = store.apply(NOW, &Op::Register(Box::new(register))).await;
    let Ok(Reply::Registered(Ok(node))) = reply else { panic!("{reply:?}") };
    let beat = store.apply(NOW, &Op::Heartbeat(node, Report::default())).await;
    assert!(matches!(beat, Ok(Reply::Node(Ok(())))), "{beat:?}");
    node
}

fn memory(connection: &mut Connection) -> u64 {
    let info: String = cmd("INFO").arg("memory").query(connection).expect("INFO");
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    used.and_then(|bytes| bytes.parse().ok()).expect("used_memory")
}

fn load(connection: &mut Connection, text: &str) -> String {
    cmd("SCRIPT").arg("LOAD").arg(text).query(connection).expect("a hash")
}

/// Calls per second, as redis-benchmark measures them over 50 connections.
fn rate(port: &str, pipeline: &str, script: &str) -> f64 {
    let requests = REQUESTS.to_string();
    let answer = format!("lingua:v1:{{s:{RANDOM}}}:answer:{RANDOM}:en");
    let affinity = format!("lingua:v1:{{s:{RANDOM}}}:affinity");
    let lease = RANDOM.repeat(2);
    let args = [
        "", RANDOM, RANDOM, "zh", "en", "1", &lease, "0", "0", "0", "-1", "-1", "0", "-1", "7",
        "60000000", "|", RANDOM, RANDOM, RANDOM, RANDOM, RANDOM,
    ];
    let output = Command::new("redis-benchmark")
        .args(["-p", port, "-n", &requests, "-P", pipeline, "-r", "1000", "-c", "50", "--csv"])
        .args(["EVALSHA", script, "2", &answer, &affinity])
        .args(args)
        .output()
        .expect("redis-benchmark runs: it comes with redis-tools");
    let text = String::from_utf8_lossy(&output.stdout);
    let row = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut fields = row.rsplit("\",\"").map(|field| field.trim_matches('"'));
    // test, rps, avg, min, p50, p95, p99, max: the script's own name may hold commas.
    fields.nth(6).and_then(|rps| rps.parse().ok()).unwrap_or_else(|| panic!("no rate in {text}"))
}

/// Commands of one job, its session and node at one instance and at two.
fn commands(runtime: &Runtime, mut servers: Servers) {
    servers.flush();
    let layout = servers.layout;
    runtime.block_on(async {
        let config = servers.config(&StateConfig::default());
        let config = StoreConfig { clock: StoreClock::Store, ..config };
        let store = Store::connect(config).await.expect("a store");
        let node = register(&store, 0).await;
        let [here, there] = [InstanceId(1), InstanceId(2)];
        let mut inboxes = [
            store.open_inbox(here).await.expect("one"),
            store.open_inbox(there).await.expect("two"),
        ];
        for inbox in &mut inboxes {
            inbox.read().await.expect("nothing was read before");
        }
        for apart in [false, true] {
            let before = (store.counts().commands(), calls(&mut servers));
            let mut read = [const { Vec::new() }; 2];
            for n in 0..JOBS {
                let session = SessionId(2 * n + u64::from(apart));
                let request = RequestId { session, index: 0, tgt: "en".parse().expect("a tag") };
                let lease = LeaseId::new(here, session.0);
                reserve(&store, layout, request, lease, node.num).await;
                if apart {
                    read[1].extend(pass(&store, there, &mut inboxes[1]).await);
                    apply(&store, &Op::Confirm(node, lease)).await;
                    read[0].extend(pass(&store, here, &mut inboxes[0]).await);
                }
                apply(&store, &Op::Release(Release { node, lease, attempt: 1, request })).await;
                if layout == Layout::Cluster {
                    apply(&store, &Op::End(request, lease)).await;
                }
            }
            for (inbox, read) in inboxes.iter().zip(&read) {
                inbox.acks().done(read).await.expect("deleted");
            }
            let sent = store.counts().commands() - before.0;
            let where_ = if apart { "two instances" } else { "one instance" };
            let inside = calls(&mut servers) - before.1 - sent;
            let [sent, inside] = [sent, inside].map(|count| count as f64 / JOBS as f64);
            println!(
                "{layout:?}, {where_}: {sent:.1} commands a job; inside scripts {inside:.1} calls"
            );
        }
        let before = (store.counts().commands(), calls(&mut servers));
        apply(&store, &Op::Heartbeat(node, Report::default())).await;
        apply(&store, &Op::Hint(node.num, true)).await;
        let sent = store.counts().commands() - before.0;
        let inside = calls(&mut servers) - before.1 - sent;
        println!("{layout:?}: {sent} commands a heartbeat; inside scripts {inside} calls");
    });
}

async fn apply(store: &Store, op: &Op) -> Reply {
    store.apply(NOW, op).await.expect("a reply")
}

async fn reserve(store: &Store, layout: Layout, request: RequestId, lease: LeaseId, num: NodeNum) {
    let needs = Needs::pair(Pair { src: "zh".parse().expect("a tag"), tgt: request.tgt });
    let (excluded, deadline) = (Excluded::default(), NOW + Micros::secs(60));
    if layout == Layout::OneServer {
        let mut candidates = Candidates::default();
        candidates.push(num);
        let dispatch = Dispatch {
            request,
            attempt: 1,
            lease,
            needs,
            affinity: true,
            preferred: None,
            excluded,
            candidates,
            scan: Some(7),
            deadline,
        };
        let reply = apply(store, &Op::Dispatch(dispatch)).await;
        assert!(matches!(reply, Reply::Dispatched(_)), "{reply:?}");
        return;
    }
    let target = Target { node: num, generation: None, via: Via::Candidate };
    let open = Open { request, attempt: 1, lease, affinity: true, target: Some(target), deadline };
    apply(store, &Op::Open(open)).await;
    let reserve = Reserve { target, request, attempt: 1, lease, needs, excluded, deadline };
    let reply = apply(store, &Op::Reserve(reserve)).await;
    assert!(matches!(reply, Reply::Reserved(Reserved::Granted { .. })), "{reply:?}");
}

/// A header from instance to instance; what is to be acknowledged.
async fn pass(store: &Store, to: InstanceId, inbox: &mut Inbox) -> Vec<String> {
    store.post(to, "header").await.expect("posted");
    let entries = inbox.read().await.expect("read");
    entries.into_iter().map(|entry| entry.id).collect()
}

/// Commands that the servers have carried out, those of scripts included and those that ask for
/// this not.
fn calls(servers: &mut Servers) -> u64 {
    let mut sum = 0;
    for connection in &mut servers.connections {
        let info: String = cmd("INFO").arg("commandstats").query(connection).expect("INFO");
        let ours = info.lines().filter(|line| !line.starts_with("cmdstat_info"));
        let counts = ours.filter_map(|line| line.split_once(":calls=")?.1.split(',').next());
        sum += counts.filter_map(|count| count.parse::<u64>().ok()).sum::<u64>();
    }
    sum
}
