//! Settings of `lingua serve`: a flag comes before the environment, the environment before the
//! file, the file before a scenario, a scenario before the defaults.

mod flags;
mod keys;
mod value;

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use lingua_scenarios::{Error, Place, nearest};
use lingua_server::{Access, Config, Rule};
use toml::de::DeTable;
use toml::{Table, Value};

use crate::failure::Failure;
use keys::KEYS;
use value::SecretFile;

pub(crate) use flags::Flags;
pub(crate) use value::addresses;

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
    /// Two rules for one kind of socket.
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
        Ok(Config { access, ..self.server.clone() })
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn taken(file: &str, environment: &[(&str, &str)], flags: &Flags) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lingua.toml");
        std::fs::write(&path, file).unwrap();
        let environment = environment.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()));
        let mut settings = Settings::default();
        let result = settings.take(Some(&path), environment, flags);
        let folder = format!("{}/", dir.path().display());
        result.map(|()| settings).map_err(|error| error.to_string().replace(&folder, ""))
    }

    #[test]
    fn the_later_layer_wins() {
        let file = "sockets = 1\nping = \"1m\"\noutbox = 7\nlog_format = \"json\"\n";
        let environment = [("LINGUA_SOCKETS", "2"), ("LINGUA_PING", "2m"), ("HOME", "/")];
        let flags = Flags::of(&[("sockets", "3")]);
        let settings = taken(file, &environment, &flags).unwrap();
        let limits = settings.server.limits;
        assert_eq!((limits.sockets, limits.ping.as_secs(), limits.outbox), (3, 120, 7));
        let shown = settings.shown();
        for line in [
            "  sockets              3   (flag)\n",
            "  ping                 2m   (environment)\n",
            "  outbox               7   (file)\n",
            "  log_format           json   (file)\n",
            "  max_jobs             4\n",
        ] {
            assert!(shown.contains(line), "{line}{shown}");
        }
    }

    #[test]
    fn limits_of_speech_and_what_nodes_must_have_reach_the_server() {
        let file = "require_services = true\nspeech = 4_194_304\ngoodbye = \"2s\"\n";
        let environment = [("LINGUA_SPEECH_PER_SESSION", "2_097_152")];
        let settings = taken(file, &environment, &Flags::default()).unwrap();
        let config = settings.config().unwrap();
        assert!(config.require_services && !Config::default().require_services);
        let limits = config.limits;
        assert_eq!((limits.speech, limits.speech_per_session), (4 << 20, 2 << 20));
        assert_eq!(limits.goodbye.as_secs(), 2);
        let told = taken("speech = 5\n", &[], &Flags::default()).unwrap_err();
        assert!(told.contains("speech: 5 is out of range: 1048576 to"), "{told}");
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_place() {
        let file = "sokets = 5\nmax_jobs = 0\nlog = \"loud\"\nping = 20\n";
        let told = taken(file, &[], &Flags::default()).unwrap_err();
        for words in [
            "lingua.toml:1:1: unknown key `sokets`; did you mean `sockets`?",
            "lingua.toml:2:12: max_jobs: 0 is out of range: 1 to 1024 are allowed",
            "lingua.toml:3:7: log: `loud` is no log level",
            "lingua.toml:4:8: ping: `20` is no duration",
        ] {
            assert!(told.contains(words), "{words}\n{told}");
        }
    }

    #[test]
    fn what_is_wrong_elsewhere_is_told_by_name() {
        let told = |environment: &[(&str, &str)], flags: &[(&str, &str)]| {
            taken("", environment, &Flags::of(flags)).unwrap_err()
        };
        let socket = told(&[("LINGUA_SOKETS", "1")], &[]);
        assert!(socket.ends_with("LINGUA_SOKETS sets nothing; did you mean LINGUA_SOCKETS?"));
        let inbox = told(&[("LINGUA_INBOX", "many")], &[]);
        assert!(inbox.contains("LINGUA_INBOX: `many` cannot be read"), "{inbox}");
        let listen = told(&[], &[("listen", "here")]);
        assert!(listen.contains("--listen: `here` cannot be read"), "{listen}");
        let others = [("LINGUA_PORT", "tcp://10.0.0.1:5010"), ("LINGUA_SERVICE_HOST", "10.0.0.1")];
        assert!(taken("", &others, &Flags::default()).is_ok());
    }

    #[test]
    fn a_secret_is_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        let file = format!("node_token = {:?}\n", path.display().to_string());
        let settings = taken(&file, &[], &Flags::default()).unwrap();
        assert!(matches!(settings.config().unwrap().access.nodes, Rule::Token(_)));
        for text in [settings.shown(), format!("{settings:?}"), format!("{:?}", settings.config())]
        {
            assert!(!text.contains("0123456789abcdef"), "{text}");
        }
        let given = "node_token = \"fedcba9876543210\"\n";
        let told = [
            taken(given, &[], &Flags::default()),
            taken("", &[("LINGUA_NODE_TOKEN", "fedcba9876543210")], &Flags::default()),
            taken("", &[], &Flags::of(&[("node_token", "fedcba9876543210")])),
        ];
        for told in told.map(Result::unwrap_err) {
            assert!(told.contains("name of a file with the secret"), "{told}");
            assert!(!told.contains("fedcba"), "{told}");
        }
        for (file, place) in [
            ("node_token = fedcba9876543210\n", "lingua.toml:1:14"),
            ("sockets = 1\nnode_tokn = \"fedcba9876543210\"\n", "lingua.toml:2:1"),
        ] {
            let told = taken(file, &[], &Flags::default()).unwrap_err();
            assert!(told.contains(place) && !told.contains("fedcba"), "{told}");
        }
        let both = format!("{file}node_jwt_key = {:?}\n", path.display().to_string());
        let settings = taken(&both, &[], &Flags::default()).unwrap();
        let told = settings.config().unwrap_err().to_string();
        assert!(told.contains("node_token and node_jwt_key are both set"), "{told}");
    }

    #[test]
    fn an_address_with_a_password_is_never_shown() {
        let file = "redis = \"redis://user:hunter2@a:1,redis://:hunter2@b:2\"\n";
        let settings = taken(file, &[], &Flags::default()).unwrap();
        assert_eq!(settings.config().unwrap().redis.addresses.len(), 2);
        for text in [settings.shown(), format!("{settings:?}"), format!("{:?}", settings.config())]
        {
            assert!(text.contains("redis://…@a:1") && !text.contains("hunter2"), "{text}");
        }
        for flags in [[("redis", "user:hunter2@a:1")], [("redis", "redis://a:1,hunter2")]] {
            let told = taken("", &[], &Flags::of(&flags)).unwrap_err();
            assert!(told.contains("--redis: write redis://host:port"), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn defaults_are_within_their_ranges_and_names_are_unique() {
        let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), KEYS.len());
        let mut settings = Settings::default();
        for key in KEYS {
            let shown = (key.shown)(&settings);
            if shown != "none" {
                (key.set)(&mut settings, &shown).unwrap();
            }
        }
    }

    #[test]
    fn the_reference_names_every_key() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/serve.md");
        let page = std::fs::read_to_string(path).unwrap();
        let defaults = Settings::default();
        for key in KEYS {
            let row = format!("| `{}` | {} |", key.name, (key.shown)(&defaults));
            assert!(page.contains(&row), "docs/serve.md lacks the row: {row}");
        }
    }
}
