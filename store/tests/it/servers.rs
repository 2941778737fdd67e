//! Redis servers of our own: each with a free port and a folder of its own, without persistence,
//! ended with the test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lingua_core::StateConfig;
use lingua_store::{Layout, Scripts, Store, StoreClock, StoreConfig};
use redis::Connection;
use tempfile::TempDir;

/// Slots of a Cluster.
const SLOTS: u16 = 16_384;
/// Longest wait for a server, or for a Cluster to agree.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One server.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    folder: TempDir,
    options: Vec<String>,
}

impl Server {
    /// Starts a server that belongs to no Cluster.
    pub(crate) fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the server");
        let port = free_port();
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let child = spawn(port, &folder, &options);
        Self { child, port, folder, options }
    }

    /// Ends it, as a crash does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again with what it has saved.
    pub(crate) fn start_again(&mut self) {
        self.child = spawn(self.port, &self.folder, &self.options);
    }

    /// Starts a server that may be met by a Cluster.
    pub(crate) fn of_cluster() -> Self {
        let bus = free_port().to_string();
        let options = ["--cluster-enabled", "yes", "--cluster-port", &bus];
        Self::start(&[&options[..], &["--repl-diskless-sync-delay", "0"]].concat())
    }

    /// Joins the Cluster of another one.
    pub(crate) fn meet(&self, other: &mut Connection) {
        let bus = &self.options[3];
        let mut meet = redis::cmd("CLUSTER");
        meet.arg("MEET").arg("127.0.0.1").arg(self.port).arg(bus).exec(other).unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Waits until the server listens, whomever it lets in.
    pub(crate) fn wait_for_port(&mut self) {
        let since = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(since.elapsed() < PATIENCE, "the server does not listen");
            sleep(Duration::from_millis(10));
        }
    }

    /// A connection, as soon as the server takes one.
    pub(crate) fn connection(&mut self) -> Connection {
        let client = redis::Client::open(self.url()).unwrap();
        let since = Instant::now();
        loop {
            let ready = client.get_connection().and_then(|mut connection| {
                redis::cmd("PING").query::<String>(&mut connection)?;
                Ok(connection)
            });
            match ready {
                Ok(connection) => return connection,
                Err(error) => {
                    // Between being found free and being taken, a port may have been another's.
                    if self.child.try_wait().unwrap().is_some() {
                        self.child = spawn(self.port, &self.folder, &self.options);
                    }
                    assert!(since.elapsed() < PATIENCE, "the server does not answer: {error}");
                    sleep(Duration::from_millis(10));
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(port: u16, folder: &TempDir, options: &[String]) -> Child {
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(["--appendonly", "no", "--daemonize", "no", "--dir"])
        .arg(folder.path())
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| {
        panic!(
            "redis-server cannot be started ({error}): install it with \
             `apt-get install redis-server`, or run .ci/run, which does"
        )
    })
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().unwrap().port()
}

/// A store and connections to look behind it.
pub(crate) struct Servers {
    pub(crate) layout: Layout,
    pub(crate) servers: Vec<Server>,
    pub(crate) connections: Vec<Connection>,
    /// One for each primary, or none.
    pub(crate) replicas: Vec<Server>,
}

impl Servers {
    pub(crate) fn one() -> Self {
        let mut server = Server::start(&[]);
        let connection = server.connection();
        Self {
            layout: Layout::OneServer,
            servers: vec![server],
            connections: vec![connection],
            replicas: Vec::new(),
        }
    }

    /// Three primaries, a third of the slots each.
    pub(crate) fn cluster() -> Self {
        let mut servers: Vec<Server> = (0..3).map(|_| Server::of_cluster()).collect();
        let mut connections: Vec<Connection> = servers.iter_mut().map(Server::connection).collect();
        let share = SLOTS / 3;
        for (at, connection) in connections.iter_mut().enumerate() {
            let first = at as u16 * share;
            let last = if at == 2 { SLOTS - 1 } else { first + share - 1 };
            let mut add = redis::cmd("CLUSTER");
            add.arg("ADDSLOTSRANGE").arg(first).arg(last).exec(connection).unwrap();
        }
        for met in &servers[1..] {
            met.meet(&mut connections[0]);
        }
        let since = Instant::now();
        for connection in &mut connections {
            loop {
                let info: String = redis::cmd("CLUSTER").arg("INFO").query(connection).unwrap();
                let agreed = ["cluster_state:ok", "cluster_known_nodes:3"];
                if agreed.iter().all(|line| info.contains(line)) {
                    break;
                }
                assert!(since.elapsed() < PATIENCE, "the Cluster does not come up: {info}");
                sleep(Duration::from_millis(20));
            }
        }
        Self { layout: Layout::Cluster, servers, connections, replicas: Vec::new() }
    }

    pub(crate) fn config(&self, state: &StateConfig) -> StoreConfig {
        StoreConfig {
            urls: self.servers.iter().map(|server| server.url().into()).collect(),
            layout: self.layout,
            state: state.clone(),
            timeout: PATIENCE,
            clock: StoreClock::Caller,
        }
    }

    /// A store under these rules, on empty servers.
    pub(crate) async fn store(&mut self, state: &StateConfig) -> Store {
        self.store_with(state, Scripts::new(self.layout, state)).await
    }

    pub(crate) async fn store_with(&mut self, state: &StateConfig, scripts: Scripts) -> Store {
        self.flush();
        Store::connect_with(self.config(state), scripts).await.unwrap()
    }

    pub(crate) fn flush(&mut self) {
        for connection in &mut self.connections {
            redis::cmd("FLUSHALL").exec(connection).unwrap();
        }
    }
}
