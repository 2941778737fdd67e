//! The scheduler's address.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::child::Scheduler;
use crate::ledger::Kind;
use crate::{LoadError, Target, Urls};

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

/// The addresses of a scheduler's instances; there is one at least.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    sessions: Vec<Address>,
    nodes: Vec<Address>,
}

impl Addresses {
    /// Those of the peer with this number, its own first.
    pub(crate) fn of(&self, kind: Kind, number: u32) -> impl Iterator<Item = &Address> {
        let all = match kind {
            Kind::Node if !self.nodes.is_empty() => &self.nodes,
            _ => &self.sessions,
        };
        let own = number as usize % all.len();
        all[own..].iter().chain(&all[..own])
    }

    /// The first one.
    pub(crate) fn first(&self) -> &Address {
        &self.sessions[0]
    }
}

impl From<Address> for Addresses {
    fn from(address: Address) -> Self {
        Self { sessions: vec![address], nodes: Vec::new() }
    }
}

impl Urls {
    pub(crate) fn resolve(&self) -> Result<Addresses, TargetError> {
        let all = |urls: &[String]| -> Result<Vec<Address>, TargetError> {
            urls.iter().map(|url| Address::resolve(url)).collect()
        };
        let sessions = all(&self.sessions)?;
        if sessions.is_empty() {
            return Err(TargetError::Form { url: String::new() });
        }
        Ok(Addresses { sessions, nodes: all(&self.nodes)? })
    }
}

impl Target {
    /// Starts the scheduler, where it is one of the run's own; and where it is.
    pub(crate) async fn reach(&self) -> Result<(Option<Scheduler>, Addresses), LoadError> {
        match self {
            Self::Own(program) => {
                let scheduler = Scheduler::start(program).await?;
                let address = Address::of(scheduler.address);
                Ok((Some(scheduler), address.into()))
            }
            Self::Running(urls) => Ok((None, urls.resolve()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_spread_over_all_instances_and_know_them_all() {
        let urls = Urls {
            nodes: vec!["ws://127.0.0.1:9".to_owned()],
            ..Urls::from("ws://127.0.0.1:1,ws://127.0.0.1:2,ws://127.0.0.1:3")
        };
        let addresses = urls.resolve().unwrap();
        let ports = |kind, number| {
            addresses.of(kind, number).map(|one| one.socket.port()).collect::<Vec<_>>()
        };
        assert_eq!(ports(Kind::Session, 0), [1, 2, 3]);
        assert_eq!(ports(Kind::Session, 5), [3, 1, 2]);
        assert_eq!(ports(Kind::Node, 5), [9]);
        assert!(Urls::from("ws://127.0.0.1:1,").resolve().is_err());
    }

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
