//! The scheduler under test: its address, its sockets and its pages.

use std::time::Duration;

use tokio::time::timeout;

use crate::http::{self, Page};
use crate::socket::{ConnectError, Socket};
use crate::target::{Address, TargetError};

/// Longest wait for a connection or a handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a scheduler listens.
#[derive(Debug, Clone)]
pub struct Target {
    address: Address,
    tokens: Tokens,
}

/// What peers show to be let in.
#[derive(Clone, Default)]
pub struct Tokens {
    /// Clients.
    pub session: Option<String>,
    /// Nodes.
    pub node: Option<String>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Nobody serves sessions there.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// No connection, or no WebSocket.
    #[error("no scheduler to probe: {0}")]
    Socket(#[from] ConnectError),
    /// Neither a connection nor a refusal.
    #[error("no scheduler to probe: {0} did not answer within 10 s")]
    Silent(String),
}

impl Target {
    /// Reads `ws://host:port` and looks the host up.
    ///
    /// # Errors
    /// Another form, or a host without an address.
    pub fn resolve(url: &str) -> Result<Self, TargetError> {
        Ok(Self { address: Address::resolve(url)?, tokens: Tokens::default() })
    }

    /// The same scheduler, for peers that show these tokens.
    #[must_use]
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }

    /// Whether nobody but this machine can be harmed.
    pub fn is_loopback(&self) -> bool {
        self.address.is_loopback()
    }

    /// Opens a WebSocket and closes it again.
    ///
    /// # Errors
    /// Nobody listens, or nobody speaks WebSocket on the session route.
    pub async fn reach(&self) -> Result<(), Unreachable> {
        match timeout(PATIENCE, self.connect("/ws/session")).await {
            Ok(Ok(_opened)) => Ok(()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Unreachable::Silent(self.address.base.clone())),
        }
    }

    pub(super) async fn connect(&self, path: &str) -> Result<Socket, ConnectError> {
        let token = match path {
            "/ws/node" => &self.tokens.node,
            _ => &self.tokens.session,
        };
        let shown = token.as_ref().map(|token| format!("?token={}", escaped(token)));
        let url = format!("{}{path}{}", self.address.base, shown.unwrap_or_default());
        Socket::connect(&url, self.address.socket, None).await
    }

    /// Fetches a page.
    pub(super) async fn get(&self, path: &str) -> std::io::Result<Page> {
        self.ask("GET", path).await
    }

    /// Asks by another method.
    pub(super) async fn ask(&self, method: &str, path: &str) -> std::io::Result<Page> {
        let host = self.address.base.trim_start_matches("ws://");
        http::ask(self.address.socket, host, method, path).await
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.address.base)
    }
}

/// A token as part of a query.
fn escaped(token: &str) -> String {
    let escape = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    token.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_escaped() {
        assert_eq!(escaped("aZ9-._~"), "aZ9-._~");
        assert_eq!(escaped("a+b/c=&"), "a%2Bb%2Fc%3D%26");
    }
}
