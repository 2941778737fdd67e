//! Settings of `lingua serve`: a flag comes before the environment, the environment before the
//! file, the file before a scenario, a scenario before the defaults.

mod flags;
mod keys;
#[cfg(test)]
mod tests;
mod value;

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use lingua_scenarios::{Error, Place, nearest};
use lingua_server::zookeeper::Credentials;
use lingua_server::{Access, Config, DutyConfig, RedisConfig, Rule};
use toml::de::DeTable;
use toml::{Table, Value};

use crate::failure::Failure;
use keys::KEYS;
use value::SecretFile;

pub(crate) use flags::Flags;
pub(crate) use value::{addresses, duties};

/// Largest settings file.
const BYTES_MAX: u64 = 1 << 20;

const PREFIX: &str = "LINGUA_";

/// All that an operator may set.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    tokens: Tokens,
    pub(crate) server: Config,
    // By key, where it was set.
    origins: Vec<Option<Origin>>,
}

#[derive(Debug, Clone, Default)]
struct Tokens {
    session_token: Option<SecretFile>,
    session_jwt_key: Option<SecretFile>,
    node_token: Option<SecretFile>,
    node_jwt_key: Option<SecretFile>,
    duty_zookeeper: Option<SecretFile<Credentials>>,
}

#[derive(Debug, Clone, Copy)]
enum Origin {
    File,
    Environment,
    Flag,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 5010).into(),
            tokens: Tokens::default(),
            server: Config::default(),
            origins: vec![None; KEYS.len()],
        }
    }
}

impl Settings {
    /// Takes what a file, the environment and flags say, the later over the earlier.
    ///
    /// # Errors
    /// A key that is not known, or a value that cannot be: with its place and the mend.
    pub(crate) fn take(
        &mut self,
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: &Flags,
    ) -> Result<(), Failure> {
        if let Some(file) = file {
            self.take_file(file)?;
        }
        for (name, text) in environment {
            self.take_variable(&name, &text)?;
        }
        for (at, text) in flags.given() {
            self.set(at, text, Origin::Flag)
                .map_err(|what| Failure::Usage(format!("--{}: {what}", KEYS[at].flag())))?;
        }
        Ok(())
    }

    fn set(&mut self, at: usize, text: &str, origin: Origin) -> Result<(), String> {
        (KEYS[at].set)(self, text)?;
        self.origins[at] = Some(origin);
        Ok(())
    }

    fn take_file(&mut self, path: &Path) -> Result<(), Error> {
        let text = read(path)?;
        let shown = without_secrets(&text);
        let at = |span, what: String| Place::new(path, &shown, span, what);
        let bad = |error: toml::de::Error| {
            Error::Many(vec![at(error.span().unwrap_or(0..0), error.message().to_owned())])
        };
        let table: Table = text.parse().map_err(bad)?;
        let places = DeTable::parse(&text).map_err(bad)?;
        let mut faults = Vec::new();
        for (key, place) in places.get_ref() {
            let name = key.get_ref().as_ref();
            let Some(number) = KEYS.iter().position(|key| key.name == name) else {
                let span = key.span();
                faults
                    .push((span.start, at(span, format!("unknown key `{name}`; {}", mend(name)))));
                continue;
            };
            let taken = plain(&table[name]).and_then(|text| self.set(number, &text, Origin::File));
            if let Err(what) = taken {
                let span = place.span();
                faults.push((span.start, at(span, format!("{name}: {what}"))));
            }
        }
        faults.sort_by_key(|&(start, _)| start);
        let faults: Vec<Place> = faults.into_iter().map(|(_, fault)| fault).collect();
        if faults.is_empty() { Ok(()) } else { Err(Error::Many(faults)) }
    }

    /// A variable that is no key's and near none is somebody else's: Kubernetes makes some for a
    /// service of our name.
    fn take_variable(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let Some(key) = name.strip_prefix(PREFIX).map(str::to_ascii_lowercase) else {
            return Ok(());
        };
        if let Some(at) = KEYS.iter().position(|known| known.name == key) {
            return self
                .set(at, text, Origin::Environment)
                .map_err(|what| Failure::Usage(format!("{name}: {what}")));
        }
        match KEYS.iter().find(|known| Some(known.name) == near(&key)) {
            Some(near) => {
                let near = near.variable();
                Err(Failure::Usage(format!("{name} sets nothing; did you mean {near}?")))
            }
            None => Ok(()),
        }
    }

