//! Servers that cannot serve, or not for now: one clear error, and service again after the cure.

use std::time::Duration;

use lingua_core::*;
use lingua_store::{Layout, Store, StoreClock, StoreConfig, StoreError};
use redis::cmd;

use crate::dump::dump;
use crate::servers::{Server, Servers};
use crate::steps::capabilities;

fn config(url: String) -> StoreConfig {
    StoreConfig {
        urls: vec![url.into()],
        layout: Layout::OneServer,
        state: StateConfig::default(),
        timeout: Duration::from_secs(20),
        clock: StoreClock::Store,
    }
}

async fn refusal(config: StoreConfig) -> StoreError {
    match Store::connect(config).await {
        Ok(_) => panic!("the store was taken"),
        Err(error) => error,
    }
}

fn register(name: &str) -> Op {
    register_as(name, 1)
}

fn register_as(name: &str, kind: usize) -> Op {
    Op::Register(Box::new(Register {
        name: name.into(),
        caps: capabilities(kind, PoolRule::AsrXTts),
        max_jobs: 2,
        owner: InstanceId(0),
    }))
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let error = refusal(config("redis://:secret@127.0.0.1:1".to_owned())).await;
    assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
    let told = error.to_string();
    assert!(told.contains("redis://…@127.0.0.1:1: "), "{told}");
    assert!(told.contains("start redis-server there"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

#[tokio::test]
async fn addresses_that_are_none() {
    let error = refusal(config("http://user:secret@host".to_owned())).await;
    assert!(matches!(error, StoreError::Address { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let none = StoreConfig { urls: vec![], ..config(String::new()) };
    assert!(matches!(refusal(none).await, StoreError::NoAddress));
    let nobody = config("redis://127.0.0.1:1".to_owned());
    assert!(matches!(refusal(nobody).await, StoreError::Unreachable(_)));
}

#[tokio::test]
async fn rules_that_the_store_cannot_serve() {
    let state = StateConfig { capacity: CapacityCheck::AsDocumented, ..StateConfig::default() };
    let error = refusal(StoreConfig { state, ..config("redis://127.0.0.1:1".to_owned()) }).await;
    assert!(matches!(error, StoreError::Rule(_)), "{error}");
}

#[tokio::test]
async fn a_store_under_other_rules_or_of_an_older_schema() {
    for mut servers in [Servers::one(), Servers::cluster()] {
        drop(servers.store(&StateConfig::default()).await);
        let other = StateConfig { pool_rule: PoolRule::FaceToFace, ..StateConfig::default() };
        let error = refusal(servers.config(&other)).await;
        assert!(matches!(error, StoreError::OtherRules { .. }), "{error}");
        let old = "schema 0, one server, pool_rule asr-x-tts, shard_size 100";
        let rules = lingua_store::keys::RULES;
        for (verb, held, told) in [("SET", old, old), ("SADD", "foreign", rules)] {
            for connection in &mut servers.connections {
                // Only the server that has the slot takes it.
                let _ = cmd("DEL").arg(rules).exec(connection);
                let _ = cmd(verb).arg(rules).arg(held).exec(connection);
            }
            let error = refusal(servers.config(&StateConfig::default())).await;
            assert!(matches!(error, StoreError::OtherRules { .. }), "{error}");
            assert!(error.to_string().contains(told), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_of_the_other_kind() {
    let servers = Servers::one();
    let cluster = StoreConfig { layout: Layout::Cluster, ..config(servers.servers[0].url()) };
    let error = refusal(cluster).await;
    let refused = matches!(error, StoreError::NoCluster | StoreError::Unreachable(_));
    assert!(refused || matches!(error, StoreError::Script { .. }), "{error:?}");
    let servers = Servers::cluster();
    let error = refusal(config(servers.servers[0].url())).await;
    assert!(matches!(error, StoreError::IsCluster | StoreError::NotReady(_)), "{error:?}");
}

#[tokio::test]
async fn a_wrong_password() {
    let mut server = Server::start(&["--requirepass", "right"]);
    server.wait_for_port();
    refuses_passwords(&server.url(), Layout::OneServer).await;
    let mut servers = Servers::cluster();
    for connection in &mut servers.connections {
        cmd("CONFIG").arg("SET").arg("requirepass").arg("right").exec(connection).unwrap();
    }
    refuses_passwords(&servers.servers[0].url(), Layout::Cluster).await;
}

async fn refuses_passwords(url: &str, layout: Layout) {
    let with = |word: &str| url.replace("redis://", &format!("redis://{word}"));
    for bad in [with(""), with(":wrong@")] {
        let error = refusal(StoreConfig { layout, ..config(bad) }).await;
        assert!(matches!(error, StoreError::Credentials(_)), "{error:?}");
    }
    let right = StoreConfig { layout, ..config(with(":right@")) };
    assert!(Store::connect(right).await.is_ok());
}

#[tokio::test]
async fn a_read_only_replica() {
    let mut primary = Server::start(&[]);
    drop(primary.connection());
    let port = primary.url().rsplit(':').next().unwrap().to_owned();
    let mut replica = Server::start(&["--replicaof", &format!("127.0.0.1 {port}")]);
    drop(replica.connection());
    let error = refusal(config(replica.url())).await;
    assert!(matches!(error, StoreError::ReadOnly), "{error:?}");
}

#[tokio::test]
async fn memory_that_is_full() {
    for mut servers in [Servers::one(), Servers::cluster()] {
        let layout = servers.layout;
        let store = servers.store(&StateConfig::default()).await;
        let now = Micros::secs(1);
        let reply = store.apply(now, &register("a")).await.unwrap();
        let Reply::Registered(Ok(node)) = reply else { panic!("{reply:?}") };
        store.apply(now, &Op::Heartbeat(node, Report::default())).await.unwrap();
        reserve(&store, layout, 1).await.unwrap();
        let before = dump(&mut servers.connections, now);
        limit_memory(&mut servers, "1");
        let later = Op::Heartbeat(node, Report { running: 1, ..Report::default() });
        let errors = [
            store.apply(now, &register("b")).await.unwrap_err(),
            store.apply(now, &later).await.unwrap_err(),
            reserve(&store, layout, 2).await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::OutOfMemory), "{error:?}");
        }
        limit_memory(&mut servers, "0");
        assert_eq!(dump(&mut servers.connections, now), before, "nothing is half written");
        // Two slots: the one that was refused and no more.
        reserve(&store, layout, 2).await.unwrap();
        reserve(&store, layout, 3).await.unwrap();
        let [_, leases] = lingua_store::keys::node(node.num);
        let held = servers
            .connections
            .iter_mut()
            .find_map(|connection| cmd("HLEN").arg(&leases).query::<u32>(connection).ok());
        assert_eq!(held, Some(2));
    }
}

fn limit_memory(servers: &mut Servers, bytes: &str) {
    for connection in &mut servers.connections {
        cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).exec(connection).unwrap();
    }
}

/// Asks for a slot of the first node.
async fn reserve(store: &Store, layout: Layout, n: u64) -> Result<Reply, StoreError> {
    let (now, num) = (Micros::secs(1), NodeNum(0));
    let pair = Pair { src: "zh".parse().unwrap(), tgt: "en".parse().unwrap() };
    let request = RequestId { session: SessionId(n), index: 0, tgt: pair.tgt };
    let (lease, needs) = (LeaseId(n), Needs::pair(pair));
    let (excluded, deadline) = (Excluded::default(), now + Micros::secs(60));
    if layout == Layout::Cluster {
        let target = Target { node: num, generation: None, via: Via::Candidate };
        let reserve = Reserve { target, request, attempt: 1, lease, needs, excluded, deadline };
        return store.apply(now, &Op::Reserve(reserve)).await;
    }
    let mut candidates = Candidates::default();
    candidates.push(num);
    let dispatch = Dispatch {
        request,
        attempt: 1,
        lease,
        needs,
        affinity: false,
        preferred: None,
        excluded,
        candidates,
        scan: None,
        deadline,
    };
    store.apply(now, &Op::Dispatch(dispatch)).await
}

/// A primary that becomes a replica under way: an operator has made a mistake.
#[tokio::test]
async fn a_primary_that_becomes_a_replica() {
    let mut other = Server::start(&[]);
    drop(other.connection());
    let mut servers = Servers::one();
    let store = servers.store(&StateConfig::default()).await;
    store.apply(Micros::secs(1), &register("a")).await.unwrap();
    let mut follow = |host: &str, port: &str| {
        let connection = &mut servers.connections[0];
        cmd("REPLICAOF").arg(host).arg(port).exec(connection).unwrap();
    };
    follow("127.0.0.1", &other.port.to_string());
    let error = store.apply(Micros::secs(1), &register("b")).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly | StoreError::NotReady(_)), "{error:?}");
    follow("NO", "ONE");
    while store.apply(Micros::secs(1), &register("b")).await.is_err() {}
}

/// In a Cluster a replica's address leads to the primaries.
#[tokio::test]
async fn a_replica_of_a_cluster_is_a_way_to_it() {
    let servers = Servers::cluster_with_replicas();
    let url = servers.replicas[0].url();
    let store = Store::connect(StoreConfig { layout: Layout::Cluster, ..config(url) }).await;
    store.unwrap().apply(Micros::secs(1), &register("a")).await.unwrap();
}

#[tokio::test]
async fn scripts_that_a_server_has_forgotten() {
    for mut servers in [Servers::one(), Servers::cluster()] {
        let store = servers.store(&StateConfig::default()).await;
        for connection in &mut servers.connections {
            cmd("SCRIPT").arg("FLUSH").exec(connection).unwrap();
        }
        for generation in 1..3 {
            let reply = store.apply(Micros::secs(1), &register("a")).await.unwrap();
            let Reply::Registered(Ok(node)) = reply else { panic!("{reply:?}") };
            assert_eq!(node.generation, generation);
        }
        // On a Cluster a registration is two scripts.
        assert_eq!(store.counts().reloads(), servers.connections.len().min(2) as u64);
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time() {
    for mut servers in [Servers::one(), Servers::cluster()] {
        let timeout = Duration::from_millis(200);
        let config = StoreConfig { timeout, ..servers.config(&StateConfig::default()) };
        let store = Store::connect(config).await.unwrap();
        for connection in &mut servers.connections {
            cmd("CLIENT").arg("PAUSE").arg(60_000).arg("WRITE").exec(connection).unwrap();
        }
        let error = store.apply(Micros::secs(1), &register("a")).await.unwrap_err();
        assert!(matches!(error, StoreError::TimedOut(_)), "{error:?}");
        for connection in &mut servers.connections {
            cmd("CLIENT").arg("UNPAUSE").exec(connection).unwrap();
        }
        // How soon it answers again depends on the machine; that it does must not.
        while store.apply(Micros::secs(1), &register("a")).await.is_err() {}
    }
}

#[tokio::test]
async fn a_pair_without_room_and_a_maximum_out_of_range() {
    let state = StateConfig { shard_size: 1, ..StateConfig::default() };
    for mut servers in [Servers::one(), Servers::cluster()] {
        let store = servers.store(&state).await;
        let mut embedded = State::new(state.clone());
        let now = Micros::secs(1);
        // The first node speaks other languages, until it wants those that have no room.
        let mut ops = vec![register_as("first", 3)];
        ops.extend((0..=Shards::MAX).map(|n| register(&format!("node-{n}"))));
        ops.push(register("first"));
        for (at, op) in ops.iter().enumerate() {
            let expected = format!("{:?}", embedded.apply(now, op));
            let stored = format!("{:?}", store.apply(now, op).await.unwrap());
            assert_eq!(stored, expected);
            assert_eq!(stored.contains("PairFull"), at > Shards::MAX);
        }
        assert_eq!(dump(&mut servers.connections, now), embedded.dump(now));
    }
}
