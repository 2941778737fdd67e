//! `lingua serve` as a process.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use lingua_testbed::{RedisServer, free_port};

fn serve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lingua"));
    command.arg("serve").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn it_says_how_it_is_set_serves_and_drains_when_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lingua.toml");
    std::fs::write(&file, "sockets = 5\nroom_members = 9\n").unwrap();
    let mut server = serve()
        .args(["--listen", "127.0.0.1:0", "--sockets", "7", "--config"])
        .arg(&file)
        .env("LINGUA_LOG_FORMAT", "json")
        .spawn()
        .unwrap();
    let mut out = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    while !said.last().is_some_and(|line: &String| line.contains("room_scan")) {
        said.push(out.next().expect("it says all its settings").unwrap());
    }
    assert!(said[0].starts_with("serving on 127.0.0.1:"), "{said:?}");
    for line in [
        "  sockets              7   (flag)",
        "  room_members         9   (file)",
        "  log_format           json   (environment)",
        "  ping                 20s",
    ] {
        assert!(said.iter().any(|said| said == line), "{line}: {said:#?}");
    }
    let stop = Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(stop.success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
    let mut log = String::new();
    server.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains(r#""message":"drained: all is answered""#), "{log}");
}

#[test]
fn bad_settings_end_it_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lingua.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:0\"\nmax_job = 4\n").unwrap();
    let out = serve().arg("--config").arg(&file).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(told.contains("lingua.toml:2:1: unknown key `max_job`"), "{told}");
    assert!(told.contains("did you mean `max_jobs`?"), "{told}");
}

#[test]
fn help_teaches_every_key() {
    let out = serve().arg("--help").output().unwrap();
    let help = String::from_utf8(out.stdout).unwrap();
    // Lines break where they must.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["--config <FILE>", "--max-jobs <NUMBER>", "LINGUA_ROOM_IDLE", "[default: 30m]"] {
        assert!(help.contains(words), "{words} is missing:\n{help}");
    }
}

#[test]
fn a_zookeeper_that_cannot_be_served_ends_it_with_one_line() {
    let redis = RedisServer::start();
    let nobody = format!("127.0.0.1:{}", free_port());
    let refused = |args: &[&str]| {
        let out = serve().args(["--listen", "127.0.0.1:0"]).args(args).output().unwrap();
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0));
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(told.lines().count() == 1 && told.starts_with("error: "), "{told}");
        told
    };
    let told = refused(&["--redis", &redis.url(), "--duty-zookeeper", &nobody]);
    assert!(told.contains("error: --duty-zookeeper: no session at ZooKeeper 127.0.0.1:"), "{told}");
    let told = refused(&["--duty-zookeeper", &nobody]);
    assert!(told.contains("add --redis URL, or leave duty_zookeeper out"), "{told}");
}

#[test]
fn a_redis_that_cannot_be_served_ends_it_with_one_line() {
    let refused = |args: &[&str]| {
        let out = serve().args(["--listen", "127.0.0.1:0"]).args(args).output().unwrap();
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0));
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(told.lines().count() == 1 && !told.contains("hunter2"), "{told}");
        told
    };
    let nobody = "redis://user:hunter2@127.0.0.1:1";
    let told = refused(&["--redis", nobody]);
    assert!(told.contains("--redis: the store cannot be reached"), "{told}");
    let several = format!("{nobody},{nobody}");
    assert!(refused(&["--redis", &several]).contains("set redis_cluster if they are a Cluster"));
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/nodes-100.toml");
    let set = "scheduler.capacity_check=off";
    let told = refused(&[scenario, "--set", set, "--redis", nobody]);
    assert!(told.contains("a capacity check other than leases"), "{told}");
    let everywhere = serve().args(["--listen", "0.0.0.0:0", "--redis", nobody]).output().unwrap();
    assert_eq!(everywhere.status.code(), Some(2));
}
