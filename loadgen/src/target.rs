//! The scheduler's address.

use std::net::{SocketAddr, ToSocketAddrs};

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Not of the form that it must have.
    #[error("--target {url}: write ws://host:port, such as ws://127.0.0.1:5010")]
    Form {
        /// What was given.
        url: String,
    },
    /// No such host.
    #[error("--target {url}: {source}; check the host's name")]
    Host {
        /// What was given.
        url: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A scheduler's address in both forms.
#[derive(Debug, Clone)]
pub struct Address {
    /// `ws://host:port`, without a path.
    pub(crate) base: String,
    /// Address and port of its first host.
    pub socket: SocketAddr,
}

impl Address {
    pub(crate) fn of(socket: SocketAddr) -> Self {
        Self { base: format!("ws://{socket}"), socket }
    }

    /// Looks the host up.
    ///
    /// # Errors
    /// Not of the form `ws://host:port`, or no such host.
    pub fn resolve(url: &str) -> Result<Self, TargetError> {
        let form = || TargetError::Form { url: url.to_owned() };
        let host = url.strip_prefix("ws://").ok_or_else(form)?;
        let host = host.strip_suffix('/').unwrap_or(host);
        if host.contains('/') || !host.contains(':') {
            return Err(form());
        }
        let host_error = |source| TargetError::Host { url: url.to_owned(), source };
        let socket = host.to_socket_addrs().map_err(host_error)?.next().ok_or_else(form)?;
        Ok(Self { base: format!("ws://{host}"), socket })
    }
}
