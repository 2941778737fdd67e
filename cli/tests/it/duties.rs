//! `lingua sim` with duties: output, files, exit codes.

use std::path::Path;

use crate::{lingua, scenario, text};

fn sim(dir: &Path, file: &str, more: &[&str]) -> std::process::Output {
    let file = scenario(file);
    lingua(dir, &[&["sim", file.to_str().unwrap()], more].concat())
}

#[test]
fn a_run_of_duties_tells_all_and_leaves_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let out = sim(dir.path(), "duties/crash-two.toml", &["--out", "here"]);
    let told = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{told}{}", text(&out.stderr));
    for words in ["duties per instance", "1 dies, 3 dies", "all held again", "stale writes"] {
        assert!(told.contains(words), "{words} is missing:\n{told}");
    }
    assert!(!told.contains("jobs/s"), "there are no jobs:\n{told}");
    for name in ["run.json", "summary.md", "report.html", "duties.csv", "plots/duties.svg"] {
        assert!(dir.path().join("here").join(name).exists(), "{name}");
    }
    let again = lingua(dir.path(), &["report", "here"]);
    assert!(told.contains(text(&again.stdout).trim()), "report prints the same summary");
    let same = lingua(dir.path(), &["compare", "here", "here"]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    let json = std::fs::read(dir.path().join("here/run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(run["kind"], "sim");
    assert_eq!((&run["jobs"]["offered"], &run["jobs"]["lost"]), (&0.into(), &0.into()));
}

#[test]
fn a_broken_invariant_ends_with_exit_code_5_and_the_command_that_replays_it() {
    let dir = tempfile::tempdir().unwrap();
    for (plant, file) in [("I8", "crash-one"), ("coverage", "crash-one"), ("limit", "join")] {
        let plant = format!("plant={plant}");
        let out = sim(dir.path(), &format!("duties/{file}.toml"), &["--set", &plant]);
        let told = text(&out.stdout);
        assert_eq!(out.status.code(), Some(5), "{plant}: {told}");
        let replay = told.lines().find(|line| line.starts_with("replay: lingua sim"));
        assert!(replay.is_some_and(|line| line.contains(&plant)), "{told}");
    }
}

#[test]
fn seeds_variants_and_expectations_are_as_for_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let out = sim(dir.path(), "duties/swarm.toml", &["--seeds", "1..20", "--out", "seeds"]);
    let told = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{told}");
    assert!(told.contains("20 runs, 0 with a broken invariant"), "{told}");
    assert!(told.contains("duties.all_held_again_s"), "{told}");
    assert!(dir.path().join("seeds/seed-7/duties.csv").exists());
    let out = sim(dir.path(), "duties/stale-view.toml", &[]);
    assert!(text(&out.stdout).contains("no-ageing"), "{}", text(&out.stdout));
    let strict = "expect.0.max=1";
    let out = sim(dir.path(), "duties/crash-one.toml", &["--set", strict]);
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stdout));
}

#[test]
fn what_needs_nodes_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario("duties/join.toml");
    let file = file.to_str().unwrap();
    for command in ["pools", "load", "capacity"] {
        let out = lingua(dir.path(), &[command, file]);
        let told = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{command}: {told}");
        assert!(told.contains("has no nodes: play it with lingua sim"), "{command}: {told}");
    }
    let out = sim(dir.path(), "duties/join.toml", &["--trace", "trace.json"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("leave --trace out"), "{}", text(&out.stderr));
    let out = lingua(dir.path(), &["check", file]);
    assert!(text(&out.stdout).contains("200 duties, 5 instances, 3 faults"));
}
