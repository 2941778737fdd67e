//! `lingua load` and its kin: what they put on a scheduler, and what they refuse to.

use std::path::Path;

use crate::{lingua, scenario, text};

#[test]
fn neither_a_search_nor_a_calibration_loads_another_machine_unawares() {
    let file = scenario("live/capacity.toml");
    for args in [&["capacity", file.to_str().unwrap(), "--live"][..], &["calibrate"]] {
        let args = [args, &["--target", "ws://192.0.2.1:5010"]].concat();
        let out = lingua(Path::new("."), &args);
        let told = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stdout));
        assert!(told.contains("192.0.2.1 is not this machine"), "{args:?}: {told}");
    }
}

/// Small enough for any machine.
const LOAD: &str = r#"
title = "small load"
duration = "4s"
warmup = "0s"
[scheduler]
deadline = "30s"
[[nodes]]
count = 3
asr = ["zh"]
tts = ["en"]
max_jobs = 8
service_time = "20ms"
[[sessions]]
count = 5
pair = "zh:en"
utterance = "200ms"
gap = "300ms"
[[arrivals]]
pair = "zh:en"
rate = "20/s"
"#;

#[test]
fn a_load_starts_its_own_scheduler_and_its_accounts_add_up() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("load.toml"), LOAD).unwrap();
    let args = ["load", "load.toml", "--out", "loaded", "--max-lag-ms", "60000"];
    let out = lingua(dir.path(), &args);
    let told = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{told}{}", text(&out.stderr));
    let run = lingua_reports::files::read_run(&dir.path().join("loaded")).unwrap();
    assert_eq!((run.jobs.balance(), run.oversold.assignments), (0, 0), "{:?}", run.jobs);
    assert!(run.jobs.completed > 50, "{:?}", run.jobs);
    let chunks = run.load.clone().unwrap().chunks;
    let known = chunks.in_jobs + chunks.in_refused + chunks.open + chunks.lost;
    assert_eq!((chunks.sent, chunks.lost), (known, 0));
    for name in ["dispatch", "dispatch_net", "response", "service", "send_lag"] {
        assert!(dir.path().join(format!("loaded/{name}.hlog")).exists(), "{name}");
    }
    // Simulator and load generator meet the same plan.
    let sim = lingua(dir.path(), &["sim", "load.toml", "--out", "simulated"]);
    let simulated = lingua_reports::files::read_run(&dir.path().join("simulated"));
    let simulated = simulated.unwrap_or_else(|error| panic!("{error}: {}", text(&sim.stderr)));
    assert_eq!(run.arrivals_digest, simulated.arrivals_digest);
}

#[cfg(unix)]
#[test]
fn too_few_descriptors_make_a_load_void_before_it_begins() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("load.toml"), LOAD).unwrap();
    let command = r#"ulimit -n 64 && exec "$0" load load.toml"#;
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", command, env!("CARGO_BIN_EXE_lingua")]).current_dir(dir.path());
    let out = shell.output().unwrap();
    let told = text(&out.stdout);
    assert_eq!(out.status.code(), Some(4), "{told}{}", text(&out.stderr));
    assert!(told.contains("descriptors are needed and 64"), "{told}");
}

#[test]
fn another_machine_is_not_loaded_unawares() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("load.toml"), LOAD).unwrap();
    // Of a net that is for documentation only: nothing would answer.
    let remote = ["load", "load.toml", "--target", "ws://192.0.2.1:5010"];
    for (more, told) in [
        (&[][..], "--allow-remote"),
        (&["--allow-remote"][..], "add --yes"),
        (&["--max-sockets", "5"][..], "--max-sockets 5"),
        (&["--max-rate", "2"][..], "--max-rate 2"),
        (&["--shard", "3/3"][..], "0 to n - 1"),
    ] {
        let out = lingua(dir.path(), &[&remote[..], more].concat());
        assert_eq!(out.status.code(), Some(2), "{more:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(told), "{more:?}: {}", text(&out.stderr));
    }
}
