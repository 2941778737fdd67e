//! One run by two processes against one scheduler, and their parts put together.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{lingua, text};

/// Talkers whose utterances the scheduler must end, manual cuts, rooms and bare jobs.
const SCENARIO: &str = r#"
title = "two shards"
duration = "6s"
warmup = "0s"
[scheduler]
deadline = "30s"
[[nodes]]
count = 4
asr = ["zh"]
tts = ["en", "ja"]
max_jobs = 8
service_time = "20ms"
[[sessions]]
count = 6
pair = "zh:en"
utterance = "300ms"
gap = "500ms"
manual_cut = 0.5
[[sessions]]
count = 4
pair = "zh:en"
listeners = ["ja", "en", "ja"]
utterance = "300ms"
gap = "500ms"
[[arrivals]]
pair = "zh:en"
rate = "40/s"
"#;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended of itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A scheduler of this scenario and its address.
fn serve(dir: &Path) -> (Server, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lingua"))
        .args(["serve", "load.toml", "--listen", "127.0.0.1:0"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let first = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let address = first.strip_prefix("serving on ").and_then(|rest| rest.split_once(": policy"));
    let url = format!("ws://{}", address.unwrap_or_else(|| panic!("{first}")).0);
    (Server(child), url)
}

#[test]
fn two_shards_share_one_scheduler_and_their_accounts_close() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("load.toml"), SCENARIO).unwrap();
    let (_server, url) = serve(dir.path());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let start = (now + 6).to_string();
    let shards: Vec<Child> = ["0/2", "1/2"]
        .iter()
        .map(|shard| {
            Command::new(env!("CARGO_BIN_EXE_lingua"))
                .args(["load", "load.toml", "--target", &url, "--shard", shard])
                .args(["--start-at", &start, "--out", &format!("shard-{}", &shard[..1])])
                .args(["--max-lag-ms", "60000"])
                .current_dir(dir.path())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for shard in shards {
        let out = shard.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    }
    let out = lingua(dir.path(), &["merge", "shard-0", "shard-1", "--out", "whole"]);
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    assert!(text(&out.stdout).contains("across shards"), "{}", text(&out.stdout));
    let run = lingua_reports::files::read_run(&dir.path().join("whole")).unwrap();
    let (jobs, load) = (&run.jobs, run.load.as_ref().unwrap());
    assert_eq!((jobs.balance(), run.oversold.assignments), (0, 0), "{jobs:?}");
    assert_eq!((jobs.lost, jobs.duplicate, jobs.reordered), (0, 0, 0), "{jobs:?}");
    assert_eq!(jobs.completed, jobs.offered, "{jobs:?}");
    assert!(load.findings.is_empty(), "{:?}", load.findings);
    let (chunks, across) = (load.chunks, load.across);
    assert_eq!((chunks.sent, chunks.lost), (chunks.in_jobs, 0), "{chunks:?}");
    // About half of all jobs go from one shard to the other, and each answer comes back.
    assert!(across.hosted > 10, "{across:?}");
    assert_eq!((across.answered, across.heard), (across.hosted, across.hosted), "{across:?}");
    // Both parts met the plan of a single run.
    let whole = lingua(dir.path(), &["sim", "load.toml", "--out", "simulated"]);
    let simulated = lingua_reports::files::read_run(&dir.path().join("simulated"));
    let simulated = simulated.unwrap_or_else(|error| panic!("{error}: {}", text(&whole.stderr)));
    assert_eq!(run.arrivals_digest, simulated.arrivals_digest);
}

#[test]
fn runs_of_different_names_are_foreign_to_each_other() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("load.toml"), SCENARIO).unwrap();
    let (_server, url) = serve(dir.path());
    let run = |name: &str, shard: &str| {
        Command::new(env!("CARGO_BIN_EXE_lingua"))
            .args(["load", "load.toml", "--target", &url, "--run-id", name, "--shard", shard])
            .args(["--out", name])
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let runs = [run("a", "0/2"), run("b", "1/2")];
    let told: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().unwrap()).collect();
    let void = told.iter().filter(|out| out.status.code() == Some(4)).count();
    assert!(void > 0, "{}{}", text(&told[0].stdout), text(&told[1].stdout));
    assert!(told.iter().any(|out| text(&out.stdout).contains("jobs of others reached our nodes")));
}
