//! The files a run leaves in its directory, and reading a run back.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::capacity::CapacityRow;
use crate::plots::PlotError;
use crate::run::{Artifacts, Run, SCHEMA_VERSION};
use crate::{capacity, hgrm, hlog, html, markdown, plots, replications, timeseries};

/// Names the seeds whose runs stand beside it.
const REPLICATIONS: &str = "replications.csv";

/// Why the files of a run could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The directory or a file in it.
    #[error("cannot write {}: {source}; choose another directory or free this one", path.display())]
    Io {
        /// What could not be written.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A record that cannot be put into JSON.
    #[error("cannot put the run into JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A figure.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// The page.
    #[error("cannot make the page: {0}")]
    Page(#[from] askama::Error),
}

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

/// Writes all files of a run into a directory, which is made where it is missing.
pub fn write_dir(dir: &Path, artifacts: &Artifacts) -> Result<(), WriteError> {
    contents(artifacts)?.into_iter().try_for_each(|(name, bytes)| write(&dir.join(name), &bytes))
}

/// Where the files of one seed stand among those of several.
pub fn seed_dir(dir: &Path, seed: u64) -> PathBuf {
    dir.join(format!("seed-{seed}"))
}

/// Writes `replications.csv` beside the directories of the runs' seeds (see [`seed_dir`]): a row
/// per run. Runs of former calls that it does not name no longer count.
pub fn write_replications(dir: &Path, runs: &[Run]) -> Result<(), WriteError> {
    write(&dir.join(REPLICATIONS), replications::csv(runs).as_bytes())
}

/// Writes `capacity.csv` into a directory, which is made where it is missing.
pub fn write_capacity(dir: &Path, rows: &[CapacityRow]) -> Result<(), WriteError> {
    write(&dir.join("capacity.csv"), capacity::csv(rows).as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let failed = |path: &Path, source| WriteError::Io { path: path.into(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|source| failed(parent, source))?;
    }
    fs::write(path, bytes).map_err(|source| failed(path, source))
}

/// Every file of a run: its path below the directory, and its bytes.
///
/// All but `machine.json` depend on nothing but the run itself.
pub fn contents(artifacts: &Artifacts) -> Result<Vec<(String, Vec<u8>)>, WriteError> {
    let run = &artifacts.run;
    let figures = plots::figures(artifacts)?;
    let mut files = vec![
        ("run.json".into(), json(run)?),
        ("machine.json".into(), json(&artifacts.machine)?),
        ("summary.md".into(), markdown::summary(run, &figures).into_bytes()),
        ("report.html".into(), html::page(run, &figures)?.into_bytes()),
        ("timeseries.csv".into(), timeseries::csv(&artifacts.timeseries).into_bytes()),
    ];
    for (name, histogram) in &artifacts.histograms {
        let log = hlog::bytes(histogram, artifacts.warmup_s, run.duration_s)
            .map_err(|source| WriteError::Io { path: format!("{name}.hlog").into(), source })?;
        files.push((format!("{name}.hlog"), log));
        files.push((format!("{name}.hgrm"), hgrm::text(histogram).into_bytes()));
    }
    let drawings = figures.into_iter();
    files.extend(drawings.map(|f| (format!("plots/{}.svg", f.name), f.svg.into_bytes())));
    Ok(files)
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

fn json(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::run::Machine;

    fn tree(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(tree(&path));
            } else {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read(&path).unwrap()));
            }
        }
        found.sort();
        found
    }

    #[test]
    fn equal_artifacts_give_equal_bytes_on_every_machine() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_dir(a.path(), &fixture::artifacts()).unwrap();
        let other = Artifacts { machine: Machine::default(), ..fixture::artifacts() };
        write_dir(&b.path().join("made/below"), &other).unwrap();
        let (a, b) = (tree(a.path()), tree(b.path()));
        assert_eq!(a.len(), b.len());
        for ((name, ours), (_, theirs)) in a.iter().zip(&b) {
            assert_eq!(ours == theirs, name != "machine.json", "{name}");
        }
        let names: Vec<&str> = a.iter().map(|(name, _)| name.as_str()).collect();
        insta::assert_snapshot!(names.join("\n"));
    }

    #[test]
    fn a_run_reads_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        write_dir(dir.path(), &fixture::artifacts()).unwrap();
        assert_eq!(read_run(dir.path()).unwrap(), fixture::run());
        assert_eq!(read_run(&dir.path().join("run.json")).unwrap(), fixture::run());
    }

    #[test]
    fn runs_of_several_seeds_read_back_by_seed() {
        let dir = tempfile::tempdir().unwrap();
        let write_seed = |seed| {
            let mut artifacts = fixture::artifacts();
            artifacts.run.seed = seed;
            write_dir(&seed_dir(dir.path(), seed), &artifacts).unwrap();
            artifacts.run
        };
        // The run of a former call, seed 11, is not named and does not count.
        let runs = [10, 9, 11].map(write_seed);
        write_replications(dir.path(), &runs[..2]).unwrap();
        let read = read_runs(dir.path()).unwrap();
        assert_eq!(read.iter().map(|run| run.seed).collect::<Vec<_>>(), [9, 10]);
        assert_eq!(read_runs(&seed_dir(dir.path(), 9)).unwrap(), [runs[1].clone()]);

        let message = || read_runs(dir.path()).unwrap_err().to_string();
        write_dir(dir.path(), &fixture::artifacts()).unwrap();
        assert!(message().contains("holds both"), "{}", message());
        fs::remove_file(dir.path().join("run.json")).unwrap();
        fs::remove_file(seed_dir(dir.path(), 9).join("run.json")).unwrap();
        assert!(message().contains("seed-9"), "{}", message());
        for (text, told) in [("seed\nx\n", "`x` is no seed"), ("seed\n", "no seed is in it")] {
            fs::write(dir.path().join(REPLICATIONS), text).unwrap();
            assert!(message().contains(told), "{}", message());
        }
    }

    #[test]
    fn errors_name_the_file_and_the_mend() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("run.json");
        let message = || read_run(dir.path()).unwrap_err().to_string();
        assert!(message().contains("run.json") && message().contains("--out"));
        fs::write(&file, "{\"schema_version\": 99}").unwrap();
        assert!(message().contains("schema version 99"));
        fs::write(&file, "{\"schema_version\": 1}").unwrap();
        assert!(message().contains("missing field"));
        let blocked = write_dir(&file, &fixture::artifacts()).unwrap_err().to_string();
        assert!(blocked.contains("run.json"), "{blocked}");
    }
}
