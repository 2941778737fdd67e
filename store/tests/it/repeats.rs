//! Requests that come twice, and replies that never come: one binding each, and the same answer for
//! whoever asks.

use futures_util::{StreamExt, stream};
use lingua_core::*;
use lingua_store::{Layout, Store, StoreClock, StoreConfig};

use crate::servers::Servers;
use crate::size;
use crate::steps::capabilities;
use crate::world::{Random, pair};

const NODES: u32 = 100;
/// Requests under way at once.
const AT_ONCE: usize = 64;
/// The instances that ask.
const HERE: InstanceId = InstanceId(1);
const THERE: InstanceId = InstanceId(2);
/// Nobody judges the instances by time here.
const NOW: Micros = Micros(1_900_000_000_000_000);

/// What a request is bound to.
type Binding = (NodeRef, LeaseId);

/// What became of one request.
#[derive(Default)]
struct Told {
    repeated: u32,
    cut: u32,
}

/// One of the instances: a connection of its own.
async fn instance(servers: &Servers) -> Store {
    let config = servers.config(&StateConfig::default());
    Store::connect(StoreConfig { clock: StoreClock::Store, ..config }).await.unwrap()
}

async fn register(store: &Store) {
    for n in 0..NODES {
        let register = Register {
            name: format!("node-{n}").into(),
            caps: capabilities(1, PoolRule::AsrXTts),
            max_jobs: 1_024,
            owner: HERE,
        };
        let reply = store.apply(NOW, &Op::Register(Box::new(register))).await.unwrap();
        let Reply::Registered(Ok(node)) = reply else { panic!("{reply:?}") };
        store.apply(NOW, &Op::Heartbeat(node, Report::default())).await.unwrap();
    }
}

/// An instance's part of a request. Another instance would choose another node.
struct Asking<'a> {
    store: &'a Store,
    layout: Layout,
    request: RequestId,
    lease: LeaseId,
    node: NodeNum,
}

impl Asking<'_> {
    fn new(store: &Store, layout: Layout, n: u64, by: InstanceId) -> Asking<'_> {
        let request = RequestId { session: SessionId(n), index: 0, tgt: pair().tgt };
        let node = NodeNum(Random(n << 16 | u64::from(by.0)).below(NODES as usize) as u32);
        Asking { store, layout, request, lease: LeaseId::new(by, n), node }
    }

    /// What the store answers: the binding, and whether it was there before.
    async fn ask(&self) -> Binding {
        let (request, lease, needs) = (self.request, self.lease, Needs::pair(pair()));
        let deadline = NOW + Micros::secs(60);
        if self.layout == Layout::OneServer {
            let mut candidates = Candidates::default();
            candidates.push(self.node);
            let op = Op::Dispatch(Dispatch {
                request,
                attempt: 1,
                lease,
                needs,
                affinity: false,
                preferred: None,
                excluded: Excluded::default(),
                candidates,
                scan: None,
                deadline,
            });
            let reply = self.store.apply(NOW, &op).await.unwrap();
            let Reply::Dispatched(Dispatched {
                outcome: Outcome::Granted(grant) | Outcome::Repeated(grant),
                ..
            }) = reply
            else {
                panic!("{request:?}: {reply:?}")
            };
            return (grant.node, grant.lease);
        }
        let target = Some(Target { node: self.node, generation: None, via: Via::Candidate });
        let open = Open { request, attempt: 1, lease, affinity: false, target, deadline };
        let reply = self.store.apply(NOW, &Op::Open(open)).await.unwrap();
        let Reply::Intended(Intended::Stands(intent)) = reply else {
            panic!("{request:?}: {reply:?}")
        };
        let target = intent.target.expect("an intent points somewhere");
        let (lease, excluded) = (intent.lease, Excluded::default());
        let reserve = Reserve { target, request, attempt: 1, lease, needs, excluded, deadline };
        let reply = self.store.apply(NOW, &Op::Reserve(reserve)).await.unwrap();
        let Reply::Reserved(reserved) = reply else { panic!("{request:?}: {reply:?}") };
        match reserved {
            Reserved::Granted { grant, .. } => (grant.node, grant.lease),
            // It is given back already: the intent is the answer.
            Reserved::Over => (NodeRef { num: target.node, generation: 1 }, intent.lease),
            Reserved::Refused(cause) => panic!("{request:?}: {cause:?}"),
        }
    }

    async fn give_back(&self, (node, lease): Binding) -> Released {
        let release = Release { node, lease, attempt: 1, request: self.request };
        let reply = self.store.apply(NOW, &Op::Release(release)).await.unwrap();
        let Reply::Released(released) = reply else { panic!("{reply:?}") };
        if self.layout == Layout::Cluster {
            self.store.apply(NOW, &Op::End(self.request, lease)).await.unwrap();
        }
        released
    }
}

