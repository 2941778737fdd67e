//! How sockets end: with a reason, and after what is owed.

use std::time::Duration;

use lingua_server::{Config, Limits};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;

use crate::http::get;
use crate::peers::{Client, Node, Socket, serve_until, server, server_with};

#[tokio::test]
async fn a_goodbye_is_answered() {
    let url = server().await;
    for path in ["/ws/session", "/ws/node"] {
        let mut socket = Socket::open(&url, path).await;
        socket.say_goodbye().await;
        assert_eq!(socket.closed().await, Some(1000), "{path}");
    }
}

#[tokio::test]
async fn a_frame_that_cannot_be_read_closes_with_its_reason() {
    let url = server().await;
    // A client masks its frames: fin and text, masked, one byte, a mask of zeroes.
    let text = |byte: u8| [0x81, 0x81, 0, 0, 0, 0, byte];
    for (what, bytes, code) in [
        ("no UTF-8", &text(0xff)[..], 1007),
        ("a reserved bit", &[0xf1, 0x80, 0, 0, 0, 0][..], 1002),
        ("a frame of 20 MB", &[0x81, 0xff, 0, 0, 0, 0, 1, 49, 45, 0, 0, 0, 0, 0][..], 1009),
    ] {
        let mut socket = Socket::open(&url, "/ws/session").await;
        socket.stream().write_all(bytes).await.unwrap();
        assert_eq!(socket.closed().await, Some(code), "{what}");
    }
}

#[tokio::test]
async fn a_frame_of_20_mb_is_refused_while_it_is_sent() {
    let url = server().await;
    let mut socket = Socket::open(&url, "/ws/node").await;
    socket.send_frame(Message::text("x".repeat(20 << 20))).await;
    let code = socket.closed().await;
    assert!(matches!(code, Some(1009) | None), "{code:?}");
    Client::open(&url, "zh", "en").await;
}

#[tokio::test]
async fn a_server_that_stops_answers_first_and_then_says_goodbye() {
    let (stop, stopped) = oneshot::channel::<()>();
    let url = serve_until(Config::default(), async { drop(stopped.await) }).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    let mut idle = Client::connect(&url).await;
    client.speak(1, true).await;
    let job = node.job().await;
    // One is in its hangover, one is still spoken, and one comes too late.
    client.speak(1, true).await;
    client.say(1, false).await;
    client.heard_so_far().await;
    stop.send(()).unwrap();
    while get(&url, "/ready").await.body != "draining\n" {}
    client.say(1, true).await;
    client.speak(1, true).await;
    node.answer(&job, "still").await;
    for text in ["hanging", "spoken"] {
        let job = node.job().await;
        node.answer(&job, text).await;
    }
    for text in ["still", "hanging", "spoken"] {
        assert_eq!(client.translation().await.0, text);
    }
    let (code, details) = client.error().await;
    assert_eq!(code, "NO_AVAILABLE_NODE");
    assert!(details.unwrap().contains("\"utterance_index\":3"));
    for code in [client.closed().await, node.closed().await, idle.closed().await] {
        assert_eq!(code, Some(1001));
    }
}

#[tokio::test]
async fn what_is_not_answered_when_a_stop_has_waited_long_is_cut_with_a_reason() {
    let (stop, stopped) = oneshot::channel::<()>();
    let limits = Limits { drain: Duration::from_millis(100), ..Limits::default() };
    let config = Config { limits, ..Config::default() };
    let url = serve_until(config, async { drop(stopped.await) }).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    node.job().await;
    stop.send(()).unwrap();
    assert_eq!(client.closed().await, Some(1001));
    assert_eq!(node.closed().await, Some(1001));
}

#[tokio::test]
async fn a_silent_socket_is_pinged_and_then_closed() {
    let limits = Limits { ping: Duration::from_millis(100), ..Limits::default() };
    let url = server_with(Config { limits, ..Config::default() }).await;
    let mut answers = Client::open(&url, "zh", "en").await;
    // It answers pings only while it reads.
    let silent = Client::open(&url, "zh", "en").await;
    for _ in 0..20 {
        answers.heard_so_far().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut silent = silent;
    assert_eq!(silent.closed().await, Some(4003));
    answers.heard_so_far().await;
}
