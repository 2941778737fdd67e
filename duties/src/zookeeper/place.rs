//! Where the board lies at ZooKeeper, read from what a person has written.

use std::fmt;

use lingua_core::InstanceId;
use lingua_core::claim::DutyId;

/// Longest root, in bytes: a request names the paths of many znodes.
const ROOT_MAX: usize = 200;
/// Most bytes of a value that an error shows.
const SHOWN_MAX: usize = 64;

/// Why a place at ZooKeeper cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The root is no path.
    #[error(
        "root {0:?} at ZooKeeper: give an absolute path such as /lingua/v1/duties, of visible \
         ASCII, at most {ROOT_MAX} bytes, without empty parts, '.' and '..', not in /zookeeper"
    )]
    Root(String),
    /// The servers are no list of addresses.
    #[error(
        "servers {0:?} of ZooKeeper: give host:port,host:port; the path is the root's, not theirs"
    )]
    Servers(String),
    /// The credentials are not `user:password`. They are not shown.
    #[error("credentials for ZooKeeper: give user:password, neither of them empty")]
    Credentials,
}

/// As much of a foreign value as is shown; whoever shows it escapes it.
pub(super) fn shown(value: &str) -> String {
    let end = value.char_indices().map(|(at, _)| at).find(|&at| at >= SHOWN_MAX);
    value[..end.unwrap_or(value.len())].to_owned()
}

/// The path under which the board lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(String);

impl Root {
    /// Reads a path.
    ///
    /// # Errors
    /// It is none that may be used.
    pub fn parse(path: &str) -> Result<Self, PlaceError> {
        let is_name = |part: &str| !matches!(part, "" | "." | "..");
        let is_good = path.len() <= ROOT_MAX
            && path.bytes().all(|byte| byte.is_ascii_graphic())
            && path.strip_prefix('/').is_some_and(|parts| parts.split('/').all(is_name))
            && path.split('/').nth(1) != Some("zookeeper");
        if is_good { Ok(Self(path.to_owned())) } else { Err(PlaceError::Root(shown(path))) }
    }

    pub(super) fn path(&self) -> &str {
        &self.0
    }

    pub(super) fn dir(&self, dir: Dir) -> String {
        format!("{}/{}", self.0, dir.name())
    }

    pub(super) fn member(&self, instance: InstanceId) -> String {
        format!("{}/{}", self.dir(Dir::Members), instance.0)
    }

    pub(super) fn duty(&self, duty: DutyId) -> String {
        format!("{}/{}", self.dir(Dir::Duties), duty.0)
    }

    pub(super) fn holder(&self, duty: DutyId) -> String {
        format!("{}/{}", self.dir(Dir::Holders), duty.0)
    }
}

/// What lies under the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dir {
    /// A child for each member, of its session. Its own data change with every drain.
    Members,
    /// A child for each duty. Its own data change with every removal.
    Duties,
    /// A child for each duty that is held, of the holder's session.
    Holders,
}

impl Dir {
    pub(super) const ALL: [Self; 3] = [Self::Members, Self::Duties, Self::Holders];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Members => "members",
            Self::Duties => "duties",
            Self::Holders => "holders",
        }
    }
}

/// The number that a znode's name or its data say; only as it is written here.
pub(super) fn number<N: std::str::FromStr + fmt::Display>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number: &N| number.to_string() == text)
}

/// The servers of one ZooKeeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Servers(String);

impl Servers {
    /// Reads `host:port,host:port`.
    ///
    /// # Errors
    /// It is no such list.
    pub fn parse(list: &str) -> Result<Self, PlaceError> {
        let is_host = |host: &str| {
            !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/')
        };
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
        let is_address = |address: &str| {
            let parts = address.rsplit_once(':');
            parts.is_some_and(|(host, port)| is_host(host) && is_port(port))
        };
        if list.split(',').all(is_address) {
            Ok(Self(list.to_owned()))
        } else {
            Err(PlaceError::Servers(shown(list)))
        }
    }

    pub(super) fn list(&self) -> &str {
        &self.0
    }
}

/// Who comes, by the scheme `digest`. Znodes that it creates are only its own.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials(String);

impl Credentials {
    /// Reads `user:password`.
    ///
    /// # Errors
    /// One of them is missing.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        match text.split_once(':') {
            Some((user, password)) if !user.is_empty() && !password.is_empty() => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(PlaceError::Credentials),
        }
    }

    pub(super) fn digest(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_an_absolute_path_without_empty_parts() {
        for path in ["/lingua", "/lingua/v1/duties", "/a.b/..c"] {
            assert_eq!(Root::parse(path).unwrap().path(), path);
        }
        let long = format!("/{}", "x".repeat(ROOT_MAX));
        for path in [
            "",
            "/",
            "lingua",
            "/lingua/",
            "//lingua",
            "/a//b",
            "/a/../b",
            "/.",
            "/a b",
            "/a\0",
            "/käse",
            "/zookeeper/quota",
            "/zookeeper",
            &long,
        ] {
            assert_eq!(Root::parse(path), Err(PlaceError::Root(shown(path))), "{path:?}");
        }
    }

    #[test]
    fn an_error_shows_the_value_and_the_mend() {
        let told = Root::parse(&"ä\n".repeat(1_000)).unwrap_err().to_string();
        assert!(told.contains(r"ä\n") && told.contains("/lingua/v1/duties"), "{told}");
        assert!(told.len() < 400, "{told}");
    }

    #[test]
    fn servers_have_a_host_and_a_port_and_no_path() {
        for list in ["localhost:2181", "a:1,b:2,10.0.0.3:65535", "[::1]:2181"] {
            assert_eq!(Servers::parse(list).unwrap().list(), list);
        }
        for list in ["", "host", "host:", ":2181", "a:1,", "a:1/x", "tcp://a:1", "a:0", "a:65536"] {
            assert!(matches!(Servers::parse(list), Err(PlaceError::Servers(_))), "{list:?}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let credentials = Credentials::parse("lingua:se:cret").unwrap();
        assert_eq!(credentials.digest(), b"lingua:se:cret");
        assert!(!format!("{credentials:?}").contains("cret"));
        for text in ["", "lingua", ":secret", "lingua:"] {
            assert_eq!(Credentials::parse(text), Err(PlaceError::Credentials), "{text:?}");
        }
    }

    #[test]
    fn a_name_is_a_number_as_it_is_written_here() {
        assert_eq!(number::<u16>("65535"), Some(65_535));
        for name in ["", "x", "+5", "05", "65536", "-1", " 5", "5/6"] {
            assert_eq!(number::<u16>(name), None, "{name:?}");
        }
    }
}
