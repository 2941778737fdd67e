//! A store whose contents are spoiled: every operation on it ends in an answer or a typed error.

use lingua_core::*;
use lingua_store::{Layout, Store, StoreError};
use redis::{Connection, cmd};
use tokio::runtime::Runtime;

use crate::servers::Servers;
use crate::steps::capabilities;

const NODES: u32 = 3;
const MAX_JOBS: u32 = 2;

/// A store, and what it has said.
pub(super) struct World {
    runtime: Runtime,
    servers: Servers,
    store: Store,
    pub(super) now: Micros,
    leases: u64,
    pub(super) errors: Vec<StoreError>,
    noted: u64,
}

impl World {
    /// A store on one server, and one on a Cluster.
    pub(super) fn both() -> [Self; 2] {
        [Self::new(Servers::one()), Self::new(Servers::cluster())]
    }

    pub(super) fn new(mut servers: Servers) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = runtime.block_on(servers.store(&StateConfig::default()));
        let (now, errors) = (Micros(1_900_000_000_000_000), Vec::new());
        Self { runtime, servers, store, now, leases: 0, errors, noted: 0 }
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.servers.layout == Layout::Cluster
    }

    /// The server that has a key.
    pub(super) fn holder(&mut self, key: &str) -> &mut Connection {
        let holds =
            |connection: &mut Connection| cmd("EXISTS").arg(key).query::<u32>(connection).is_ok();
        let at = self.servers.connections.iter_mut().position(holds);
        &mut self.servers.connections[at.expect("some server has its slot")]
    }

    pub(super) fn keys(&mut self, pattern: &str) -> Vec<String> {
        let mut keys = Vec::new();
        for connection in &mut self.servers.connections {
            keys.extend(cmd("KEYS").arg(pattern).query::<Vec<String>>(connection).unwrap());
        }
        keys.sort_unstable();
        keys
    }

    pub(super) fn apply(&mut self, op: &Op) -> Option<Reply> {
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
    pub(super) fn noted(&mut self) -> u64 {
        let counts = self.store.counts();
        let all = counts.quarantined() + counts.unreadable() + self.errors.len() as u64;
        let new = all - self.noted;
        self.noted = all;
        new
    }

    pub(super) fn register(&mut self, num: u32) {
        if let Some(Reply::Registered(Ok(node))) = self.apply(&register(num)) {
            self.apply(&Op::Heartbeat(node, Report::default()));
            self.apply(&Op::Hint(node.num, true));
        }
    }

    /// Asks for a slot; tells whether there is one, where the store answers.
    pub(super) fn dispatch(&mut self, session: u64) -> Option<bool> {
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
        if self.is_cluster() {
            return self.walk(&d);
        }
        match self.apply(&Op::Dispatch(d)) {
            Some(Reply::Dispatched(dispatched)) => {
                Some(matches!(dispatched.outcome, Outcome::Granted(_)))
            }
            _ => None,
        }
    }

    /// A dispatch step by step, to one node after the other.
    fn walk(&mut self, d: &Dispatch) -> Option<bool> {
        let first = d.candidates.as_slice()[0].0;
        let target = |n: u32| {
            let node = NodeNum((first + n) % NODES);
            Some(Target { node, generation: None, via: Via::Candidate })
        };
        let (request, lease, deadline) = (d.request, d.lease, d.deadline);
        let affinity = d.affinity;
        let open = Open { request, attempt: 1, lease, affinity, target: target(0), deadline };
        let mut intended = self.apply(&Op::Open(open))?;
        for n in 1..=NODES {
            let Reply::Intended(Intended::Stands(intent)) = intended else { return Some(false) };
            let Some(target_now) = intent.target else { return Some(false) };
            let (needs, excluded, lease) = (d.needs, d.excluded, intent.lease);
            let reserve = Reserve {
                target: target_now,
                request,
                attempt: 1,
                lease,
                needs,
                excluded,
                deadline,
            };
            let Reply::Reserved(reserved) = self.apply(&Op::Reserve(reserve))? else { return None };
            if let Reserved::Granted { .. } = reserved {
                return Some(true);
            }
            let from = Some(target_now.node);
            let m = Move { request, attempt: 1, lease, from, to: target(n) };
            intended = self.apply(&Op::Move(m))?;
        }
        Some(false)
    }

    /// Nodes with jobs, an affinity, a debounce: a key of every kind.
    pub(super) fn fill(&mut self) -> Vec<String> {
        self.leases = 0;
        self.servers.flush();
        self.runtime.block_on(self.store.agree_on_rules()).unwrap();
        (0..NODES).for_each(|num| self.register(num));
        for session in 0..3 {
            self.dispatch(session);
        }
        let node = NodeRef { num: NodeNum(0), generation: 1 };
        let (session, life) = (SessionId(9), Micros::secs(60));
        self.apply(&Op::RecordAffinity(RecordAffinity { session, node, life, only: None }));
        self.apply(&Op::Debounce(ModelId(1), life));
        self.noted();
        let mut keys = self.keys("lingua:*");
        keys.retain(|key| !key.ends_with("rules"));
        keys
    }

    /// Every operation once or twice, by whoever might meet a key.
    pub(super) fn exercise(&mut self) {
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
                Op::Hint(num, false),
                Op::Hint(num, true),
            ] {
                self.apply(&op);
            }
        }
        if self.is_cluster() {
            let request = RequestId { session: SessionId(1), index: 0, tgt: "en".parse().unwrap() };
            let (class, excluded) = (ClassId::new(0), Excluded::default());
            self.apply(&Op::Find(Find { class, word: 1, excluded }));
            self.apply(&Op::End(request, LeaseId(2)));
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
            let held: Result<u32, _> = cmd("HLEN").arg(&leases).query(self.holder(&leases));
            assert!(held.unwrap_or(0) <= MAX_JOBS, "{leases}");
        }
    }

    /// Nodes that register again serve again.
    fn heals(&mut self) -> bool {
        self.now = self.now + Micros::secs(100);
        (0..NODES).for_each(|num| self.register(num));
        self.dispatch(30) == Some(true)
    }

    /// Spoils each key in turn. Gives back the keys whose spoiling was noted, and those from which
    /// the store did not heal.
    pub(super) fn spoil(&mut self, harm: impl Fn(&mut Connection, &str)) -> [Vec<String>; 2] {
        let mut noted = Vec::new();
        let mut broken = Vec::new();
        for key in self.fill() {
            self.fill();
            harm(self.holder(&key), &key);
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

pub(super) fn register(num: u32) -> Op {
    Op::Register(Box::new(Register {
        name: format!("node-{num}").into(),
        caps: capabilities(1, PoolRule::AsrXTts),
        max_jobs: MAX_JOBS,
        owner: InstanceId(0),
    }))
}
