//! Kinds of values: how each is read from a text, and shown.

use std::fmt::{Debug, Display};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lingua_scenarios::Dur;
use lingua_server::logs::{LogFormat, LogLevel};
use lingua_server::zookeeper::{Credentials, Place, PlaceError};
use lingua_server::{Address, DutyConfig, HostPort, Secret, Webhook};

use crate::settings::Settings;

/// A value of a key.
pub(super) trait Value: Sized {
    /// What stands for it in help.
    const KIND: &'static str;

    /// Reads it; the error says the mend.
    fn read(text: &str) -> Result<Self, String>;

    /// As it is printed; a secret is not.
    fn shown(&self) -> String;
}

/// The kind of the value at a place.
pub(super) fn kind_of<V: Value>(_: fn(&Settings) -> &V) -> &'static str {
    V::KIND
}

/// Whether a value is in its range.
pub(super) fn within<V: Value + PartialOrd>(
    value: &V,
    range: &RangeInclusive<V>,
) -> Result<(), String> {
    if range.contains(value) {
        return Ok(());
    }
    let (least, most) = (range.start().shown(), range.end().shown());
    Err(format!("{} is out of range: {least} to {most} are allowed", value.shown()))
}

/// What is shown of a text that cannot be read.
fn wrong(text: &str, mend: &str) -> String {
    let text: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    format!("`{text}` cannot be read: {mend}")
}

macro_rules! whole_numbers {
    ($($int:ty)+) => {$(
        impl Value for $int {
            const KIND: &'static str = "NUMBER";

            fn read(text: &str) -> Result<Self, String> {
                text.replace('_', "").parse().map_err(|_| wrong(text, "write a whole number"))
            }

            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

whole_numbers!(u16 u32 usize);

impl Value for bool {
    const KIND: &'static str = "true|false";

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| wrong(text, "write true or false"))
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for Duration {
    const KIND: &'static str = "TIME";

    fn read(text: &str) -> Result<Self, String> {
        let span: Dur = text.parse().map_err(|bad: lingua_scenarios::DurError| bad.to_string())?;
        Ok(Self::from_micros(span.micros()))
    }

    fn shown(&self) -> String {
        Dur::from_micros(self.as_micros() as u64).to_string()
    }
}

impl Value for SocketAddr {
    const KIND: &'static str = "ADDRESS";

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| wrong(text, "write an IP address and a port, such as 0.0.0.0:5010"))
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for LogLevel {
    const KIND: &'static str = "LEVEL";

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|bad: lingua_server::logs::LogLevelError| bad.to_string())
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for LogFormat {
    const KIND: &'static str = "text|json";

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(wrong(text, "write text or json")),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Json => "json".to_owned(),
        }
    }
}

/// Addresses of a Redis, with commas between them. The text may hold a password: no error shows it.
pub(crate) fn addresses(text: &str) -> Result<Vec<Address>, String> {
    let addresses = text.split(',').map(|url| match url.contains("://") {
        true => Ok(Address::from(url)),
        false => Err("write redis://host:port, several with commas between them".to_owned()),
    });
    addresses.collect()
}

impl Value for Vec<Address> {
    const KIND: &'static str = "URL[,URL]";

    fn read(text: &str) -> Result<Self, String> {
        addresses(text)
    }

    fn shown(&self) -> String {
        let shown: Vec<_> = self.iter().map(ToString::to_string).collect();
        if shown.is_empty() { "none".to_owned() } else { shown.join(",") }
    }
}

impl Value for Option<HostPort> {
    const KIND: &'static str = "HOST:PORT";

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map(Some).map_err(|error: lingua_server::HostPortError| error.to_string())
    }

    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), |address| address.as_str().to_owned())
    }
}

impl Value for Option<Place> {
    const KIND: &'static str = "HOST:PORT[,HOST:PORT][/PATH]";

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map(Some).map_err(|error: PlaceError| error.to_string())
    }

    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
    }
}

/// Where an operator looks for the duties.
pub(crate) fn duties(zookeeper: Option<&str>, login: Option<&str>) -> Result<DutyConfig, String> {
    let at = |flag, what: String| format!("--{flag}: {what}");
    let place = zookeeper.map(Value::read).transpose();
    let place: Option<Option<Place>> = place.map_err(|what| at("duty-zookeeper", what))?;
    let login = login.map(Value::read).transpose();
    let login: Option<Option<SecretFile<Credentials>>> =
        login.map_err(|what| at("duty-zookeeper-login", what))?;
    Ok(DutyConfig {
        zookeeper: place.flatten(),
        zookeeper_login: login.flatten().map(|file| file.secret),
        ..DutyConfig::default()
    })
}

impl Value for Option<Webhook> {
    const KIND: &'static str = "URL";

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map(Some)
            .map_err(|error: lingua_server::WebhookError| wrong(text, &error.to_string()))
    }

    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
    }
}

/// A secret and the file that it came from. It is never a value of its own: a flag would show it
/// to every user of the machine.
#[derive(Debug, Clone)]
pub(crate) struct SecretFile<S = Secret> {
    pub(super) path: PathBuf,
    pub(super) secret: S,
}

impl<S: FromStr<Err: Display>> Value for Option<SecretFile<S>> {
    const KIND: &'static str = "FILE";

    fn read(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        // What is no file may be the secret itself, given in its file's place: it is not repeated.
        let held = std::fs::read_to_string(&path).map_err(|error| {
            format!("the file cannot be read: {error}; write the name of a file with the secret")
        })?;
        let refused = |error| format!("{}: {error}", path.display());
        let secret = held.trim_end().parse().map_err(refused)?;
        Ok(Some(SecretFile { path, secret }))
    }

    fn shown(&self) -> String {
        match self {
            Some(file) => format!("{} (its content is hidden)", file.path.display()),
            None => "none".to_owned(),
        }
    }
}
