//! Instances whose state is on Redis.

use std::process::Command;

use crate::figures::{eager, samples};
use crate::http::{get, stats_when, until};
use crate::peers::{Client, Node, Redis, STORE, server_with, speak_until_served};

/// What a peer sees is the same wherever the state is.
#[test]
fn the_tests_of_one_instance_pass_on_redis() {
    let suites = ["utterances::", "nodes::", "rooms::", "two_way::", "figures::", "first::"];
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(suites)
        .env(STORE, "redis")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}");
    assert!(told.contains("test result: ok"), "{told}");
}

#[tokio::test]
async fn a_redis_that_goes_and_comes_back_ends_nothing() {
    let mut redis = Redis::lasting();
    let url = server_with(redis.config()).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    speak_until_served(&mut client, &mut node, "before").await;
    assert_eq!(get(&url, "/ready").await.status, 200);
    redis.kill();
    client.speak(1, true).await;
    let (code, details) = client.error().await;
    assert_eq!(code, "SCHEDULER_DEPENDENCY_DOWN");
    assert_eq!(details.as_deref(), Some(r#"{"utterance_index":1,"retryable":true}"#));
    until(&url, "/ready", 503).await;
    assert_eq!(get(&url, "/ready").await.body, "the store does not answer\n");
    assert_eq!(get(&url, "/health").await.status, 200);
    redis.run();
    until(&url, "/ready", 200).await;
    // The node has kept its socket.
    speak_until_served(&mut client, &mut node, "after").await;
}

#[tokio::test]
async fn a_redis_that_has_lost_everything_is_filled_anew() {
    let mut redis = Redis::start();
    let url = server_with(redis.config()).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    speak_until_served(&mut client, &mut node, "before").await;
    redis.kill();
    redis.run();
    assert_eq!(node.closed().await, Some(1001), "its number may be another node's");
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    speak_until_served(&mut client, &mut node, "after").await;
}

#[tokio::test]
async fn the_store_is_measured() {
    let redis = Redis::start();
    let url = server_with(redis.with(eager())).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    speak_until_served(&mut client, &mut node, "x").await;
    stats_when(&url, |stats| stats["jobs"]["completed"] == 1).await;
    let page = samples(&get(&url, "/metrics").await.body);
    assert_eq!(page["scheduler_store_up"], 1.0);
    assert_eq!(page["scheduler_store_steps_total{step=\"dispatch\"}"], 1.0);
    assert!(page["scheduler_store_round_trip_seconds_count"] >= 4.0);
    assert!(page["scheduler_store_commands_total"] > 4.0);
}
