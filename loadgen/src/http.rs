//! One request over HTTP to a scheduler's pages.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest wait for a page.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of a page that are read.
const PAGE_BYTES: u64 = 4 << 20;

/// What a page's server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Asks for a page by a method; `host`: the name and port that it is asked for by.
pub(crate) async fn ask(at: SocketAddr, host: &str, method: &str, path: &str) -> io::Result<Page> {
    let fetch = async {
        let mut stream = TcpStream::connect(at).await?;
        // 1.0, so that the body comes in one piece and ends with the connection.
        let ask = format!("{method} {path} HTTP/1.0\r\nhost: {host}\r\n\r\n");
        stream.write_all(ask.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(PAGE_BYTES).read_to_end(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let late = |_| io::Error::other(format!("{path} did not come within 10 s"));
    let answer = timeout(PATIENCE, fetch).await.map_err(late)??;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let none = || io::Error::other(format!("{path} is not answered in HTTP"));
    Ok(Page { status: status.ok_or_else(none)?, body: body.to_owned() })
}
