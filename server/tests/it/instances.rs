//! Several instances on one Redis: any of them serves any session and any node.

use std::time::Duration;

use lingua_core::{InstanceId, Micros, Op};
use lingua_protocol::JobAssign;
use lingua_server::Config;
use lingua_server::operator::Operator;
use lingua_store::{Layout, Store, StoreClock, StoreConfig};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::figures::eager;
use crate::http::json;
use crate::peers::{Client, Node, Redis, audio, refused, serve_until, server_with};

/// The first job of a client whose node is at another instance: that is known here only after a
/// moment.
async fn first_job(client: &mut Client, node: &mut Node) -> JobAssign<'static> {
    for _ in 0..100 {
        client.speak(2, true).await;
        tokio::select! {
            job = node.job() => return job,
            refused = client.error() => assert_eq!(refused.0, "NO_AVAILABLE_NODE"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the node never got a job");
}

#[tokio::test]
async fn a_session_is_served_by_a_node_of_another_instance() {
    serves_across(&Redis::start()).await;
}

#[tokio::test]
async fn so_it_is_on_a_cluster() {
    serves_across(&Redis::cluster()).await;
}

async fn serves_across(redis: &Redis) {
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut node = Node::register(&there, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&here, "zh", "en").await;
    let job = first_job(&mut client, &mut node).await;
    assert_eq!(job.audio.as_str(), audio(2), "the audio as it was spoken");
    assert!(job.is_manual_cut);
    node.hears_first(&job, "hel").await;
    assert_eq!(client.partial().await, "hel");
    node.answer(&job, "hello").await;
    let (said, index) = client.translation().await;
    assert_eq!((said.as_str(), index), ("hello", job.utterance_index));
}

#[tokio::test]
async fn errors_and_silence_come_back_too() {
    let redis = Redis::start();
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut node = Node::register(&there, "n1", "zh", "en", 2).await;
    let mut client = Client::open(&here, "zh", "en").await;
    let job = first_job(&mut client, &mut node).await;
    node.fail(&job, "PROCESSING_ERROR").await;
    assert_eq!(client.error().await.0, "PROCESSING_ERROR");
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer_silence(&job).await;
    assert!(client.wait_for("missing_result").await.contains("silence_detected"));
    // Somebody else's result changes nothing, and is refused.
    client.speak(1, true).await;
    let job = node.job().await;
    let mut other = Node::register(&there, "n2", "ja", "en", 1).await;
    other.answer(&job, "forged").await;
    other.wait_for("error").await;
    node.answer(&job, "true").await;
    assert_eq!(client.translation().await.0, "true");
}

#[tokio::test]
async fn instances_together_never_give_a_node_more_than_it_allows() {
    let redis = Redis::start();
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut node = Node::register(&there, "n1", "zh", "en", 2).await;
    let mut clients = Vec::new();
    for url in [&here, &there, &here, &there] {
        clients.push(Client::open(url, "zh", "en").await);
    }
    let first = first_job(&mut clients[0], &mut node).await;
    clients[1].speak(1, true).await;
    let second = node.job().await;
    for client in &mut clients[2..] {
        client.speak(1, true).await;
        assert_eq!(client.error().await.0, "NO_AVAILABLE_NODE");
    }
    for (job, client) in [first, second].iter().zip(&mut clients) {
        node.answer(job, "done").await;
        assert_eq!(client.translation().await.0, "done");
    }
}

#[tokio::test]
async fn a_node_that_comes_back_at_another_instance_leaves_the_first() {
    let redis = Redis::start();
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut old = Node::register(&here, "n1", "zh", "en", 1).await;
    let mut new = Node::register(&there, "n1", "zh", "en", 1).await;
    old.beat(0, 1.0, "").await;
    assert!(old.wait_for("error").await.contains("NODE_ID_CONFLICT"));
    assert_eq!(old.closed().await, Some(4001));
    let mut client = Client::open(&here, "zh", "en").await;
    let job = first_job(&mut client, &mut new).await;
    new.answer(&job, "new").await;
    assert_eq!(client.translation().await.0, "new");
}

#[tokio::test]
async fn whoever_is_forgotten_hears_it_even_where_the_first_to_tell_it_is_lost() {
    let redis = Redis::start();
    let here = server_with(redis.config()).await;
    let mut node = Node::register(&here, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&here, "zh", "en").await;
    let job = first_job(&mut client, &mut node).await;
    node.answer(&job, "before").await;
    assert_eq!(client.translation().await.0, "before");
    // Another one clears up; then a call says that this one is there, whose reply nobody hears.
    let config = redis.config();
    let store = Store::connect(StoreConfig {
        urls: config.redis.addresses,
        layout: Layout::OneServer,
        state: config.state,
        timeout: Duration::from_secs(10),
        clock: StoreClock::Store,
    });
    let (store, id) = (store.await.unwrap(), InstanceId(1));
    let about = store.roll().await.unwrap().members[0].about.clone();
    let nodes = store.nodes_of(id).await.unwrap();
    assert!(store.forget(id, true).await.unwrap());
    let op = Op::Remove(nodes[0]);
    store.apply(Micros::ZERO, &op).await.unwrap();
    store.present(id, &about, Duration::from_secs(6)).await.unwrap();
    while store.nodes_of(id).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The node is registered anew on the socket that it has.
    node.beat(0, 1.0, "").await;
    let job = first_job(&mut client, &mut node).await;
    node.answer(&job, "after").await;
    assert_eq!(client.translation().await.0, "after");
}

#[tokio::test]
async fn what_an_instance_had_is_done_by_another_when_it_leaves() {
    let redis = Redis::start();
    let (stop, stopped) = oneshot::channel::<()>();
    let here = server_with(redis.config()).await;
    let mut config = redis.config();
    config.limits.drain = Duration::from_millis(100);
    let there = serve_until(config, async { drop(stopped.await) }).await;
    let mut node = Node::register(&there, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&here, "zh", "en").await;
    first_job(&mut client, &mut node).await;
    let mut second = Node::register(&here, "n2", "zh", "en", 1).await;
    stop.send(()).unwrap();
    let job = second.job().await;
    assert_eq!(job.attempt_id, 2);
    second.answer(&job, "again").await;
    assert_eq!(client.translation().await.0, "again");
}

#[test]
fn what_an_instance_had_is_done_by_another_when_it_dies() {
    let redis = Redis::start();
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (living, dying) = (runtime(), runtime());
    let there = dying.block_on(server_with(redis.config()));
    living.block_on(async {
        let here = server_with(redis.config()).await;
        let mut node = Node::register(&there, "n1", "zh", "en", 1).await;
        let mut client = Client::open(&here, "zh", "en").await;
        first_job(&mut client, &mut node).await;
        let mut second = Node::register(&here, "n2", "zh", "en", 1).await;
        // All its sockets close at once, as when a process is killed.
        dying.shutdown_background();
        let job = second.job().await;
        assert_eq!(job.attempt_id, 2);
        second.answer(&job, "again").await;
        assert_eq!(client.translation().await.0, "again");
        // The dead instance's node gets nothing, and its slot is not counted on.
        for _ in 0..3 {
            client.speak(1, true).await;
            let job = second.job().await;
            second.answer(&job, "on").await;
            assert_eq!(client.translation().await.0, "on");
        }
        // The node comes back here, and is given jobs at once.
        let mut node = Node::register(&here, "n1", "zh", "en", 1).await;
        client.speak(1, true).await;
        client.speak(1, true).await;
        let (one, other) = (node.job().await, second.job().await);
        node.answer(&one, "both").await;
        second.answer(&other, "both").await;
        assert_eq!(client.translation().await.0, "both");
        assert_eq!(client.translation().await.0, "both");
    });
}

#[tokio::test]
async fn every_instance_shows_all() {
    let redis = Redis::start();
    let (here, there) = (redis.with(eager()), redis.with(eager()));
    let (here, there) = (server_with(here).await, server_with(there).await);
    let _node = Node::register(&there, "n1", "zh", "en", 3).await;
    let _client = Client::open(&here, "zh", "en").await;
    for url in [&here, &there] {
        let mut page = Value::Null;
        for _ in 0..200 {
            page = json(url, "/api/v1/cluster").await;
            if page["totals"]["sessions"] == 1 && page["totals"]["nodes"] == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(page["store"], "redis");
        assert_eq!(page["totals"]["instances"], 2, "{page:#}");
        assert_eq!(page["totals"]["slots"], 3);
        assert_eq!(page["nodes"][0]["node_id"], "n1");
        assert_ne!(page["nodes"][0]["instance"], page["instances"][0]["identity"]["pid"]);
    }
}

/// Waits until the one node is shown so.
async fn node_is(url: &str, state: &str) {
    let mut page = Value::Null;
    for _ in 0..200 {
        page = json(url, "/api/v1/cluster").await;
        if page["nodes"][0]["state"] == state {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{page:#}");
}

#[tokio::test]
async fn an_operator_looks_after_the_store() {
    let redis = Redis::lasting();
    let url = server_with(redis.with(eager())).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 3).await;
    let mut client = Client::open(&url, "zh", "en").await;
    let config = redis.config();
    let operator = Operator::new(&config.redis, config.state.clone()).await.unwrap();
    let found = operator.check().await.unwrap();
    assert!(found.iter().all(|finding| finding.mend.is_none()), "{found:?}");
    let stats = operator.stats().await.unwrap();
    assert!(stats[0].0 == "instance 1" && stats[0].1.starts_with("present; 1 nodes"), "{stats:?}");
    operator.drain("n1", true).await.unwrap();
    client.speak(1, true).await;
    assert_eq!(client.error().await.0, "NO_AVAILABLE_NODE");
    node_is(&url, "draining").await;
    operator.drain("n1", false).await.unwrap();
    node_is(&url, "ready").await;
    first_job(&mut client, &mut node).await;
    assert!(operator.drain("nobody", true).await.is_err());
    redis.ask("CONFIG SET maxmemory-policy allkeys-lru");
    let found = operator.check().await.unwrap();
    assert_eq!(found.iter().filter(|finding| finding.mend.is_some()).count(), 1, "{found:?}");
}

#[tokio::test]
async fn only_members_link_to_an_instance() {
    let redis = Redis::start();
    let url = server_with(redis.config()).await;
    let caller = "/ws/instance?instance=1&address=127.0.0.1:1";
    for path in [caller, &format!("{caller}&token=x"), "/ws/instance"] {
        assert_eq!(refused(&format!("{url}{path}")).await, 401);
    }
    let alone = server_with(Config::default()).await;
    assert_eq!(refused(&format!("{alone}/ws/instance?instance=1")).await, 401);
}
