//! The connection to the store: one server or a Cluster, kept up by the client library.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lingua_core::{CapacityCheck, Micros, Op, PoolRule, RegisterError, Reply, State, StateConfig};
use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};

use crate::call::{Call, call};
use crate::link::Link;
use crate::members::Script;
use crate::reply::{Answer, Asked};
use crate::script::file_of;
use crate::{Address, Layout, Scripts, StoreError, keys};

/// Oldest server whose scripts and commands are these.
const VERSION_MIN: u32 = 7;

/// How to reach a store, and under which rules.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// One address, or some of a Cluster's.
    pub urls: Vec<Address>,
    /// One server or a Cluster.
    pub layout: Layout,
    /// The rules, the same for all instances.
    pub state: StateConfig,
    /// Longest wait for a reply or a connection.
    pub timeout: Duration,
    /// Whose time counts.
    pub clock: StoreClock,
}

/// Whose time counts in the store.
#[derive(Debug, Clone)]
pub enum StoreClock {
    /// The store's own, one for all instances.
    Store,
    /// The caller's, for tests.
    Caller,
    /// What this holds, in microseconds: one for all instances, for tests.
    Given(Arc<AtomicU64>),
}

/// What the store met beside its answers.
#[derive(Debug, Default)]
pub struct StoreCounts {
    commands: AtomicU64,
    reloads: AtomicU64,
    quarantined: AtomicU64,
    unreadable: AtomicU64,
}

impl StoreCounts {
    /// Commands sent.
    pub fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// Scripts that a server did not know and was given again.
    pub fn reloads(&self) -> u64 {
        self.reloads.load(Ordering::Relaxed)
    }

    /// Keys that could not be read and were put aside.
    pub fn quarantined(&self) -> u64 {
        self.quarantined.load(Ordering::Relaxed)
    }

    /// Nodes left out of snapshots because they could not be read.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    pub(crate) fn count_reload(&self) {
        self.reloads.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_unreadable(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }
}

/// The shared state in Redis. Clones share the connection; steps of one clone or many may be under
/// way at once, and go out in the order in which they were started.
#[derive(Clone)]
pub struct Store {
    link: Link,
    scripts: Arc<Scripts>,
    hashes: Arc<[String]>,
    member_hashes: Arc<[String]>,
    pub(crate) config: Arc<StoreConfig>,
    counts: Arc<StoreCounts>,
}

impl Store {
    /// Connects, loads the scripts and makes sure that the store is kept under the same rules.
    ///
    /// # Errors
    /// The store cannot be reached, cannot serve this configuration, or is used under other rules.
    pub async fn connect(config: StoreConfig) -> Result<Self, StoreError> {
        let scripts = Scripts::new(config.layout, &config.state);
        Self::connect_with(config, scripts).await
    }

