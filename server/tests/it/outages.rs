//! Instances that stand still, or are cut from Redis: whoever is connected stays so.

use std::time::Duration;

use lingua_server::Config;
use lingua_server::operator::Operator;
use tokio::runtime::{Builder, Runtime};

use crate::http::until;
use crate::peers::proxy::Proxy;
use crate::peers::{Client, Node, Redis, server_with, speak_until_served};

/// Longer than an instance counts as present, and than others take to notice.
const LONG: Duration = Duration::from_secs(9);

/// Waits until the others have taken an instance's nodes out of the pools.
async fn until_given_up(config: &Config, instances_left: usize) {
    let operator = Operator::new(&config.redis, config.state.clone()).await.unwrap();
    for _ in 0..600 {
        let stats = operator.stats().await.unwrap();
        if stats.iter().filter(|(name, _)| name.starts_with("instance ")).count() == instances_left
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody clears up");
}

#[tokio::test]
async fn an_instance_that_was_cut_from_redis_keeps_its_nodes() {
    let redis = Redis::start();
    let proxy = Proxy::before(&redis.config()).await;
    let here = server_with(redis.config()).await;
    let there = server_with(proxy.with(redis.config())).await;
    let mut node = Node::register(&there, "n1", "zh", "en", 1).await;
    let (mut near, mut far) =
        (Client::open(&there, "zh", "en").await, Client::open(&here, "zh", "en").await);
    speak_until_served(&mut far, &mut node, "before").await;
    proxy.stall();
    near.speak(1, true).await;
    assert_eq!(near.error().await.0, "SCHEDULER_DEPENDENCY_DOWN");
    until_given_up(&redis.config(), 1).await;
    far.speak(1, true).await;
    assert_eq!(far.error().await.0, "NO_AVAILABLE_NODE", "its node is out of reach");
    proxy.go_on();
    until(&there, "/ready", 200).await;
    speak_until_served(&mut far, &mut node, "after").await;
    // Its next report is that of a node that is registered.
    node.beat(0, 1.0, "").await;
    speak_until_served(&mut near, &mut node, "near").await;
}

#[test]
fn an_instance_that_stood_still_keeps_its_nodes() {
    let redis = Redis::start();
    let runtime =
        |threads| Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let (living, frozen): (Runtime, Runtime) = (runtime(2).unwrap(), runtime(1).unwrap());
    let there = frozen.block_on(server_with(redis.config()));
    living.block_on(async {
        let here = server_with(redis.config()).await;
        let mut node = Node::register(&there, "n1", "zh", "en", 1).await;
        let (mut near, mut far) =
            (Client::open(&there, "zh", "en").await, Client::open(&here, "zh", "en").await);
        speak_until_served(&mut far, &mut node, "before").await;
        let asleep = frozen.spawn(async { std::thread::sleep(LONG) });
        near.speak(1, true).await;
        until_given_up(&redis.config(), 1).await;
        far.speak(1, true).await;
        assert_eq!(far.error().await.0, "NO_AVAILABLE_NODE", "its node is out of reach");
        asleep.await.unwrap();
        // What was said meanwhile has its answer, whichever that is.
        tokio::select! {
            job = node.job() => {
                node.answer(&job, "late").await;
                assert_eq!(near.translation().await.0, "late");
            }
            (code, _) = near.error() => assert_ne!(code, "INVALID_SESSION"),
        }
        speak_until_served(&mut far, &mut node, "after").await;
        node.beat(0, 1.0, "").await;
        speak_until_served(&mut near, &mut node, "near").await;
    });
    frozen.shutdown_background();
}

#[tokio::test]
async fn what_nobody_waits_for_takes_no_slots_when_redis_wakes() {
    const SLOTS: u16 = 16;
    let redis = Redis::start();
    let proxy = Proxy::before(&redis.config()).await;
    let url = server_with(proxy.with(redis.config())).await;
    let mut node = Node::register(&url, "n1", "zh", "en", SLOTS).await;
    let mut client = Client::open(&url, "zh", "en").await;
    speak_until_served(&mut client, &mut node, "before").await;
    proxy.stall();
    for _ in 0..3 {
        client.speak(1, true).await;
        assert_eq!(client.error().await.0, "SCHEDULER_DEPENDENCY_DOWN");
        for _ in 0..SLOTS {
            client.speak(1, true).await;
        }
        for _ in 0..SLOTS {
            assert_eq!(client.error().await.0, "SCHEDULER_DEPENDENCY_DOWN");
        }
    }
    proxy.go_on();
    until(&url, "/ready", 200).await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "after").await;
    assert_eq!(client.translation().await.0, "after");
}

#[tokio::test]
async fn a_result_of_another_instance_comes_while_redis_is_away() {
    let mut redis = Redis::start();
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut node = Node::register(&there, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&here, "zh", "en").await;
    speak_until_served(&mut client, &mut node, "before").await;
    client.speak(1, true).await;
    let job = node.job().await;
    redis.kill();
    node.answer(&job, "meanwhile").await;
    assert_eq!(client.translation().await.0, "meanwhile");
}

#[tokio::test]
async fn all_instances_notice_that_redis_has_lost_everything() {
    let mut redis = Redis::start();
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut one = Node::register(&here, "n1", "zh", "en", 1).await;
    let mut other = Node::register(&there, "n2", "ja", "en", 1).await;
    let (mut near, mut far) =
        (Client::open(&here, "zh", "en").await, Client::open(&there, "ja", "en").await);
    speak_until_served(&mut near, &mut one, "before").await;
    speak_until_served(&mut far, &mut other, "before").await;
    redis.kill();
    redis.run();
    // Their numbers may become each other's.
    for node in [&mut one, &mut other] {
        assert_eq!(node.closed().await, Some(1001));
    }
    let mut one = Node::register(&there, "n1", "zh", "en", 1).await;
    speak_until_served(&mut near, &mut one, "after").await;
}
