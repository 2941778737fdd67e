//! `lingua redis` beside a server of its own.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use lingua_testbed::{PATIENCE, ZooKeeperServer, end};

/// A Redis server that ends with the test.
struct Redis {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Redis {
    fn start(options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(folder.path())
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed: .ci/tools does it");
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(since.elapsed() < Duration::from_secs(30), "redis-server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { child, port, _folder: folder }
    }

    fn lingua(&self, args: &[&str]) -> Output {
        let url = format!("redis://127.0.0.1:{}", self.port);
        let mut command = Command::new(env!("CARGO_BIN_EXE_lingua"));
        command.arg("redis").args(args).env("LINGUA_REDIS", url).output().unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn told(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

#[test]
fn a_store_is_checked() {
    let fit = Redis::start(&["--appendonly", "yes"]).lingua(&["check"]);
    assert_eq!(fit.status.code(), Some(0), "{}", told(&fit));
    let unfit = Redis::start(&["--maxmemory-policy", "allkeys-lru"]).lingua(&["check"]);
    assert_eq!(unfit.status.code(), Some(3), "{}", told(&unfit));
    assert!(told(&unfit).contains("! maxmemory-policy"), "{}", told(&unfit));
}

/// The duties are where the instances say, and nothing else is shown as true.
#[test]
fn duties_at_zookeeper_are_shown_to_whoever_names_it() {
    let (redis, zookeeper) = (Redis::start(&[]), ZooKeeperServer::start());
    let place = format!("{}/lingua/cli", zookeeper.address());
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let server = Command::new(env!("CARGO_BIN_EXE_lingua"))
        .args(["serve", "--listen", "127.0.0.1:0", "--redis", &url, "--duty-zookeeper", &place])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Ended(server);
    let since = Instant::now();
    while !told(&redis.lingua(&["duties", "--duty-zookeeper", &place])).contains("holds 66") {
        assert!(server.0.try_wait().unwrap().is_none() && since.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
    for args in [&["duties"][..], &["duties", "--drain", "1"]] {
        let out = redis.lingua(args);
        assert_eq!(out.status.code(), Some(2));
        let says = "error: instance 1 keeps its duties at ZooKeeper under /lingua/cli: say so by \
                    duty_zookeeper";
        assert!(told(&out).starts_with(says), "{}", told(&out));
    }
    let bad = redis.lingua(&["duties", "--duty-zookeeper", "here"]);
    assert!(told(&bad).starts_with("error: --duty-zookeeper: servers \"here\""), "{}", told(&bad));
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

#[test]
fn what_it_holds_is_shown_and_a_node_that_is_not_there_is_told() {
    let redis = Redis::start(&[]);
    let stats = redis.lingua(&["stats"]);
    assert!(stats.status.success() && told(&stats).contains("dead letters     0"));
    let drain = redis.lingua(&["drain", "nobody"]);
    assert_eq!(drain.status.code(), Some(2));
    assert!(told(&drain).contains("no node \"nobody\" is registered"), "{}", told(&drain));
}
