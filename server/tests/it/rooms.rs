//! Rooms: who is in them, and who hears what.

use std::time::Duration;

use lingua_protocol::{RoomMember, RoomMembers, ToSession};
use lingua_server::{Config, RoomLimits};

use crate::peers::{Client, Node, server, server_with};

/// A client in the room of this code.
pub(crate) async fn joined(url: &str, code: &str, name: &str, lang: &str) -> Client {
    let mut client = Client::open(url, "zh", "en").await;
    client.send(&join(code, name, lang)).await;
    client.wait_for("room_members").await;
    client
}

fn join(code: &str, name: &str, lang: &str) -> String {
    let lang = if lang.is_empty() { "null".into() } else { format!("\"{lang}\"") };
    format!(
        r#"{{"type":"room_join","room_code":"{code}","display_name":"{name}",
        "preferred_lang":{lang}}}"#
    )
}

/// A client that has opened a room, and the room's code.
pub(crate) async fn host(url: &str, lang: Option<&str>) -> (Client, String) {
    let mut client = Client::open(url, "zh", "en").await;
    let lang = lang.map_or_else(|| "null".into(), |lang| format!("\"{lang}\""));
    let create = format!(r#"{{"type":"room_create","client_ts":1,"preferred_lang":{lang}}}"#);
    client.send(&create).await;
    let text = client.wait_for("room_create_ack").await;
    let Ok(ToSession::RoomCreateAck(ack)) = ToSession::parse(&text) else { panic!("{text}") };
    assert!(ack.room_id.is_some());
    assert_eq!(members(&mut client).await.len(), 1);
    (client, ack.room_code.as_str().to_owned())
}

async fn members(client: &mut Client) -> Vec<RoomMember> {
    let text = client.wait_for("room_members").await;
    match ToSession::parse(&text) {
        Ok(ToSession::RoomMembers(RoomMembers { members, .. })) => members.to_vec(),
        other => panic!("{other:?}"),
    }
}

async fn room_error(client: &mut Client) -> String {
    let text = client.wait_for("room_error").await;
    match ToSession::parse(&text) {
        Ok(ToSession::RoomError(error)) => error.code.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn members_come_and_go_and_all_are_told() {
    let url = server().await;
    let (mut host, code) = host(&url, None).await;
    assert!(code.len() == 6 && (100_000..=999_999).contains(&code.parse::<u32>().unwrap()));
    let mut guest = joined(&url, &code, "Ana", "en").await;
    let listed = members(&mut host).await;
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1].session_id.as_str(), guest.session());
    assert_eq!(listed[1].display_name.as_deref(), Some("Ana"));
    let joined_at = listed[1].joined_at.to_string();
    assert!(joined_at.ends_with('Z') && joined_at.as_bytes()[10] == b'T', "{joined_at}");

    let mute = format!(
        r#"{{"type":"room_raw_voice_preference","room_code":"{code}","target_session_id":"{}",
        "receive_raw_voice":false}}"#,
        host.session()
    );
    guest.send(&mute).await;
    let listed = members(&mut host).await;
    let voices = listed[1].raw_voice_preferences.as_ref().unwrap();
    assert_eq!(voices.get(host.session()), Some(&false));

    guest.send(&format!(r#"{{"type":"room_leave","room_code":"{code}"}}"#)).await;
    assert_eq!(members(&mut host).await.len(), 1);
    guest.send(&format!(r#"{{"type":"room_leave","room_code":"{code}"}}"#)).await;
    assert_eq!(room_error(&mut guest).await, "ROOM_NOT_FOUND", "it is not in it any more");
}

#[tokio::test]
async fn a_request_that_a_room_refuses_is_answered() {
    let url = server().await;
    let (mut host, code) = host(&url, None).await;
    host.send(&join(&code, "again", "")).await;
    assert_eq!(room_error(&mut host).await, "ALREADY_IN_ROOM");
    host.send(r#"{"type":"room_create","client_ts":1}"#).await;
    assert_eq!(room_error(&mut host).await, "ALREADY_IN_ROOM");
    let mut guest = Client::open(&url, "zh", "en").await;
    for wrong in ["000000", "12345", "abc", "1000000"] {
        guest.send(&join(wrong, "x", "")).await;
        assert_eq!(room_error(&mut guest).await, "ROOM_NOT_FOUND", "{wrong}");
    }
    let mut nobody = Client::connect(&url).await;
    nobody.send(&join(&code, "x", "")).await;
    assert_eq!(nobody.error().await.0, "INTERNAL_ERROR", "there is no session yet");
}

#[tokio::test]
async fn each_language_is_one_job_on_a_node_of_its_own_for_its_own_listeners() {
    let url = server().await;
    let mut nodes = [
        Node::register(&url, "n1", "zh", "en ja", 4).await,
        Node::register(&url, "n2", "zh", "en ja", 4).await,
    ];
    let (mut speaker, code) = host(&url, Some("zh")).await;
    let mut english = joined(&url, &code, "e1", "en").await;
    let mut japanese = joined(&url, &code, "j", "ja").await;
    let mut english_too = joined(&url, &code, "e2", "en").await;
    let mut mute = joined(&url, &code, "none", "").await;
    speaker.wait_for("room_members").await;
    speaker.speak(2, true).await;
    for node in &mut nodes {
        let job = node.job().await;
        assert_eq!((job.utterance_index, job.session_id.as_str()), (0, speaker.session()));
        assert_eq!(job.audio.as_str(), crate::peers::audio(2));
        let text = format!("to {}", job.tgt_lang);
        node.answer(&job, &text).await;
    }
    assert_eq!(english.translation().await, ("to en".to_owned(), 0));
    assert_eq!(english_too.translation().await, ("to en".to_owned(), 0));
    assert_eq!(japanese.translation().await, ("to ja".to_owned(), 0));
    for listener in [&mut english, &mut english_too, &mut japanese, &mut mute] {
        let heard = listener.heard_so_far().await;
        assert!(heard.iter().all(|kind| kind == "room_members"), "once, and only that: {heard:?}");
    }
    let shown = speaker.heard_so_far().await;
    assert!(shown.iter().any(|kind| kind == "ui_event"), "{shown:?}");
    assert!(!shown.iter().any(|kind| kind == "translation_result"), "{shown:?}");
}

#[tokio::test]
async fn whole_utterances_reach_the_room_too() {
    let url = server().await;
    let mut one = Node::register(&url, "n1", "zh", "en ja", 4).await;
    let mut two = Node::register(&url, "n2", "zh", "en ja", 4).await;
    let (mut speaker, code) = host(&url, None).await;
    let mut english = joined(&url, &code, "e", "en").await;
    let mut japanese = joined(&url, &code, "j", "ja").await;
    speaker.say_whole(0).await;
    for node in [&mut one, &mut two] {
        let job = node.job().await;
        node.answer(&job, job.tgt_lang.as_str()).await;
    }
    assert_eq!(english.translation().await.0, "en");
    assert_eq!(japanese.translation().await.0, "ja");
}

#[tokio::test]
async fn where_nobody_wants_a_language_the_speaker_has_a_plain_job() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let (mut speaker, code) = host(&url, None).await;
    let mut other = joined(&url, &code, "x", "").await;
    speaker.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "plain").await;
    speaker.wait_for("room_members").await;
    assert_eq!(speaker.translation().await.0, "plain");
    assert!(other.heard_so_far().await.is_empty());
}

#[tokio::test]
async fn a_listener_is_told_what_failed_and_who_spoke() {
    let url = server().await;
    let (mut speaker, code) = host(&url, None).await;
    let mut listener = joined(&url, &code, "e", "en").await;
    speaker.speak(1, true).await;
    let (error, details) = listener.error().await;
    assert_eq!(error, "NO_AVAILABLE_NODE");
    let spoke = format!(r#""session_id":"{}""#, speaker.session());
    assert!(details.unwrap().contains(&spoke));
    assert!(!speaker.heard_so_far().await.iter().any(|kind| kind == "error"));
}

#[tokio::test]
async fn a_dropped_socket_leaves_its_room_and_what_it_said_last_is_heard() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let (mut speaker, code) = host(&url, None).await;
    let mut listener = joined(&url, &code, "e", "en").await;
    speaker.speak(2, false).await;
    speaker.heard_so_far().await;
    drop(speaker);
    assert_eq!(members(&mut listener).await.len(), 1);
    let job = node.job().await;
    node.answer(&job, "goodbye").await;
    assert_eq!(listener.translation().await.0, "goodbye");
}

#[tokio::test]
async fn whoever_leaves_hears_no_more() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let (mut speaker, code) = host(&url, None).await;
    let mut stays = joined(&url, &code, "e", "en").await;
    let mut leaves = joined(&url, &code, "f", "en").await;
    speaker.speak(1, true).await;
    let job = node.job().await;
    leaves.send(&format!(r#"{{"type":"room_leave","room_code":"{code}"}}"#)).await;
    assert_eq!(members(&mut stays).await.len(), 3);
    assert_eq!(members(&mut stays).await.len(), 2);
    node.answer(&job, "after").await;
    assert_eq!(stays.translation().await.0, "after");
    assert!(leaves.heard_so_far().await.is_empty());
}

#[tokio::test]
async fn a_room_in_which_nobody_speaks_is_closed() {
    let millis = Duration::from_millis;
    let rooms = RoomLimits { idle: millis(1_000), scan: millis(50), ..RoomLimits::default() };
    let url = server_with(Config { rooms, ..Config::default() }).await;
    let (mut host, code) = host(&url, None).await;
    for _ in 0..10 {
        host.speak(1, true).await;
        tokio::time::sleep(millis(200)).await;
        let heard = host.heard_so_far().await;
        assert!(!heard.iter().any(|kind| kind == "room_expired"), "somebody speaks: {heard:?}");
    }
    let told = host.wait_for("room_expired").await;
    assert!(told.contains(&code), "{told}");
    host.send(&join(&code, "x", "")).await;
    assert_eq!(room_error(&mut host).await, "ROOM_NOT_FOUND");
}

#[tokio::test]
async fn rooms_members_languages_and_guesses_have_limits() {
    let rooms = RoomLimits { rooms: 1, members: 9, wrong_codes: 3, ..RoomLimits::default() };
    let url = server_with(Config { rooms, ..Config::default() }).await;
    let (_host, code) = host(&url, None).await;
    let mut second = Client::open(&url, "zh", "en").await;
    second.send(r#"{"type":"room_create","client_ts":1}"#).await;
    assert_eq!(room_error(&mut second).await, "INTERNAL_ERROR", "one room is allowed");

    let mut inside = Vec::new();
    for lang in ["qaa", "qab", "qac", "qad", "qae", "qaf", "qag", "qah"] {
        inside.push(joined(&url, &code, "x", lang).await);
    }
    second.send(&join(&code, "x", "")).await;
    assert_eq!(room_error(&mut second).await, "INTERNAL_ERROR", "nine members are allowed");
    let mut guesser = Client::open(&url, "zh", "en").await;
    for _ in 0..4 {
        guesser.send(&join("000000", "x", "")).await;
    }
    assert_eq!(guesser.closed().await, Some(1008));

    let mut other = Client::open(&url, "zh", "en").await;
    for _ in 0..2 {
        other.send(&join("000000", "x", "")).await;
        other.send(r#"{"type":"session_init","client_version":"t","platform":"web","src_lang":"zh","tgt_lang":"en"}"#).await;
        other.send(&join("000001", "x", "")).await;
    }
    assert_eq!(other.closed().await, Some(1008), "another session is no other guesser");
}

#[tokio::test]
async fn a_whole_utterance_makes_one_job_per_language_however_often_it_comes() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 8).await;
    let mut other = Node::register(&url, "n2", "zh", "ja", 8).await;
    let (mut speaker, code) = host(&url, None).await;
    let mut guest = joined(&url, &code, "Ana", "en").await;
    speaker.say_whole(0).await;
    let job = node.job().await;
    // Now there are two languages; its first is under way.
    let mut late = joined(&url, &code, "Yui", "ja").await;
    speaker.say_whole(0).await;
    speaker.say_whole(0).await;
    let japanese = other.job().await;
    node.answer(&job, "once").await;
    other.answer(&japanese, "also").await;
    assert_eq!(guest.translation().await, ("once".to_owned(), 0));
    assert_eq!(late.translation().await, ("also".to_owned(), 0));
    speaker.say_whole(1).await;
    let (job, japanese) = (node.job().await, other.job().await);
    assert_eq!((job.utterance_index, japanese.utterance_index), (1, 1));
    node.answer(&job, "twice").await;
    assert_eq!(guest.translation().await, ("twice".to_owned(), 1));
}

#[tokio::test]
async fn a_room_hears_eight_languages() {
    let url = server().await;
    let (_host, code) = host(&url, Some("qaa")).await;
    let mut inside = Vec::new();
    for lang in ["qab", "qac", "qad", "qae", "qaf", "qag", "qah"] {
        inside.push(joined(&url, &code, "x", lang).await);
    }
    let mut ninth = Client::open(&url, "zh", "en").await;
    ninth.send(&join(&code, "x", "qai")).await;
    assert_eq!(room_error(&mut ninth).await, "INTERNAL_ERROR");
    ninth.send(&join(&code, "x", "qah")).await;
    assert_eq!(members(&mut ninth).await.len(), 9);
}