/// A request from its first question to its end; all who ask are told the same.
async fn serve(stores: &[Store; 2], layout: Layout, n: u64) -> Told {
    let here = Asking::new(&stores[0], layout, n, HERE);
    let there = Asking::new(&stores[1], layout, n, THERE);
    let mut random = Random(n);
    let mut told = Told::default();
    let (cut, repeated) = (random.permille(10), random.permille(100));
    if cut {
        // It is carried out, and nobody hears the reply.
        let _unheard = here.ask().await;
        told.cut += 1;
    }
    let binding = match repeated.then(|| random.below(3)) {
        None => here.ask().await,
        Some(when) => {
            told.repeated += 1;
            let mut answers = match when {
                0 => <[Binding; 2]>::from(tokio::join!(here.ask(), there.ask())),
                1 => [here.ask().await, there.ask().await],
                _ => [here.ask().await; 2],
            };
            if when == 2 {
                // The job is done when the other one asks.
                assert_ne!(here.give_back(answers[0]).await, Released::NoLease, "{n}");
                answers[1] = there.ask().await;
                assert_eq!(answers[0], answers[1], "request {n}");
                return told;
            }
            assert_eq!(answers[0], answers[1], "request {n}");
            answers[0]
        }
    };
    let released = here.give_back(binding).await;
    assert!(matches!(released, Released::Freed { .. }), "{n}: {released:?}");
    if cut {
        assert_eq!(here.give_back(binding).await, Released::NoLease, "{n}");
    }
    told
}

fn one_binding_each(mut servers: Servers, requests: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let requests = size::operations(requests);
    let layout = servers.layout;
    servers.flush();
    let told = runtime.block_on(async {
        let stores = [instance(&servers).await, instance(&servers).await];
        register(&stores[0]).await;
        let (mut served, stores) = (0, &stores);
        let all = stream::iter(0..requests).map(|n| async move { serve(stores, layout, n).await });
        let mut all = all.buffer_unordered(AT_ONCE);
        let mut sum = Told::default();
        while let Some(told) = all.next().await {
            sum.repeated += told.repeated;
            sum.cut += told.cut;
            served += 1;
            if served % 20_000 == 0 {
                // Nodes whose heartbeats are missing would be offline.
                for num in (0..NODES).map(NodeNum) {
                    let node = NodeRef { num, generation: 1 };
                    let beat = Op::Heartbeat(node, Report::default());
                    stores[0].apply(NOW, &beat).await.unwrap();
                }
            }
        }
        sum
    });
    let (granted, held) = bindings(&mut servers);
    println!(
        "{layout:?}: {requests} requests, {} repeated at another instance, {} replies cut; {granted} \
         bindings, {held} leases left",
        told.repeated, told.cut,
    );
    assert_eq!((granted, held), (requests, 0));
    assert!(u64::from(told.repeated) > requests / 12 && u64::from(told.cut) > requests / 150);
}

/// How many leases were ever granted, and how many are there.
fn bindings(servers: &mut Servers) -> (u64, u64) {
    let (mut granted, mut held) = (0, 0);
    for num in (0..NODES).map(NodeNum) {
        let [record, leases] = lingua_store::keys::node(num);
        for connection in &mut servers.connections {
            // Only the server that has the slot answers.
            let ask = redis::cmd("HGET").arg(&record).arg("granted").query(connection);
            let count: Option<u64> = ask.unwrap_or_default();
            granted += count.unwrap_or(0);
            let count: Option<u64> = redis::cmd("HLEN").arg(&leases).query(connection).ok();
            held += count.unwrap_or(0);
        }
    }
    (granted, held)
}

#[test]
fn a_request_has_one_binding_on_one_server() {
    one_binding_each(Servers::one(), 20_000);
}

#[test]
fn a_request_has_one_binding_on_a_cluster() {
    one_binding_each(Servers::cluster(), 10_000);
}

#[test]
#[ignore = "a million requests: some minutes"]
fn a_million_requests_have_one_binding_each_on_one_server() {
    one_binding_each(Servers::one(), 1_000_000);
}

#[test]
#[ignore = "a million requests: some minutes"]
fn a_million_requests_have_one_binding_each_on_a_cluster() {
    one_binding_each(Servers::cluster(), 1_000_000);
}
