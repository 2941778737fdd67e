//! WebRTC signals between the members of a room.

use crate::peers::{Client, server};
use crate::rooms::{host, joined};

/// What must arrive as it was sent: spaces, escapes, order of keys.
const PAYLOAD: &str = r#"{ "b":1,  "a" : "\u00e9\n", "deep":[[[{}]]] }"#;

fn message(kind: &str, code: &str, to: &str) -> String {
    let field = if kind == "webrtc_ice" { "candidate" } else { "sdp" };
    format!(r#"{{"type":"{kind}","room_code":"{code}","to":"{to}","{field}":{PAYLOAD}}}"#)
}

/// All signals that came before the answer to a heartbeat.
async fn signals(client: &mut Client) -> Vec<String> {
    let heard = client.heard_so_far().await;
    heard.into_iter().filter(|kind| kind.starts_with("webrtc")).collect()
}

#[tokio::test]
async fn a_signal_goes_on_unread_and_names_its_sender() {
    let url = server().await;
    let (mut one, code) = host(&url, None).await;
    let mut other = joined(&url, &code, "x", "").await;
    for kind in ["webrtc_offer", "webrtc_answer", "webrtc_ice"] {
        one.send(&message(kind, &code, other.session())).await;
        let arrived = other.wait_for(kind).await;
        assert!(arrived.contains(PAYLOAD), "{arrived}");
        let sender = format!(r#""to":"{}""#, one.session());
        assert!(arrived.contains(&sender), "{arrived}");
    }
}

#[tokio::test]
async fn a_signal_to_whoever_is_elsewhere_or_has_muted_the_sender_is_dropped() {
    let url = server().await;
    let (mut one, code) = host(&url, None).await;
    let mut other = joined(&url, &code, "x", "").await;
    let (mut stranger, other_code) = host(&url, None).await;
    let to = other.session().to_owned();
    let send = [
        message("webrtc_offer", &code, stranger.session()),
        message("webrtc_offer", &other_code, stranger.session()),
        message("webrtc_offer", &other_code, &to),
        message("webrtc_offer", "999999", &to),
        message("webrtc_offer", "nowhere", &to),
        message("webrtc_offer", &code, "nobody"),
    ];
    for message in send {
        one.send(&message).await;
    }
    let sender_hears = one.heard_so_far().await;
    assert!(!sender_hears.iter().any(|kind| kind == "error"), "silently: {sender_hears:?}");
    assert!(signals(&mut stranger).await.is_empty());
    assert!(signals(&mut other).await.is_empty());

    let voice = |hears: bool| {
        format!(
            r#"{{"type":"room_raw_voice_preference","room_code":"{code}",
            "target_session_id":"{}","receive_raw_voice":{hears}}}"#,
            one.session()
        )
    };
    let (mute, unmute) = (voice(false), voice(true));
    other.send(&mute).await;
    other.heard_so_far().await;
    one.send(&message("webrtc_ice", &code, &to)).await;
    one.heard_so_far().await;
    assert!(signals(&mut other).await.is_empty());
    other.send(&unmute).await;
    other.heard_so_far().await;
    one.send(&message("webrtc_ice", &code, &to)).await;
    other.wait_for("webrtc_ice").await;
}
