//! The command as a person and a script meet it: output, files, exit codes.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[cfg(feature = "live")]
mod duties;
mod independent_reader;
#[cfg(feature = "live")]
mod load;
#[cfg(feature = "live")]
mod probe;
#[cfg(feature = "live")]
mod redis;
#[cfg(feature = "live")]
mod serve;
#[cfg(feature = "live")]
mod shards;
#[cfg(not(feature = "live"))]
mod simulates_only;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name)
}

fn lingua(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lingua")).args(args).current_dir(dir).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_first_command_tells_all_and_leaves_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario("nodes-100.toml");
    let out = lingua(dir.path(), &["sim", file.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let told = text(&out.stdout);
    for words in ["jobs/s", "refused per pair", "dispatch", "oversold", "headroom", "next: lingua"]
    {
        assert!(told.contains(words), "{words} is missing:\n{told}");
    }
    // Lines with the path of the file may be longer.
    let summary = told.lines().filter(|line| !line.starts_with("next:"));
    assert!(summary.clone().all(|line| line.chars().count() <= 100), "{told}");
    for name in [
        "run.json",
        "machine.json",
        "summary.md",
        "report.html",
        "timeseries.csv",
        "dispatch.hlog",
        "dispatch.hgrm",
    ] {
        assert!(dir.path().join("out/nodes-100").join(name).exists(), "{name}");
    }
    let again = lingua(dir.path(), &["report", "out/nodes-100"]);
    assert!(told.contains(text(&again.stdout).trim()), "report prints the same summary");
    let same = lingua(
        dir.path(),
        &["compare", "out/nodes-100", "out/nodes-100", "--max-regress", "p99=10%"],
    );
    assert_eq!(same.status.code(), Some(0), "{}{}", text(&same.stdout), text(&same.stderr));
}

#[test]
fn bad_input_is_exit_code_2_and_one_clear_message() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bad.toml"), "title = \"x\"\n[scheduler]\nsampel = 3\n")
        .unwrap();
    for args in [
        &["sim", "missing.toml"][..],
        &["sim", "bad.toml"],
        &["sim", "."],
        &["sim"],
        &["sim", "bad.toml", "--seeds", "9..1"],
        &["report", "nowhere"],
        &["compare", "nowhere", "nowhere"],
        &["capacity", "bad.toml", "--need", "nodes=3"],
        &["import", "missing.jsonl"],
        &["theory", "no such row"],
        &["claim-plan", "--jobs", "-1", "--instances", "3"],
        &["claim-plan", "--jobs", "10", "--instances", "0"],
        &["claim-plan", "--jobs", "10", "--instances", "3", "--tolerance", "0"],
        &["claim-plan", "--jobs", "10", "--instances", "3", "--tolerance", "-1,1,1"],
        &["claim-plan", "--jobs", "10", "--instances", "3", "--tolerance", "1,1"],
    ] {
        let out = lingua(dir.path(), args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stdout));
        let told = text(&out.stderr);
        assert!(told.contains("error"), "{args:?}: {told}");
        assert!(!told.contains("panicked"), "{args:?}: {told}");
    }
    let told = text(&lingua(dir.path(), &["sim", "bad.toml"]).stderr);
    assert!(told.contains("bad.toml:3") && told.contains("did you mean `sample`"), "{told}");
    let costs = "[costs]\nnode_latency = { empirical = \"gone.csv\" }\n";
    std::fs::write(dir.path().join("costs.toml"), costs).unwrap();
    let file = scenario("nodes-100.toml");
    let args = ["sim", file.to_str().unwrap(), "--costs", "costs.toml"];
    let told = text(&lingua(dir.path(), &args).stderr);
    assert!(
        told.contains("costs.toml: costs.node_latency names") && told.contains("gone.csv"),
        "{told}"
    );
}

#[test]
fn a_missed_expectation_is_exit_code_3() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario("faults/node-crash.toml");
    let junit = dir.path().join("junit.xml");
    let out = lingua(
        dir.path(),
        &[
            "sim",
            file.to_str().unwrap(),
            "--set",
            "expect.1.metric=carried_per_s",
            "--junit",
            junit.to_str().unwrap(),
        ],
    );
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stdout));
    assert!(std::fs::read_to_string(junit).unwrap().contains("<failure"));
}

#[test]
fn a_broken_invariant_is_exit_code_5_and_replays() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario("swarm.toml");
    let args = ["sim", file.to_str().unwrap(), "--seed", "4", "--set", "plant=\"I6\"", "--shrink"];
    let out = lingua(dir.path(), &args);
    let told = text(&out.stdout);
    assert_eq!(out.status.code(), Some(5), "{told}{}", text(&out.stderr));
    let replay = told.lines().find_map(|line| line.strip_prefix("replay: lingua ")).unwrap();
    let replay: Vec<&str> = replay.split(' ').map(|arg| arg.trim_matches('\'')).collect();
    assert_eq!(lingua(dir.path(), &replay).status.code(), Some(5), "{replay:?}");
    let small = lingua(dir.path(), &["sim", "shrunk.toml"]);
    assert_eq!(small.status.code(), Some(5), "{}{}", text(&small.stdout), text(&small.stderr));
}

#[test]
fn capacity_pools_and_check_answer() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario("capacity.toml");
    let capacity = [
        "capacity",
        file.to_str().unwrap(),
        "--out",
        "cap",
        "--set",
        "capacity.nodes=[25]",
        "--set",
        "duration=30s",
    ];
    let out = lingua(dir.path(), &capacity);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(dir.path().join("cap/capacity.csv").exists());
    let nodes = scenario("nodes-1000.toml");
    let pools = text(&lingua(dir.path(), &["pools", nodes.to_str().unwrap()]).stdout);
    assert!(pools.contains("asr-x-semantic"), "{pools}");
    let check = text(&lingua(dir.path(), &["check", nodes.to_str().unwrap()]).stdout);
    assert!(check.contains("is fine: 1000 nodes"), "{check}");
}