    /// The server's settings, once all is set.
    ///
    /// # Errors
    /// Two rules for one kind of socket, or a ZooKeeper that nothing is to be kept at.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let rule = |token: &Option<SecretFile>, key: &Option<SecretFile>, kind| match (token, key) {
            (Some(_), Some(_)) => Err(Failure::Usage(format!(
                "{kind}_token and {kind}_jwt_key are both set: keep one of them"
            ))),
            (Some(file), None) => Ok(Rule::Token(file.secret.clone())),
            (None, Some(file)) => Ok(Rule::Jwt(file.secret.clone())),
            (None, None) => Ok(Rule::Open),
        };
        let tokens = &self.tokens;
        let access = Access {
            sessions: rule(&tokens.session_token, &tokens.session_jwt_key, "session")?,
            nodes: rule(&tokens.node_token, &tokens.node_jwt_key, "node")?,
            ..self.server.access.clone()
        };
        let redis = RedisConfig { duties: self.duties()?, ..self.server.redis.clone() };
        Ok(Config { access, redis, ..self.server.clone() })
    }

    fn duties(&self) -> Result<DutyConfig, Failure> {
        let RedisConfig { addresses, duties, .. } = &self.server.redis;
        let login = &self.tokens.duty_zookeeper;
        match (&duties.zookeeper, login) {
            (Some(place), _) if addresses.is_empty() => Err(Failure::Usage(format!(
                "duty_zookeeper {place}: without Redis this is the only instance and all duties are \
                 its own; add --redis URL, or leave duty_zookeeper out"
            ))),
            (None, Some(login)) => Err(Failure::Usage(format!(
                "duty_zookeeper_login {}: no ZooKeeper is named; add --duty-zookeeper HOST:PORT, or \
                 leave duty_zookeeper_login out",
                login.path.display()
            ))),
            _ => Ok(()),
        }?;
        let zookeeper_login = login.as_ref().map(|login| login.secret.clone());
        Ok(DutyConfig { zookeeper_login, ..duties.clone() })
    }

    /// Every key with its value and where it was set, a line each; secrets hidden.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::new();
        for (key, origin) in KEYS.iter().zip(&self.origins) {
            let value = (key.shown)(self);
            let origin = match origin {
                None => "",
                Some(Origin::File) => "   (file)",
                Some(Origin::Environment) => "   (environment)",
                Some(Origin::Flag) => "   (flag)",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {:<20} {value}{origin}", key.name);
        }
        text
    }
}

/// A value of the file as a text, as flags and the environment give it.
fn plain(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        _ => Err("write a text in quotes, a whole number, true or false".to_owned()),
    }
}

/// A file's text as its errors may quote it: values are starred out but those of keys that are known
/// to be no secret's, for a secret may stand in the place of its file.
fn without_secrets(text: &str) -> String {
    let secret = <Option<SecretFile> as value::Value>::KIND;
    let open = |name: &str| KEYS.iter().any(|key| key.name == name && (key.kind)() != secret);
    // As long as before, so that places stay where they are.
    let star = |c: char| if c.is_whitespace() { c.to_string() } else { "*".repeat(c.len_utf8()) };
    let hide = |line: &str| match line.split_once('=') {
        Some((name, value)) if !open(name.trim()) => {
            format!("{name}={}", value.chars().map(star).collect::<String>())
        }
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(hide).collect()
}

fn near(name: &str) -> Option<&'static str> {
    nearest(name, KEYS.iter().map(|key| key.name))
}

fn mend(name: &str) -> String {
    match near(name) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
            format!("valid are {}", names.join(", "))
        }
    }
}

fn read(path: &Path) -> Result<String, Error> {
    let unreadable = |error| Error::unreadable(path, &error);
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > BYTES_MAX {
        let what = format!("has {bytes} bytes, settings have at most {BYTES_MAX}");
        return Err(Error::File { path: path.to_owned(), what });
    }
    std::fs::read_to_string(path).map_err(unreadable)
}
