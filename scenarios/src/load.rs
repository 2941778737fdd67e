//! From a file, or a text, to a checked scenario.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::Value;

use crate::document::{Change, Document, prune};
use crate::error::{Error, Place, why_unreadable};
use crate::fault::{Faults, Part, split};
use crate::{Scenario, csv_input, preset, shape, validate};

/// Largest scenario file.
const BYTES_MAX: u64 = 1 << 20;

const LONG_INPUT: &str = "put long input into a CSV file";

/// A scenario and where it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What it says, changes included.
    pub scenario: Scenario,
    /// SHA-256 of the text, the changes and the CSV files it names, hexadecimal.
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

impl FromStr for Loaded {
    type Err = Error;

    /// A scenario that is no file; what it names is relative to the working directory.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(PathBuf::from("scenario"), text.to_owned(), Vec::new())
    }
}

impl FromStr for Scenario {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(text.parse::<Loaded>()?.scenario)
    }
}

/// The `[costs]` of a file as changes to another one, for [`Scenario::load`]. CSV files that they
/// name are beside that file.
///
/// # Errors
/// The file cannot be read, is no TOML or has no costs. What they say is checked where they are
/// taken over.
pub fn costs_of(path: &Path) -> Result<Vec<String>, Error> {
    let document = Document::parse(path, &read(path)?)?;
    let Some(costs) = document.table.get("costs").and_then(Value::as_table) else {
        return Err(Error::file(path, "has no [costs]: name a file that lingua calibrate wrote"));
    };
    let base = path.parent().unwrap_or_else(|| Path::new(""));
    let placed = |name: &str, value: &Value| {
        let mut value = value.clone();
        if let Some(Value::String(file)) = value.get_mut("empirical") {
            let place = std::path::absolute(base.join(&*file));
            let place = place.map_err(|error| Error::unreadable(path, &error))?;
            std::fs::metadata(&place).map_err(|error| {
                let why = why_unreadable(&place, &error);
                Error::file(path, format!("costs.{name} names {}: {why}", place.display()))
            })?;
            *file = place.display().to_string();
        }
        Ok(value)
    };
    costs.iter().map(|(name, value)| Ok(format!("costs.{name}={}", placed(name, value)?))).collect()
}

impl Loaded {
    fn new(path: PathBuf, text: String, overrides: Vec<String>) -> Result<Self, Error> {
        let mut document = Document::parse(&path, &text)?;
        for text in &overrides {
            document.change(Change::parse(text)?)?;
        }
        let scenario = checked(document.clone())?;
        for (name, changes) in &scenario.variants {
            check_variant(&document, name, changes)?;
        }
        Self::with_inputs(scenario, path, text, overrides)
    }

