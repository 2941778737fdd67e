//! Where the board lies at ZooKeeper, read from what a person has written.

use std::fmt;
use std::str::FromStr;

use lingua_core::InstanceId;
use lingua_core::claim::DutyId;

/// Where the board lies, if nobody says otherwise.
const ROOT: &str = "/lingua/v1/duties";
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
         ASCII without commas, at most {ROOT_MAX} bytes, without empty parts, '.' and '..', not in \
         /zookeeper"
    )]
    Root(String),
    /// The servers are no list of addresses.
    #[error(
        "servers {0:?} of ZooKeeper: give host:port, of an ensemble several with commas between"
    )]
    Servers(String),
    /// An address with a password, which is not shown.
    #[error("servers of ZooKeeper: give host:port without user and password, which go beside them")]
    Login,
    /// The credentials are not `user:password`. They are not shown.
    #[error("credentials for ZooKeeper: give user:password, neither of them empty")]
    Credentials,
}

/// As much of a foreign value as is shown; whoever shows it escapes it.
pub(super) fn shown(value: &str) -> String {
    let end = value.char_indices().map(|(at, _)| at).find(|&at| at >= SHOWN_MAX);
    value[..end.unwrap_or(value.len())].to_owned()
}

/// Where a board is: the servers of one ensemble, and the path there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub(super) servers: Servers,
    pub(super) root: Root,
}

impl Place {
    /// The path under which the board lies.
    pub fn root(&self) -> &str {
        self.root.path()
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    /// Reads `host:port,host:port/root/path`; absent, the path is `/lingua/v1/duties`.
    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let (servers, root) = text.split_at(text.find('/').unwrap_or(text.len()));
        let root = if root.is_empty() { ROOT } else { root };
        Ok(Self { servers: Servers::parse(servers)?, root: Root::parse(root)? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.servers.list(), self.root.path())
    }
}

/// The path under which the board lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root(String);

impl Root {
    pub(super) fn parse(path: &str) -> Result<Self, PlaceError> {
        let is_name = |part: &str| !matches!(part, "" | "." | "..");
        let is_good = path.len() <= ROOT_MAX
            // A comma says that each server was given a path.
            && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
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
pub(super) fn number<N: FromStr + fmt::Display>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number: &N| number.to_string() == text)
}

/// The servers of one ZooKeeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Servers(String);

impl Servers {
    fn parse(list: &str) -> Result<Self, PlaceError> {
        if list.contains('@') {
            return Err(PlaceError::Login);
        }
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

impl FromStr for Credentials {
    type Err = PlaceError;

    /// Reads `user:password`.
    fn from_str(text: &str) -> Result<Self, PlaceError> {
        match text.split_once(':') {
            Some((user, password)) if !user.is_empty() && !password.is_empty() => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(PlaceError::Credentials),
        }
    }
}

impl Credentials {
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
            "/a,b:1/c",
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
    fn a_place_is_servers_and_a_root() {
        for (text, root) in [("a:1,b:2/x/y", "/x/y"), ("a:1,b:2", ROOT)] {
            let place: Place = text.parse().unwrap();
            assert_eq!((place.servers.list(), place.root()), ("a:1,b:2", root));
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for text in ["", "/x", "a", "a/x", "zk://a:1/x"] {
            assert!(matches!(text.parse::<Place>(), Err(PlaceError::Servers(_))), "{text:?}");
        }
        for text in ["a:1/", "a:1/x,b:2/x", "a:1/x/../y"] {
            assert!(matches!(text.parse::<Place>(), Err(PlaceError::Root(_))), "{text:?}");
        }
        let told = "user:secret@a:1/x".parse::<Place>().unwrap_err();
        assert!(!told.to_string().contains("secret"), "{told}");
    }

    #[test]
    fn a_password_is_never_shown() {
        let credentials = "lingua:se:cret".parse::<Credentials>().unwrap();
        assert_eq!(credentials.digest(), b"lingua:se:cret");
        assert!(!format!("{credentials:?}").contains("cret"));
        for text in ["", "lingua", ":secret", "lingua:"] {
            assert_eq!(text.parse::<Credentials>(), Err(PlaceError::Credentials), "{text:?}");
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
