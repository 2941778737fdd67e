//! Reading back what a run has written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{HISTOGRAMS, MACHINE, NODE_JOBS, REPLICATIONS, TIMESERIES, seed_dir};
use crate::run::{Artifacts, Run, SCHEMA_VERSION, Sample};
use crate::{hlog, timeseries};

/// Why a run could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No file, or not readable.
    #[error("cannot read {}: {source}; name the directory that a run wrote with --out", path.display())]
    Io {
        /// What could not be read.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not a run of ours.
    #[error("{} is not a run: {source}; run the scenario again to replace it", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where it goes wrong.
        source: serde_json::Error,
    },
    /// A list of seeds that is none of ours.
    #[error("{} lists no runs: {what}; run the scenario again with --seeds and --out", path.display())]
    Replications {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file beside `run.json` that is none of ours.
    #[error("{} cannot be read: {what}; run the scenario again to replace it", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// One run and several, and no way to tell which is meant.
    #[error(
        "{} holds both run.json and {REPLICATIONS}; name run.json itself, or delete the one that \
         is not meant", path.display()
    )]
    Both {
        /// The directory.
        path: PathBuf,
    },
    /// Written by another version.
    #[error(
        "{} has schema version {found}, this version reads {SCHEMA_VERSION}; \
         run the scenario again, or read it with the version that wrote it", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
}

/// Reads the run that a directory (or a `run.json` itself) holds.
pub fn read_run(path: &Path) -> Result<Run, ReadError> {
    let path = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(source) => return Err(ReadError::Io { path, source }),
    };
    let value: serde_json::Value = match serde_json::from_slice(&text) {
        Ok(value) => value,
        Err(source) => return Err(ReadError::Json { path, source }),
    };
    // The version comes first: a run of another version may lack fields that this one needs.
    let found = value.get("schema_version").and_then(serde_json::Value::as_u64);
    if let Some(found) = found.filter(|found| *found != u64::from(SCHEMA_VERSION)) {
        return Err(ReadError::Version { path, found });
    }
    // From the text once more, so that an error names line and column.
    serde_json::from_slice(&text).map_err(|source| ReadError::Json { path, source })
}

/// Reads the runs that a directory holds, by seed: those of several seeds, or the only one.
pub fn read_runs(path: &Path) -> Result<Vec<Run>, ReadError> {
    let list = path.join(REPLICATIONS);
    if !list.exists() {
        return Ok(vec![read_run(path)?]);
    }
    if path.join("run.json").exists() {
        return Err(ReadError::Both { path: path.into() });
    }
    let mut runs = Vec::new();
    for seed in listed_seeds(&list)? {
        runs.push(read_run(&seed_dir(path, seed))?);
    }
    runs.sort_by_key(|run| run.seed);
    Ok(runs)
}

/// The seeds in the first column.
fn listed_seeds(list: &Path) -> Result<Vec<u64>, ReadError> {
    let wrong = |what: String| ReadError::Replications { path: list.into(), what };
    let mut reader = csv::Reader::from_path(list).map_err(|error| wrong(error.to_string()))?;
    let mut seeds = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| wrong(error.to_string()))?;
        let seed = row.get(0).unwrap_or_default();
        seeds.push(seed.parse().map_err(|_| wrong(format!("`{seed}` is no seed")))?);
    }
    if seeds.is_empty() { Err(wrong("no seed is in it".into())) } else { Ok(seeds) }
}

/// Reads all that a run has written into a directory: its record, histograms and rows.
///
/// # Errors
/// A file is missing or none of ours. A histogram may be missing: it held nothing.
pub fn read_artifacts(dir: &Path) -> Result<Artifacts, ReadError> {
    let run = read_run(dir)?;
    let mut histograms = BTreeMap::new();
    for name in HISTOGRAMS {
        let path = dir.join(format!("{name}.hlog"));
        if path.exists() {
            let log = bytes(&path)?;
            let histogram = hlog::read(&log).map_err(|error| broken(&path, error))?;
            histograms.insert(name, histogram);
        }
    }
    let (sample_s, timeseries) = rows(&dir.join(TIMESERIES))?;
    let path = dir.join(NODE_JOBS);
    let text = bytes(&path)?;
    let nodes = csv::Reader::from_reader(text.as_slice()).into_deserialize().collect();
    let node_jobs = Result::<_, csv::Error>::map_err(nodes, |error| broken(&path, error))?;
    let end = timeseries.last().map_or(0.0, |row| row.t_s);
    Ok(Artifacts {
        warmup_s: (end - run.duration_s).max(0.0),
        machine: json_file(&dir.join(MACHINE))?,
        run,
        histograms,
        timeseries,
        node_jobs,
        duties: Vec::new(),
        sample_s,
    })
}

fn rows(path: &Path) -> Result<(f64, Vec<Sample>), ReadError> {
    let text = bytes(path)?;
    let rows = timeseries::parse(&String::from_utf8_lossy(&text));
    let rows = rows.map_err(|error| broken(path, error))?;
    Ok((rows.first().map_or(1.0, |row| row.t_s), rows))
}

fn json_file<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let read = serde_json::from_slice(&bytes(path)?);
    read.map_err(|source| ReadError::Json { path: path.into(), source })
}

fn bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(path).map_err(|source| ReadError::Io { path: path.into(), source })
}

fn broken(path: &Path, error: impl std::fmt::Display) -> ReadError {
    ReadError::Broken { path: path.into(), what: error.to_string() }
}
