//! What a reservation costs the store: dispatches per second against 1,000 nodes, beside a script
//! that does nothing with as many keys, both sent by redis-benchmark; and the memory of the nodes.

#[allow(dead_code, clippy::unwrap_used, reason = "shared with the tests")]
#[path = "../tests/it/servers.rs"]
mod servers;

use std::process::Command;

use lingua_core::*;
use lingua_store::{Layout, Scripts, Step, Store};
use redis::{Connection, cmd};

use servers::Servers;

const NODES: u32 = 1_000;
const REQUESTS: u32 = 20_000;
/// Enough slots that none is full.
const MAX_JOBS: u32 = 1_024;
/// redis-benchmark puts a number below 1,000 in its place.
const RANDOM: &str = "__rand_int__";

fn main() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut servers = Servers::one();
    let state = StateConfig::default();
    let store = runtime.block_on(servers.store(&state));
    let before = memory(&mut servers.connections[0]);
    runtime.block_on(register(&store));
    let after = memory(&mut servers.connections[0]);
    println!("memory of {NODES} nodes without jobs: {} kB", (after - before) / 1_000);

    let scripts = Scripts::new(Layout::OneServer, &state);
    let dispatch = load(&mut servers.connections[0], scripts.text(Step::Dispatch));
    let trivial = load(&mut servers.connections[0], "return 1");
    let url = servers.servers[0].url();
    let port = url.rsplit(':').next().expect("a port");
    let answer = format!("lingua:v1:{{s:{RANDOM}}}:answer:{RANDOM}:en");
    let affinity = format!("lingua:v1:{{s:{RANDOM}}}:affinity");
    let keys = [answer.as_str(), affinity.as_str()];
    let lease = RANDOM.repeat(2);
    let dispatch_args = [
        "", RANDOM, RANDOM, "zh", "en", "1", &lease, "0", "0", "0", "-1", "-1", "1", "-1", "7",
        "60000000", "|", RANDOM, RANDOM, RANDOM, RANDOM, RANDOM,
    ];
    for pipeline in ["1", "16"] {
        let bare = rate(port, pipeline, &trivial, &keys, &[]);
        let reservations = rate(port, pipeline, &dispatch, &keys, &dispatch_args);
        println!(
            "pipeline {pipeline}: {reservations:.0} reservations/s, {bare:.0} trivial scripts/s, \
             ratio {:.2}",
            reservations / bare
        );
    }
    let held = memory(&mut servers.connections[0]) - after;
    println!("memory of {} jobs and their answers: {} kB", 2 * REQUESTS, held / 1_000);
}

async fn register(store: &Store) {
    let now = Micros::secs(1_900_000_000);
    let langs = |tags: [&str; 2]| tags.map(|tag| tag.parse().expect("a language"));
    let (both, rule) = (langs(["zh", "en"]), PoolRule::AsrXTts);
    let languages = Languages::new(&both, &both, &both, rule).expect("languages");
    for num in 0..NODES {
        let register = Register {
            name: format!("node-{num:06}").into(),
            caps: Capabilities { languages: languages.clone(), ..Capabilities::default() },
            max_jobs: MAX_JOBS,
            owner: InstanceId(0),
        };
        let reply = store.apply(now, &Op::Register(Box::new(register))).await;
        let Ok(Reply::Registered(Ok(node))) = reply else { panic!("{reply:?}") };
        let beat = store.apply(now, &Op::Heartbeat(node, Report::default())).await;
        assert!(matches!(beat, Ok(Reply::Node(Ok(())))), "{beat:?}");
    }
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
fn rate(port: &str, pipeline: &str, script: &str, keys: &[&str; 2], args: &[&str]) -> f64 {
    let requests = REQUESTS.to_string();
    let output = Command::new("redis-benchmark")
        .args(["-p", port, "-n", &requests, "-P", pipeline, "-r", "1000", "-c", "50", "--csv"])
        .args(["EVALSHA", script, "2"])
        .args(keys)
        .args(args)
        .output()
        .expect("redis-benchmark runs: it comes with redis-tools");
    let text = String::from_utf8_lossy(&output.stdout);
    let row = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut fields = row.rsplit("\",\"").map(|field| field.trim_matches('"'));
    // test, rps, avg, min, p50, p95, p99, max: the script's own name may hold commas.
    fields.nth(6).and_then(|rps| rps.parse().ok()).unwrap_or_else(|| panic!("no rate in {text}"))
}
