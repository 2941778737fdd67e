//! Plain requests to a server.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer: its status and headers as they came, and its body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Asks for a path of the server at `url`.
pub(crate) async fn get(url: &str, path: &str) -> Answer {
    ask(url, "GET", path).await
}

pub(crate) async fn ask(url: &str, method: &str, path: &str) -> Answer {
    let address = url.trim_start_matches("ws://");
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

pub(crate) async fn json(url: &str, path: &str) -> Value {
    let answer = get(url, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

/// Asks for the figures until they are as they must become.
pub(crate) async fn stats_when(url: &str, ready: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    for _ in 0..400 {
        last = json(url, "/api/v1/stats").await;
        if ready(&last) {
            return last;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the figures never became so: {last:#}");
}

/// Waits until a path of the server answers so.
pub(crate) async fn until(url: &str, path: &str, status: u16) {
    for _ in 0..600 {
        if get(url, path).await.status == status {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{path} never said {status}");
}
