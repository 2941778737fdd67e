//! The scheduler's address.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::child::Scheduler;
use crate::{LoadError, Target};

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
    /// Whether it is this machine, so that nobody else is harmed.
    pub fn is_loopback(&self) -> bool {
        self.socket.ip().is_loopback()
    }

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

impl Target {
    /// Starts the scheduler, where it is one of the run's own; and where it is.
    pub(crate) async fn reach(&self) -> Result<(Option<Scheduler>, Address), LoadError> {
        match self {
            Self::Own(program) => {
                let scheduler = Scheduler::start(program).await?;
                let address = Address::of(scheduler.address);
                Ok((Some(scheduler), address))
            }
            Self::Url(url) => Ok((None, Address::resolve(url)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_this_machine_is_loopback() {
        for (url, here) in [
            ("ws://127.9.9.9:1", true),
            ("ws://[::1]:1/", true),
            ("ws://192.0.2.127:1", false),
            ("ws://[2001:db8::1]:1", false),
        ] {
            assert_eq!(Address::resolve(url).unwrap().is_loopback(), here, "{url}");
        }
    }
}