    fn with_inputs(
        mut scenario: Scenario,
        path: PathBuf,
        text: String,
        overrides: Vec<String>,
    ) -> Result<Self, Error> {
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        let inputs = read_inputs(&mut scenario, base)?;
        let mut hash = Sha256::new();
        hash.update(text.as_bytes());
        for change in &overrides {
            hash.update(b"\n--set ");
            hash.update(change.as_bytes());
        }
        for input in &inputs {
            hash.update(b"\n--input ");
            hash_file(&mut hash, input)?;
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
        let mut document = Document::parse(&self.path, &self.text)?;
        for text in &self.overrides {
            document.change(Change::parse(text)?)?;
        }
        let variants = self.scenario.variants.iter().map(|(name, changes)| {
            let scenario = check_variant(&document, name, changes)?;
            let mut overrides = self.overrides.clone();
            overrides.extend(changes.iter().map(|(path, value)| format!("{path}={value}")));
            let (path, text) = (self.path.clone(), self.text.clone());
            Ok((name.clone(), Self::with_inputs(scenario, path, text, overrides)?))
        });
        variants.collect()
    }

    /// The file it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Checks shape, then values; what is wrong is told together.
fn checked(mut document: Document) -> Result<Scenario, Error> {
    let mut faults = Faults::default();
    shape::check(&document.table, &mut faults);
    let broken = faults.count() > 0;
    preset::apply(&mut document.table);
    let mut table = document.table.clone();
    for fault in faults.told() {
        prune(&mut table, shape::whole(&fault.path));
    }
    match Scenario::deserialize(Value::Table(table)) {
        Ok(scenario) => {
            let mut more = validate::check(&scenario);
            if broken {
                more.retain(|wrong| !follows(&faults, &split(&wrong.path)));
            }
            for wrong in more {
                faults.add(split(&wrong.path), Part::Value, wrong.what);
            }
            if faults.count() == 0 { Ok(scenario) } else { Err(document.error(&faults)) }
        }
        Err(_) if broken => Err(document.error(&faults)),
        Err(error) => {
            let what = error.message().to_owned();
            Err(Error::Many(vec![Place::nowhere(&document.path, what)]))
        }
    }
}

/// Whether a fault may only be there because of an earlier one, so that telling it would mislead.
fn follows(earlier: &Faults, path: &[String]) -> bool {
    let top = |key: &str| earlier.has_group_of(&[key.to_owned()]);
    earlier.has_group_of(path)
        || top("duration")
        || top("warmup")
        || (path[0] == "faults" && top("scheduler"))
}

/// One variant, checked like a file of its own.
fn check_variant(
    document: &Document,
    name: &str,
    changes: &BTreeMap<String, Value>,
) -> Result<Scenario, Error> {
    let mut document = document.clone();
    document.table.remove("variants");
    let mut all = Vec::new();
    for (key, value) in changes {
        Change::of_variant(name, key, value, &mut all);
    }
    for change in all {
        document.change(change)?;
    }
    checked(document)
}

fn read(path: &Path) -> Result<String, Error> {
    let meta = std::fs::metadata(path).map_err(|error| Error::unreadable(path, &error))?;
    if meta.is_dir() {
        return Err(Error::file(path, "is a folder: name one of the .toml files in it"));
    }
    if meta.len() > BYTES_MAX {
        let bytes = meta.len();
        let what = format!("has {bytes} bytes, a scenario has at most {BYTES_MAX}: {LONG_INPUT}");
        return Err(Error::file(path, what));
    }
    let file = File::open(path).map_err(|error| Error::unreadable(path, &error))?;
    // Of a device or a pipe the length is not known beforehand.
    let mut text = String::new();
    let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| Error::unreadable(path, &error))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(Error::file(path, format!("has more than {BYTES_MAX} bytes: {LONG_INPUT}")));
    }
    Ok(text)
}

/// Reads the CSV files that a scenario names, recorded calls apart, and tells which they are.
fn read_inputs(scenario: &mut Scenario, base: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut inputs = Vec::new();
    let mut nodes = Vec::with_capacity(scenario.nodes.len());
    for mut group in std::mem::take(&mut scenario.nodes) {
        group.service_time.read(base, &mut inputs)?;
        for dist in [&mut group.uptime, &mut group.downtime].into_iter().flatten() {
            dist.read(base, &mut inputs)?;
        }
        match &group.from {
            Some(path) => {
                let path = base.join(path);
                nodes.extend(csv_input::nodes(&path, &group)?);
                inputs.push(path);
            }
            None => nodes.push(group),
        }
    }
    scenario.nodes = nodes;
    for group in &mut scenario.sessions {
        group.utterance.read(base, &mut inputs)?;
        group.gap.read(base, &mut inputs)?;
        if let Some(dist) = &mut group.stay {
            dist.read(base, &mut inputs)?;
        }
    }
    for group in &mut scenario.arrivals {
        if let Some(path) = &mut group.trace {
            *path = base.join(&path);
            inputs.push(path.clone());
        }
    }
    if let Some(duties) = &mut scenario.duties {
        for dist in [&mut duties.run, &mut duties.pause, &mut duties.delay] {
            dist.read(base, &mut inputs)?;
        }
        if let Some(dist) = &mut duties.event_delay {
            dist.read(base, &mut inputs)?;
        }
    }
    let costs = &mut scenario.costs;
    let latencies = [&mut costs.store_latency, &mut costs.node_latency, &mut costs.session_latency];
    for dist in latencies.into_iter().chain([&mut costs.timer_lateness]) {
        dist.read(base, &mut inputs)?;
    }
    Ok(inputs)
}

/// Adds a file to a hash, piece by piece. A pipe is left alone: it can be read only once.
fn hash_file(hash: &mut Sha256, path: &Path) -> Result<(), Error> {
    let unreadable = |error| Error::unreadable(path, &error);
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Ok(());
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece).map_err(unreadable)? {
            0 => return Ok(()),
            bytes => hash.update(&piece[..bytes]),
        }
    }
}