#[test]
fn a_trace_is_written_of_one_run_only() {
    let dir = tempfile::tempdir().unwrap();
    let (one, many) = (scenario("swarm.toml"), scenario("policies.toml"));
    let (one, many) = (one.to_str().unwrap(), many.to_str().unwrap());
    let out = lingua(dir.path(), &["sim", one, "--trace", "t.json", "--trace-limit", "1000"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("trace: t.json (1,000 events"), "{}", text(&out.stdout));
    assert!(text(&out.stderr).contains("--trace-limit"), "{}", text(&out.stderr));
    let bytes = std::fs::read(dir.path().join("t.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(trace["otherData"]["events"], 1_000);
    for (args, mend) in [
        (&["sim", one, "--trace", "t.json", "--seeds", "1..2"][..], "--seeds"),
        (&["sim", many, "--trace", "t.json"], "--variant"),
        (&["sim", one, "--trace", "no/such/folder/t.json"], "no/such/folder"),
        (&["sim", one, "--trace-limit", "5"], "--trace"),
    ] {
        let out = lingua(dir.path(), args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stdout));
        assert!(text(&out.stderr).contains(mend), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn runs_of_several_seeds_are_compared_seed_by_seed() {
    let dir = tempfile::tempdir().unwrap();
    let small = "title = \"small\"\nduration = \"60s\"\nwarmup = \"10s\"\n[[nodes]]\ncount = 20\n\
        asr = [\"zh\"]\ntts = [\"en\"]\nmax_jobs = 1\n[[arrivals]]\npair = \"zh:en\"\nload = 0.6\n";
    std::fs::write(dir.path().join("small.toml"), small).unwrap();
    let sim = |out: &str, seeds: &str, changes: &[&str]| {
        let mut args = vec!["sim", "small.toml", "--seeds", seeds, "--out", out];
        args.extend(changes.iter().flat_map(|change| ["--set", change]));
        let out = lingua(dir.path(), &args);
        assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    };
    let compare = |a: &str, b: &str, limit: &str| {
        let out = lingua(dir.path(), &["compare", a, b, "--max-regress", limit]);
        (out.status.code().unwrap(), text(&out.stdout) + &text(&out.stderr))
    };
    sim("a", "1..4", &[]);
    sim("again", "1..4", &["scheduler.policy=sample-scan"]);
    sim("worse", "1..4", &["scheduler.policy=sample-reserve", "scheduler.sample=1"]);
    sim("later", "2..5", &[]);
    sim("other", "1..4", &["arrivals.0.load=0.5"]);
    let csv = |name: &str| std::fs::read(dir.path().join(name).join("replications.csv")).unwrap();
    assert!(csv("a") == csv("again") && csv("a") != csv("worse"));

    let (code, told) = compare("a", "again", "refused_ratio=0%");
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("4 pairs, seeds 1..4"), "{told}");
    let (code, told) = compare("a", "worse", "refused_ratio=10%");
    assert_eq!(code, 3, "{told}");
    let row = told.lines().find(|line| line.trim_start().starts_with("refused_ratio")).unwrap();
    assert!(row.contains('*'), "four pairs are enough to be sure: {told}");
    let (code, told) = compare("a", "later", "p99=10%");
    assert!(code == 2 && told.contains("A has the seeds 1..4, B has 2..5"), "{told}");
    let (code, told) = compare("a", "a/seed-1", "p99=10%");
    assert!(code == 2 && told.contains("B has 1;"), "{told}");
    let (code, told) = compare("a", "other", "p99=10%");
    assert!(code == 2 && told.contains("seed 1: the runs met different arrivals"), "{told}");
}

#[test]
fn a_plan_of_duties_shows_limits_and_the_deaths_they_survive() {
    let dir = tempfile::tempdir().unwrap();
    let plan = |args: &[&str]| {
        let out = lingua(dir.path(), &[&["claim-plan"], args].concat());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        (text(&out.stdout), text(&out.stderr))
    };
    let row = |told: &str, cells: &[&str]| {
        let found = told.lines().any(|line| line.split_whitespace().eq(cells.iter().copied()));
        assert!(found, "{cells:?} is missing:\n{told}");
    };
    let (told, warned) = plan(&["--jobs", "10", "--instances", "5", "--tolerance", "1,1,2,3,4"]);
    for limits in [["1..2", "1", "3", "7"], ["3", "2", "4", "6"], ["4", "3", "6", "4"]] {
        row(&told, &limits);
    }
    row(&told, &["5", "4", "11", "0"]);
    row(&told, &["2", "4..5", "10", "yes", "10", "of", "10"]);
    row(&told, &["3", "3..5", "6", "4", "short", "5", "of", "10"]);
    assert!(told.contains("Any 2 deaths at once are survived"), "{told}");
    assert_eq!(warned, "");
    let (told, warned) = plan(&["--jobs", "9", "--instances", "1"]);
    row(&told, &["1", "1", "10", "0"]);
    assert!(warned.contains("at least 3"), "{warned}");
    let (told, warned) = plan(&["--jobs", "9", "--instances", "3", "--tolerance", "7"]);
    row(&told, &["1..3", "7", "10", "0"]);
    assert_eq!(warned, "", "a tolerance above the instances is legal");
}
