//! Stores that do not hold what they should: every step ends in an answer or a typed error, what
//! cannot be read is counted, nothing is oversold, and nodes that register again serve again.

use lingua_core::*;
use lingua_store::{Store, StoreError};
use redis::{Connection, cmd};
use tokio::runtime::Runtime;

use crate::servers::Servers;
use crate::steps::capabilities;

const NODES: u32 = 3;
const MAX_JOBS: u32 = 2;

struct World {
    runtime: Runtime,
    servers: Servers,
    store: Store,
    now: Micros,
    leases: u64,
    errors: Vec<StoreError>,
    noted: u64,
}

impl World {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut servers = Servers::one();
        let store = runtime.block_on(servers.store(&StateConfig::default()));
        let (now, errors) = (Micros(1_900_000_000_000_000), Vec::new());
        Self { runtime, servers, store, now, leases: 0, errors, noted: 0 }
    }

    fn apply(&mut self, op: &Op) -> Option<Reply> {
        match self.runtime.block_on(self.store.apply(self.now, op)) {
            Ok(reply) => Some(reply),
            Err(error) => {
                let typed = matches!(
                    error,
                    StoreError::Script { .. } | StoreError::Reply { .. } | StoreError::Directory(_)
                );
                assert!(typed, "{error}");
                self.errors.push(error);
                None
            }
        }
    }

    /// Errors, keys put aside and nodes left out since the last look.
    fn noted(&mut self) -> u64 {
        let counts = self.store.counts();
        let all = counts.quarantined() + counts.unreadable() + self.errors.len() as u64;
        let new = all - self.noted;
        self.noted = all;
        new
    }

    fn register(&mut self, num: u32) {
        let op = Op::Register(Box::new(Register {
            name: format!("node-{num}").into(),
            caps: capabilities(1, PoolRule::AsrXTts),
            max_jobs: MAX_JOBS,
            owner: InstanceId(0),
        }));
        if let Some(Reply::Registered(Ok(node))) = self.apply(&op) {
            self.apply(&Op::Heartbeat(node, Report::default()));
        }
    }

    fn dispatch(&mut self, session: u64) -> Option<Outcome> {
        self.leases += 1;
        let pair = Pair { src: "zh".parse().unwrap(), tgt: "en".parse().unwrap() };
        let mut candidates = Candidates::default();
        candidates.push(NodeNum(session as u32 % NODES));
        let d = Dispatch {
            request: RequestId { session: SessionId(session), index: 0, tgt: pair.tgt },
            attempt: 1,
            lease: LeaseId(self.leases),
            needs: Needs::pair(pair),
            affinity: true,
            preferred: None,
            excluded: Excluded::default(),
            candidates,
            scan: Some(1 << 31),
            deadline: self.now + Micros::secs(60),
        };
        match self.apply(&Op::Dispatch(d)) {
            Some(Reply::Dispatched(dispatched)) => Some(dispatched.outcome),
            _ => None,
        }
    }

    /// Nodes with jobs, an affinity, a debounce: a key of every kind.
    fn fill(&mut self) -> Vec<String> {
        let connection = &mut self.servers.connections[0];
        let keys: Vec<String> = cmd("KEYS").arg("lingua:*").query(connection).unwrap();
        let gone: Vec<String> = keys.into_iter().filter(|key| !key.ends_with("rules")).collect();
        if !gone.is_empty() {
            cmd("DEL").arg(gone).exec(connection).unwrap();
        }
        (0..NODES).for_each(|num| self.register(num));
        for session in 0..3 {
            self.dispatch(session);
        }
        let node = NodeRef { num: NodeNum(0), generation: 1 };
        let (session, life) = (SessionId(9), Micros::secs(60));
        self.apply(&Op::RecordAffinity(RecordAffinity { session, node, life, only: None }));
        self.apply(&Op::Debounce(ModelId(1), life));
        self.noted();
        let connection = &mut self.servers.connections[0];
        let mut keys: Vec<String> = cmd("KEYS").arg("lingua:*").query(connection).unwrap();
        keys.retain(|key| !key.ends_with("rules"));
        keys.sort_unstable();
        keys
    }

    /// Every operation once or twice, by whoever might meet a key.
    fn exercise(&mut self) {
        self.apply(&Op::Snapshot);
        for session in [0, 1, 2, 9, 10, 11, 12, 13] {
            self.dispatch(session);
        }
        for num in (0..NODES).map(NodeNum) {
            let node = NodeRef { num, generation: 1 };
            let request = RequestId { session: SessionId(0), index: 0, tgt: "en".parse().unwrap() };
            let lease = LeaseId(self.leases);
            let release = Release { node, lease, attempt: 1, request };
            let report = Report { running: 1, ..Report::default() };
            for op in [
                Op::Confirm(node, lease),
                Op::Release(release),
                Op::Heartbeat(node, report),
                Op::ModelLost(node, ModelId(2)),
                Op::Drain(node, false),
            ] {
                self.apply(&op);
            }
        }
        self.apply(&Op::Debounce(ModelId(1), Micros::secs(1)));
        self.apply(&Op::ClearAffinity(SessionId(9)));
        self.not_oversold();
        self.now = self.now + Micros::secs(100);
        self.dispatch(20);
        self.apply(&Op::Remove(NodeRef { num: NodeNum(2), generation: 1 }));
    }

    fn not_oversold(&mut self) {
        for num in (0..NODES).map(NodeNum) {
            let [_, leases] = lingua_store::keys::node(num);
            let held: Result<u32, _> =
                cmd("HLEN").arg(&leases).query(&mut self.servers.connections[0]);
            assert!(held.unwrap_or(0) <= MAX_JOBS, "{leases}");
        }
    }

    /// Nodes that register again serve again.
    fn heals(&mut self) -> bool {
        self.now = self.now + Micros::secs(100);
        (0..NODES).for_each(|num| self.register(num));
        matches!(self.dispatch(30), Some(Outcome::Granted(_)))
    }

    /// Spoils each key in turn. Gives back the keys whose spoiling was noted, and those from which
    /// the store did not heal.
    fn spoil(&mut self, harm: impl Fn(&mut Connection, &str)) -> [Vec<String>; 2] {
        let mut noted = Vec::new();
        let mut broken = Vec::new();
        for key in self.fill() {
            self.fill();
            harm(&mut self.servers.connections[0], &key);
            self.exercise();
            if !self.heals() {
                broken.push(key.clone());
            }
            if self.noted() > 0 {
                noted.push(key);
            }
        }
        [noted, broken]
    }
}

