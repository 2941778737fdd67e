//! From a file, or a text, to a checked scenario.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::error::{Error, Place, nearest};
use crate::{Scenario, csv_input, preset, validate};

/// Largest scenario file.
const BYTES_MAX: u64 = 1 << 20;

/// A scenario and where it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What it says, changes included.
    pub scenario: Scenario,
    /// SHA-256 of the text and the changes, hexadecimal.
    pub sha256: String,
    /// Things that are allowed but hardly meant.
    pub warnings: Vec<String>,
    path: PathBuf,
    text: String,
    overrides: Vec<String>,
}

impl Scenario {
    /// Loads and checks a file. Each override is `path=value`, as in `nodes.0.count=200`.
    ///
    /// # Errors
    /// The file cannot be read, is no scenario, or says something out of range; the error names
    /// place, value and mend.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Loaded, Error> {
        let text = read(path)?;
        Loaded::new(path.to_owned(), text, overrides.to_vec())
    }
}

impl Scenario {
    /// The scenario as a file that loads to the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}

impl FromStr for Scenario {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let loaded = Loaded::new(PathBuf::from("scenario"), text.to_owned(), Vec::new())?;
        Ok(loaded.scenario)
    }
}

impl Loaded {
    fn new(path: PathBuf, text: String, overrides: Vec<String>) -> Result<Self, Error> {
        // First from the text itself: only there do errors know their place.
        let plain: Scenario =
            toml::from_str(&text).map_err(|error| at_place(&path, &text, &error))?;
        let mut table: Table = text.parse().map_err(|error| at_place(&path, &text, &error))?;
        for change in &overrides {
            apply(&mut table, change)?;
        }
        let preset = preset::apply(&mut table);
        let mut scenario = if overrides.is_empty() && !preset {
            plain
        } else {
            Scenario::deserialize(Value::Table(table)).map_err(|error| Error::Override {
                text: overrides.join(" "),
                what: plain_message(error.message()),
            })?
        };
        let wrong = validate::check(&scenario);
        if !wrong.is_empty() {
            return Err(Error::Many(places(&path, &text, &wrong)));
        }
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        read_inputs(&mut scenario, base)?;
        let mut hash = Sha256::new();
        hash.update(text.as_bytes());
        for change in &overrides {
            hash.update(b"\n--set ");
            hash.update(change.as_bytes());
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let warnings = validate::warnings(&scenario);
        Ok(Self { scenario, sha256, warnings, path, text, overrides })
    }

    /// The same file with further changes.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn with(&self, further: &[String]) -> Result<Self, Error> {
        let overrides = self.overrides.iter().chain(further).cloned().collect();
        Self::new(self.path.clone(), self.text.clone(), overrides)
    }

    /// The file's variants by name, each on the same arrivals; none: the file itself.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn variants(&self) -> Result<Vec<(String, Self)>, Error> {
        let variants = self.scenario.variants.iter();
        variants
            .map(|(name, changes)| {
                let changes: Vec<String> =
                    changes.iter().map(|(path, value)| format!("{path}={value}")).collect();
                Ok((name.clone(), self.with(&changes)?))
            })
            .collect()
    }

    /// The file it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn read(path: &Path) -> Result<String, Error> {
    let meta = std::fs::metadata(path).map_err(|error| {
        let mend =
            neighbour(path).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Error::file(path, format!("{}{mend}", plain_io(&error)))
    })?;
    if meta.is_dir() {
        return Err(Error::file(path, "is a folder: name one of the .toml files in it"));
    }
    if meta.len() > BYTES_MAX {
        let what = format!(
            "has {} bytes, a scenario has at most {BYTES_MAX}: put long input into a CSV file",
            meta.len()
        );
        return Err(Error::file(path, what));
    }
    std::fs::read_to_string(path).map_err(|error| Error::file(path, plain_io(&error)))
}