    /// As [`Self::connect`], with scripts of the caller's.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_with(config: StoreConfig, scripts: Scripts) -> Result<Self, StoreError> {
        check_rules(&config.state)?;
        let config = Arc::new(config);
        let link = Link::connect(&config, config.timeout).await?;
        let mut this = Self {
            link,
            scripts: Arc::new(scripts),
            hashes: Arc::new([]),
            member_hashes: Arc::new([]),
            config,
            counts: Arc::default(),
        };
        this.check_server().await?;
        let mut hashes = Vec::new();
        for (step, file) in Scripts::files() {
            hashes.push(this.load(this.scripts.text(step), file).await?);
        }
        this.hashes = hashes.into();
        let mut hashes = Vec::new();
        for (file, source) in Script::ALL.map(Script::source) {
            hashes.push(this.load(source, file).await?);
        }
        this.member_hashes = hashes.into();
        this.agree_on_rules().await?;
        Ok(this)
    }

    async fn load(&self, source: &str, file: &'static str) -> Result<String, StoreError> {
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(source);
        text(self.send(&load, file).await?, file)
    }

    pub(crate) fn member_hash(&self, script: Script) -> &str {
        &self.member_hashes[script as usize]
    }

    /// One atomic step; on a Cluster some take several calls. `now` is the caller's time: with
    /// [`StoreClock::Store`] it only turns instants of the operation into spans.
    ///
    /// # Errors
    /// The store did not answer, or not as it should. The step may have been carried out; all
    /// steps may be repeated.
    pub async fn apply(&self, now: Micros, op: &Op) -> Result<Reply, StoreError> {
        match (self.config.layout, op) {
            (_, Op::Snapshot) => Ok(Reply::Snapshot(Box::new(self.snapshot(now).await?))),
            (_, Op::Register(register)) if !State::MAX_JOBS.contains(&register.max_jobs) => {
                let error = RegisterError::MaxJobs(register.max_jobs);
                Ok(Reply::Registered(Err(error)))
            }
            (Layout::Cluster, Op::Register(register)) => self.register(now, register).await,
            (Layout::Cluster, Op::Heartbeat(node, _) | Op::ModelLost(node, _)) => {
                self.relisting(now, *node, &call(now, op)).await
            }
            (Layout::Cluster, Op::Remove(node)) => self.remove(now, *node, &call(now, op)).await,
            (Layout::Cluster, Op::Hint(node, free)) => self.hint(now, *node, *free).await,
            (Layout::Cluster, Op::Dispatch(_)) => {
                unreachable!("on a Cluster a dispatch goes step by step")
            }
            // One server keeps its free index itself.
            (Layout::OneServer, Op::Hint(..)) => Ok(Reply::Done),
            (_, Op::Reserve(r)) => {
                self.run(now, &call(now, op)).await?.reply(Asked::Slot(r.lease, r.target.via))
            }
            _ => self.run(now, &call(now, op)).await?.reply(Asked::Other),
        }
    }

    /// What the store met beside its answers.
    pub fn counts(&self) -> &StoreCounts {
        &self.counts
    }

    /// Calls a script; one that the server does not know is given to it again.
    pub(crate) async fn run(&self, now: Micros, call: &Call) -> Result<Answer, StoreError> {
        let script = file_of(call.step);
        let by_hash = self.command(now, "EVALSHA", &self.hashes[call.step as usize], call);
        let replied = match self.query(&by_hash).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.counts.count_reload();
                let by_text = self.command(now, "EVAL", self.scripts.text(call.step), call);
                self.query(&by_text).await
            }
            replied => replied,
        };
        let value = replied.map_err(|error| StoreError::from_redis(&error, script))?;
        let answer = Answer::parse(call.step, value)?;
        let quarantined = answer.quarantined.len() as u64;
        self.counts.quarantined.fetch_add(quarantined, Ordering::Relaxed);
        Ok(answer)
    }

    fn command(&self, now: Micros, verb: &str, script: &str, call: &Call) -> Cmd {
        let mut command = redis::cmd(verb);
        command.arg(script).arg(call.keys.len()).arg(&call.keys);
        match &self.config.clock {
            StoreClock::Store => command.arg(""),
            StoreClock::Caller => command.arg(now.0),
            StoreClock::Given(time) => command.arg(time.load(Ordering::Acquire)),
        };
        command.arg(&call.args);
        command
    }

    async fn query(&self, command: &Cmd) -> Result<Value, RedisError> {
        self.query_over(&self.link, command).await
    }

    async fn query_over(&self, link: &Link, command: &Cmd) -> Result<Value, RedisError> {
        self.counts.commands.fetch_add(1, Ordering::Relaxed);
        // The library hands on errors of the server as values.
        link.send(command).await?.extract_error()
    }

    /// A command that is no script of ours; `what` names it in errors.
    pub(crate) async fn send(
        &self,
        command: &Cmd,
        what: &'static str,
    ) -> Result<Value, StoreError> {
        self.query(command).await.map_err(|error| StoreError::from_redis(&error, what))
    }

    /// The same over another connection than the steps'.
    pub(crate) async fn send_over(
        &self,
        link: &Link,
        command: &Cmd,
        what: &'static str,
    ) -> Result<Value, StoreError> {
        let replied = self.query_over(link, command).await;
        replied.map_err(|error| StoreError::from_redis(&error, what))
    }

    /// Refuses a server that is too old, or of the other kind.
    async fn check_server(&self) -> Result<(), StoreError> {
        // Without a key a Cluster would be asked as a whole.
        let info = "return {redis.call('INFO', 'server'), redis.call('INFO', 'cluster')}";
        let mut ask = redis::cmd("EVAL");
        ask.arg(info).arg(1).arg(keys::RULES);
        let Value::Array(parts) = self.send(&ask, "INFO").await? else {
            return Err(StoreError::NotReady("it tells nothing of itself".to_owned()));
        };
        let mut told = String::new();
        for part in parts {
            let _ = writeln!(told, "{}", text(part, "INFO")?);
        }
        let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name));
        let version = field("redis_version:").unwrap_or("unknown");
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < VERSION_MIN) {
            return Err(StoreError::Version { found: version.to_owned(), least: VERSION_MIN });
        }
        let is_cluster = field("cluster_enabled:") == Some("1");
        match (self.config.layout, is_cluster) {
            (Layout::OneServer, true) => Err(StoreError::IsCluster),
            (Layout::Cluster, false) => Err(StoreError::NoCluster),
            _ => Ok(()),
        }
    }

    /// The first instance writes the rules down, the others compare.
    ///
    /// # Errors
    /// The store is used under other rules.
    pub async fn agree_on_rules(&self) -> Result<(), StoreError> {
        let ours = rules(&self.config);
        let mut claim = redis::cmd("SET");
        claim.arg(keys::RULES).arg(&ours).arg("NX");
        self.send(&claim, "SET").await?;
        let mut look = redis::cmd("GET");
        look.arg(keys::RULES);
        let stored = match self.send(&look, "GET").await {
            Err(StoreError::Script { why, .. }) if why.contains("WRONGTYPE") => {
                format!("no text at {}", keys::RULES)
            }
            found => text(found?, "GET")?,
        };
        if stored == ours { Ok(()) } else { Err(StoreError::OtherRules { stored, ours }) }
    }
}

/// The schema and the rules that decide how things are stored.
fn rules(config: &StoreConfig) -> String {
    let layout = match config.layout {
        Layout::OneServer => "one server",
        Layout::Cluster => "cluster",
    };
    let pool_rule = match config.state.pool_rule {
        PoolRule::AsrXTts => "asr-x-tts",
        PoolRule::AsrXSemantic => "asr-x-semantic",
        PoolRule::FaceToFace => "f2f",
    };
    let shard_size = config.state.shard_size;
    format!("schema 2, {layout}, pool_rule {pool_rule}, shard_size {shard_size}")
}

/// What exists to be measured is not for a store that lasts.
fn check_rules(state: &StateConfig) -> Result<(), StoreError> {
    let unserved = [
        (state.capacity != CapacityCheck::Lease, "a capacity check other than leases"),
        (state.pin_sessions, "pinning sessions for good"),
        (state.stale_members, "keeping nodes listed that have left"),
        (state.missing_counter, "losing a node's counter"),
    ];
    match unserved.iter().find(|(set, _)| *set) {
        Some(&(_, rule)) => Err(StoreError::Rule(rule)),
        None => Ok(()),
    }
}

pub(crate) fn text(value: Value, what: &'static str) -> Result<String, StoreError> {
    redis::from_redis_value(value)
        .map_err(|error| StoreError::Reply { script: what, got: error.to_string() })
}
