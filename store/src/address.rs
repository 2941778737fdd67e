//! Where a server of the store is. An address may hold a password, so it is never shown whole.

use std::fmt;

/// An address of a server: `redis://[user:password@]host:port`.
///
/// Shown without name, password and query. Whether it is one is found out when connecting.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// All of it, for the client library alone.
    pub(crate) fn whole(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Address {
    fn from(url: &str) -> Self {
        Self(url.to_owned())
    }
}

impl From<String> for Address {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_scheme = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+');
        let scheme = self.0.split_once("://").filter(|(scheme, _)| is_scheme(scheme));
        let (scheme, rest) = match scheme {
            Some((scheme, rest)) => (format!("{scheme}://"), rest),
            None => (String::new(), &*self.0),
        };
        let (hidden, rest) = match rest.rsplit_once('@') {
            Some((_, rest)) => ("…@", rest),
            None => ("", rest),
        };
        match rest.split_once('?') {
            Some((rest, _)) => write!(f, "{scheme}{hidden}{rest}?…"),
            None => write!(f, "{scheme}{hidden}{rest}"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        for (whole, shown) in [
            ("redis://host:6379", "redis://host:6379"),
            ("redis://user:secret@host:6379/1", "redis://…@host:6379/1"),
            ("user:secret@host", "…@host"),
            ("secret@host:1", "…@host:1"),
            ("user:se://cret@host", "…@host"),
            ("redis://:se@c/ret@host", "redis://…@host"),
            ("redis+unix:///run/redis?pass=secret&user=u", "redis+unix:///run/redis?…"),
            ("host:6379", "host:6379"),
        ] {
            let address = Address::from(whole);
            assert_eq!(address.to_string(), shown);
            assert_eq!(format!("{address:?}"), format!("\"{shown}\""));
        }
    }
}
