//! `lingua probe`: its exit codes, its files, and our own server under it.

use std::time::Duration;

use lingua_core::Micros;
use lingua_loadgen::probe::{self, Commands, Plan, Target, Times, Verdict};
use lingua_server::{Config, serve};
use tokio::net::TcpListener;

use crate::{lingua, text};

/// A server that waits less, so that a test does.
fn config() -> Config {
    let mut config = Config::default();
    config.instance.finalize.pause = Micros::millis(500);
    config.instance.job_timeout = Micros::millis(1_500);
    config.instance.deadline = Micros::secs(8);
    config.instance.rejoin = Micros::millis(500);
    config.limits.snapshot = Duration::from_millis(500);
    config
}

/// Waits that fit it.
fn times() -> Times {
    Times {
        heartbeat: Duration::from_millis(300),
        dispatch: Duration::from_secs(3),
        idle_gap: Duration::from_millis(300),
        silence: Duration::from_millis(2_500),
        pause: Duration::from_millis(900),
        cut: Duration::from_secs(5),
        settle: Duration::from_secs(20),
        load: Duration::from_secs(3),
        page: Duration::from_secs(3),
        ..Times::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_server_shows_what_a_test_can_wait_for() {
    let mut behaviours = probe::choose(&[]).unwrap();
    // A node whose interval is not yet known lives for 45 s, which the command waits for.
    behaviours.retain(|behaviour| behaviour.name != "heartbeats-stop");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(serve(config(), listener, std::future::pending()));
    let plan = Plan {
        target: Target::resolve(&url).unwrap(),
        behaviours,
        times: times(),
        commands: Commands::default(),
    };
    let report = probe::run(&plan, |_| {}).await.unwrap();
    let told = probe::table(&report);
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    assert_eq!(report.count(Verdict::Fail), 0, "{told}");
    let others = report.behaviours.iter().filter(|answer| answer.verdict != Verdict::Pass);
    let others: Vec<_> = others.map(|answer| (answer.name, answer.verdict)).collect();
    let no_redis = ("redis-restart", Verdict::Unsupported);
    assert_eq!(others, [no_redis, ("drain", Verdict::NotRun)], "{told}");
}

#[test]
fn a_server_of_its_own_is_probed_and_drained() {
    let dir = tempfile::tempdir().unwrap();
    let only = ["--only", "health-page", "--only", "drain"];
    let files = ["--json", "probe.json", "--junit", "probe.xml"];
    let out = lingua(dir.path(), &[&["probe"], &only[..], &files].concat());
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    let read = |name| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("probe.json")).unwrap();
    assert_eq!(json["behaviours"][1]["name"], "drain");
    assert_eq!(json["behaviours"][1]["verdict"], "pass");
    assert!(json["behaviours"][1]["evidence"]["lines"][0]["frame"].is_string(), "{json}");
    assert!(read("probe.xml").contains("tests=\"2\" failures=\"0\""));
}

#[test]
fn what_cannot_be_probed_is_told_with_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    // Bound and closed again: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("ws://{free}");
    for (args, code, words) in [
        (&["probe", "--target", nobody.as_str()][..], 4, "no scheduler"),
        (&["probe", "--target", "localhost"], 2, "ws://host:port"),
        (&["probe", "--target", "ws://192.0.2.1:5010"], 2, "--allow-remote"),
        (&["probe", "--only", "politeness"], 2, "--list"),
        (&["probe", "--drain", "true"], 2, "--target"),
    ] {
        let out = lingua(dir.path(), args);
        let told = text(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {told}");
        assert!(told.contains(words), "{args:?}: {told}");
    }
    let list = lingua(dir.path(), &["probe", "--list"]);
    assert_eq!(list.status.code(), Some(0));
    assert!(text(&list.stdout).contains("late-chunk"));
}
