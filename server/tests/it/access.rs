//! Who gets in, how many, and how soon.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use lingua_server::{Access, Config, Kind, Limits, Rule, Secret, ServeError, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::peers::{Client, refused, server_with};

const SESSION: &str = "session-token-0123456789abcdef-0123";
const NODE: &str = "node-token-0123456789abcdef-0123456";
const INIT: &str = r#"{"type":"session_init","client_version":"t","platform":"web","src_lang":"zh",
    "tgt_lang":"en"}"#;

fn secret(text: &str) -> Secret {
    text.parse().unwrap()
}

fn limited(change: impl FnOnce(&mut Limits)) -> Config {
    let mut config = Config::default();
    change(&mut config.limits);
    config
}

/// A connection that has sent so much of a request.
async fn half_open(url: &str, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(url.strip_prefix("ws://").unwrap()).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream
}

/// Waits until the server has ended a connection.
async fn ended(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
    // Ended by a reset is ended.
    let _ = ended.expect("the server ends it");
}

#[tokio::test]
async fn a_token_opens_its_own_kind_of_socket() {
    let access = Access {
        sessions: Rule::Token(secret(SESSION)),
        nodes: Rule::Token(secret(NODE)),
        admin_anywhere: false,
    };
    let url = server_with(Config { access, ..Config::default() }).await;
    for (path, query) in [
        ("session", String::new()),
        ("session", "?token=".into()),
        ("session", format!("?token={NODE}")),
        ("session", format!("?token={SESSION}x")),
        ("node", String::new()),
        ("node", format!("?token={SESSION}")),
    ] {
        assert_eq!(refused(&format!("{url}/ws/{path}{query}")).await, 401, "{path}{query}");
    }
    let mut by_query = Client::asking(format!("{url}/ws/session?token={SESSION}")).await;
    by_query.send(INIT).await;
    by_query.wait_for("session_init_ack").await;
    let mut request = format!("{url}/ws/session").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {SESSION}").parse().unwrap());
    let mut by_header = Client::asking(request).await;
    by_header.send(INIT).await;
    by_header.wait_for("session_init_ack").await;
    Client::asking(format!("{url}/ws/node?token={NODE}")).await;
}

#[tokio::test]
async fn a_signed_token_opens_too() {
    let access = Access { sessions: Rule::Jwt(secret(SESSION)), ..Access::default() };
    let url = server_with(Config { access, ..Config::default() }).await;
    let token = |exp: u64| {
        let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#);
        let claims = format!(r#"{{"exp":{exp},"aud":"lingua-session"}}"#);
        let body = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims));
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SESSION.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
    };
    assert_eq!(refused(&format!("{url}/ws/session?token={}", token(1_000))).await, 401);
    assert_eq!(refused(&format!("{url}/ws/session?token={SESSION}")).await, 401);
    Client::asking(format!("{url}/ws/session?token={}", token(99_999_999_999))).await;
}

#[tokio::test]
async fn without_tokens_only_this_machine_is_served() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let nodes = Rule::Token(secret(NODE));
    let access = Access { nodes, ..Access::default() };
    let config = Config { access, ..Config::default() };
    let refused = serve(config, listener, std::future::pending()).await.unwrap_err();
    assert!(matches!(refused, ServeError::NoToken { kind: Kind::Session, .. }), "{refused}");
}

#[tokio::test]
async fn a_slow_handshake_is_cut() {
    let url = server_with(limited(|limits| limits.handshake = Duration::from_millis(200))).await;
    for sent in ["", "GET /ws/session HTTP/1.1\r\nHost: x\r\nUpgrade: web", "\r\n\r\n"] {
        ended(half_open(&url, sent).await).await;
    }
    Client::open(&url, "zh", "en").await;
}

#[tokio::test]
async fn where_too_many_are_not_yet_sockets_the_oldest_gives_way() {
    let url = server_with(limited(|limits| {
        limits.handshakes = 4;
        limits.handshake = Duration::from_secs(600);
    }))
    .await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        slow.push(half_open(&url, "GET /").await);
    }
    for stream in slow.drain(..4) {
        ended(stream).await;
    }
    for _ in 0..8 {
        Client::open(&url, "zh", "en").await;
    }
}

#[tokio::test]
async fn an_address_has_so_many_connections() {
    let url = server_with(limited(|limits| limits.sockets_per_address = 2)).await;
    let first = Client::open(&url, "zh", "en").await;
    let _second = Client::open(&url, "zh", "en").await;
    ended(half_open(&url, "").await).await;
    drop(first);
    // Its place is free once the server has seen it go.
    while tokio_tungstenite::connect_async(format!("{url}/ws/session")).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn sockets_and_their_sessions_are_counted() {
    let url = server_with(limited(|limits| {
        limits.sockets = 1;
        limits.sessions_per_socket = 2;
    }))
    .await;
    let mut only = Client::open(&url, "zh", "en").await;
    assert_eq!(Client::connect(&url).await.closed().await, Some(1013));
    only.send(INIT).await;
    only.wait_for("session_init_ack").await;
    only.send(INIT).await;
    assert_eq!(only.error().await.0, "INVALID_SESSION");
}

#[tokio::test]
async fn a_socket_that_does_not_greet_is_closed() {
    let url =
        server_with(limited(|limits| limits.first_message = Duration::from_millis(100))).await;
    assert_eq!(Client::connect(&url).await.closed().await, Some(4004));
}