/// Keys of the directory: what is lost there is not made up, the steps that need it say so.
fn is_directory(key: &str) -> bool {
    key.contains("{dir}") && !key.ends_with("expiries")
}

#[test]
fn keys_of_a_wrong_type() {
    let mut world = World::new();
    for kind in [["RPUSH", "junk", "junk"], ["SADD", "junk", "junk"], ["SET", "junk", ""]] {
        let [verb, value, more] = kind;
        let [noted, broken] = world.spoil(|connection, key| {
            cmd("DEL").arg(key).exec(connection).unwrap();
            let mut put = cmd(verb);
            put.arg(key).arg(value);
            if !more.is_empty() {
                put.arg(more);
            }
            put.exec(connection).unwrap();
        });
        let silent: Vec<String> =
            world.fill().into_iter().filter(|key| !noted.contains(key)).collect();
        assert_eq!(silent, [""; 0], "{verb}");
        assert!(broken.iter().all(|key| is_directory(key)), "{verb} {broken:?}");
    }
}

#[test]
fn keys_that_are_missing() {
    let mut world = World::new();
    let [_, broken] = world.spoil(|connection, key| cmd("DEL").arg(key).exec(connection).unwrap());
    assert!(broken.iter().all(|key| is_directory(key)), "{broken:?}");
}