fn plain_io(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::InvalidData => "is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}

/// A file in the same folder whose name is near.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let name = path.file_name()?.to_str()?;
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .take(1_000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    let near = nearest(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// Sets one value of a table.
fn apply(table: &mut Table, change: &str) -> Result<(), Error> {
    let wrong = |what: String| Error::Override { text: change.to_owned(), what };
    let (path, value) = change
        .split_once('=')
        .ok_or_else(|| wrong("write path=value, such as scheduler.sample=3".to_owned()))?;
    let value = parse_value(value.trim());
    let mut keys = path.trim().split('.').peekable();
    let first = keys.next().unwrap_or_default().to_owned();
    if keys.peek().is_none() {
        table.insert(first, value);
        return Ok(());
    }
    let mut at = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
    while let Some(key) = keys.next() {
        let last = keys.peek().is_none();
        let next = match at {
            Value::Array(items) => {
                let count = items.len();
                let index: usize =
                    key.parse().map_err(|_| wrong(format!("`{key}` is no index from 0")))?;
                items.get_mut(index).ok_or_else(|| {
                    wrong(format!("index {index} is too large: there are {count}"))
                })?
            }
            Value::Table(table) if last => {
                table.insert(key.to_owned(), value);
                return Ok(());
            }
            Value::Table(table) => {
                table.entry(key.to_owned()).or_insert_with(|| Value::Table(Table::new()))
            }
            _ => return Err(wrong(format!("`{key}` lies inside a plain value"))),
        };
        if last {
            *next = value;
            return Ok(());
        }
        at = next;
    }
    Ok(())
}

/// A TOML value, or else the text itself: `--set scheduler.policy=sample-scan` needs no quotes.
fn parse_value(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>();
    let value = parsed.ok().and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn read_inputs(scenario: &mut Scenario, base: &Path) -> Result<(), Error> {
    let mut nodes = Vec::with_capacity(scenario.nodes.len());
    for mut group in std::mem::take(&mut scenario.nodes) {
        group.service_time.read(base)?;
        for dist in [&mut group.uptime, &mut group.downtime].into_iter().flatten() {
            dist.read(base)?;
        }
        match &group.from {
            Some(path) => nodes.extend(csv_input::nodes(&base.join(path), &group)?),
            None => nodes.push(group),
        }
    }
    scenario.nodes = nodes;
    for group in &mut scenario.sessions {
        group.utterance.read(base)?;
        group.gap.read(base)?;
        if let Some(dist) = &mut group.stay {
            dist.read(base)?;
        }
    }
    for group in &mut scenario.arrivals {
        if let Some(path) = &mut group.trace {
            *path = base.join(&path);
        }
    }
    let costs = &mut scenario.costs;
    for dist in [&mut costs.store_latency, &mut costs.node_latency, &mut costs.session_latency] {
        dist.read(base)?;
    }
    Ok(())
}

/// An error of the TOML reader, with place, and the nearest valid name.
fn at_place(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let span = error.span().unwrap_or(0..0);
    Error::Place(Box::new(Place::new(path, text, span, plain_message(error.message()))))
}

/// The reader's message in fewer words: of a long list of names only the nearest one is told.
fn plain_message(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let Some((wrong, valid)) = names.split_first().filter(|_| unknown) else {
        return message.to_owned();
    };
    let what = if message.starts_with("unknown field") { "key" } else { "value" };
    match nearest(wrong, valid.iter().copied()) {
        Some(near) => format!("unknown {what} `{wrong}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{wrong}`; valid are {}", valid.join(", ")),
    }
}

/// Finds the places of paths such as `nodes.0.max_jobs` in the text.
fn places(path: &Path, text: &str, wrong: &[validate::Wrong]) -> Vec<Place> {
    wrong
        .iter()
        .map(|wrong| {
            let span = span_of(text, &wrong.path).unwrap_or(0..0);
            Place::new(path, text, span, format!("{}: {}", wrong.path, wrong.what))
        })
        .collect()
}

/// The span of a value, or of the longest part of its path that is written out.
fn span_of(text: &str, path: &str) -> Option<std::ops::Range<usize>> {
    use toml::de::{DeTable, DeValue};
    let table = DeTable::parse(text).ok()?;
    let mut span = None;
    let mut keys = path.split('.');
    let mut at = table.get_ref().get(keys.next()?)?;
    loop {
        span = Some(at.span()).or(span);
        let Some(key) = keys.next() else { break };
        let next = match at.get_ref() {
            DeValue::Table(table) => table.get(key),
            DeValue::Array(items) => key.parse::<usize>().ok().and_then(|i| items.get(i)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    span
}
