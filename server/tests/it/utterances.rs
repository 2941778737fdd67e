//! Turns, groups, and silence while a result is played.

use std::time::Duration;

use lingua_core::Micros;
use lingua_protocol::ToSession;
use lingua_server::Config;

use crate::figures::eager;
use crate::http::stats_when;
use crate::peers::{self, Client, Node, server, server_with};

/// 20 s of speech: the longest utterance.
const LONGEST: usize = 1_000;

#[tokio::test]
async fn a_turn_goes_on_over_cuts_for_length() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 8).await;
    let mut client = Client::open(&url, "zh", "en").await;
    for is_final in [true, false, false, true, true] {
        client.say(if is_final { 1 } else { LONGEST }, is_final).await;
    }
    let mut turns = Vec::new();
    for _ in 0..5 {
        let job = node.job().await;
        assert_eq!(job.is_max_duration_triggered, !job.is_manual_cut);
        turns.push(job.turn_id.unwrap().to_string());
    }
    assert_eq!(turns[0].len(), 36, "a UUID");
    assert!(turns[1] == turns[2] && turns[2] == turns[3], "{turns:?}");
    assert!(turns[0] != turns[1] && turns[3] != turns[4], "{turns:?}");
}

#[tokio::test]
async fn a_result_names_its_place_in_its_group() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "x").await;
    let text = client.wait_for("translation_result").await;
    let Ok(ToSession::TranslationResult(result)) = ToSession::parse(&text) else {
        panic!("{text}")
    };
    let group = result.group_id.unwrap().to_string();
    assert!(group.starts_with(&format!("group_{}_", client.session())), "{group}");
    assert_eq!(result.part_index, Some(0));
    assert!(result.scheduler_sent_at_ms.is_some_and(|ms| ms > 0));
}

#[tokio::test]
async fn no_pause_ends_an_utterance_while_a_result_is_played() {
    let mut config = Config::default();
    config.instance.finalize.pause = Micros::millis(200);
    let url = server_with(config).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    let session = client.session().to_owned();
    let play = |kind: &str, at: &str| {
        format!(
            r#"{{"type":"{kind}","session_id":"{session}","trace_id":"t","group_id":"g","{at}":1}}"#
        )
    };
    client.send(&play("tts_started", "ts_start_ms")).await;
    client.speak(1, false).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    client.speak(1, true).await;
    let job = node.job().await;
    assert_eq!(job.audio.as_str(), peers::audio(2), "one utterance, cut by hand");
    assert!(job.is_manual_cut);

    client.speak(1, false).await;
    client.send(&play("tts_play_ended", "ts_end_ms")).await;
    let job = node.job().await;
    assert!(job.is_timeout_triggered, "then silence counts again");
}

#[tokio::test]
async fn a_refused_whole_utterance_may_come_again() {
    let url = server().await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.say_whole(0).await;
    let (code, details) = client.error().await;
    assert_eq!(code, "NO_AVAILABLE_NODE");
    assert!(details.unwrap().contains("\"retryable\":true"));
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    client.say_whole(0).await;
    let job = node.job().await;
    node.answer(&job, "now").await;
    client.wait_for("translation_result").await;
}

#[tokio::test]
async fn the_first_result_counts_even_while_it_waits() {
    let url = server_with(eager()).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.say_whole(0).await;
    client.say_whole(1).await;
    let (first, second) = (node.job().await, node.job().await);
    node.answer(&second, "good").await;
    node.answer(&second, "changed").await;
    node.answer(&first, "first").await;
    assert_eq!(client.translation().await, ("first".to_owned(), 0));
    assert_eq!(client.translation().await, ("good".to_owned(), 1));
    stats_when(&url, |stats| stats["jobs"]["stale_results"] == 1).await;
}

#[tokio::test]
async fn whole_utterances_leave_in_order() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.say_whole(0).await;
    client.say_whole(1).await;
    let (first, second) = (node.job().await, node.job().await);
    assert_eq!((first.utterance_index, second.utterance_index), (0, 1));
    node.answer(&second, "second").await;
    node.answer(&first, "first").await;
    assert_eq!(client.translation().await, ("first".to_owned(), 0));
    assert_eq!(client.translation().await, ("second".to_owned(), 1));
}