#[test]
fn values_that_cannot_be_read() {
    let mut world = World::new();
    for junk in ["", "junk", "-1", "1e309", "99999999999999999999999 1 1 1 1 1 1", "\u{0}\u{ff}"] {
        let [noted, broken] = world.spoil(|connection, key| {
            let kind: String = cmd("TYPE").arg(key).query(connection).unwrap();
            match kind.as_str() {
                "string" => cmd("SET").arg(key).arg(junk).exec(connection).unwrap(),
                "hash" => {
                    let fields: Vec<String> = cmd("HKEYS").arg(key).query(connection).unwrap();
                    for field in fields {
                        cmd("HSET").arg(key).arg(field).arg(junk).exec(connection).unwrap();
                    }
                }
                _ => cmd("ZADD").arg(key).arg(0).arg(junk).exec(connection).unwrap(),
            }
        });
        for kind in ["node", "leases", "affinity", "answer", "debounce"] {
            let met = noted.iter().any(|key| key.contains(kind));
            assert!(met, "{kind} with `{junk}` was not noted: {noted:?}");
        }
        assert!(broken.iter().all(|key| is_directory(key)), "`{junk}` {broken:?}");
    }
}

#[test]
fn keys_of_others_change_nothing() {
    let mut world = World::new();
    world.fill();
    let connection = &mut world.servers.connections[0];
    for key in ["other", "lingua:v1:other", "lingua:v1:{n:0}:other", "lingua:v2:{n:0}:node"] {
        cmd("SET").arg(key).arg("junk").exec(connection).unwrap();
    }
    world.exercise();
    assert_eq!(world.noted(), 0, "{:?}", world.errors);
    let left: Vec<String> =
        cmd("KEYS").arg("*other").query(&mut world.servers.connections[0]).unwrap();
    assert_eq!(left.len(), 3);
}

#[test]
fn neither_a_lost_record_nor_a_lost_directory_gives_a_generation_twice() {
    let [record, _] = lingua_store::keys::node(NodeNum(0));
    for lost in [record.as_str(), lingua_store::keys::GENERATIONS] {
        let mut world = World::new();
        world.fill();
        cmd("DEL").arg(lost).exec(&mut world.servers.connections[0]).unwrap();
        comes_again(&mut world);
    }
}

fn comes_again(world: &mut World) {
    let op = Op::Register(Box::new(Register {
        name: "node-0".into(),
        caps: capabilities(1, PoolRule::AsrXTts),
        max_jobs: MAX_JOBS,
        owner: InstanceId(0),
    }));
    let reply = world.apply(&op);
    let Some(Reply::Registered(Ok(node))) = reply else { panic!("{reply:?}") };
    assert_eq!(node, NodeRef { num: NodeNum(0), generation: 2 });
}

#[test]
fn strangers_in_the_indexes_are_dropped() {
    let mut world = World::new();
    world.fill();
    let (expiries, free) = ("lingua:v1:{dir}:expiries", "lingua:v1:{c:0}:free");
    // Nobody, a node that is not there, and one whose leases last longer.
    for (index, score) in [(expiries, 1), (free, 0)] {
        for member in ["junk", "0000099"] {
            let connection = &mut world.servers.connections[0];
            cmd("ZADD").arg(index).arg(score).arg(member).exec(connection).unwrap();
        }
    }
    let connection = &mut world.servers.connections[0];
    cmd("ZADD").arg(expiries).arg(1).arg("0000000").exec(connection).unwrap();
    let granted =
        (10..13).filter(|&session| matches!(world.dispatch(session), Some(Outcome::Granted(_))));
    assert_eq!(granted.count(), 3);
    // The last walk goes around in vain.
    assert!(matches!(world.dispatch(13), Some(Outcome::Refused(Refusal::Full))));
    for index in [expiries, free] {
        let connection = &mut world.servers.connections[0];
        let members: Vec<String> =
            cmd("ZRANGE").arg(index).arg(0).arg(-1).query(connection).unwrap();
        assert_eq!(members, ["0000000", "0000001", "0000002"], "{index}");
    }
    let connection = &mut world.servers.connections[0];
    let score: u64 = cmd("ZSCORE").arg(expiries).arg("0000000").query(connection).unwrap();
    assert_eq!(score, world.now.0 + 30_000_000);
}
