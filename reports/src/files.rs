//! The files a run leaves in its directory, and reading a run back.

mod read;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use self::read::*;
use crate::capacity::CapacityRow;
use crate::plots::PlotError;
use crate::run::{Artifacts, Run};
use crate::table::csv_text;
use crate::{capacity, duties, hgrm, hlog, html, markdown, plots, replications, timeseries};

/// Names the seeds whose runs stand beside it.
const REPLICATIONS: &str = "replications.csv";
/// Jobs per node, in node order.
const NODE_JOBS: &str = "node_jobs.csv";
/// Duties per instance over time, where there are duties and no jobs.
const DUTIES: &str = "duties.csv";
const TIMESERIES: &str = "timeseries.csv";
const MACHINE: &str = "machine.json";
/// Every name a histogram may have; its log is `NAME.hlog`.
pub const HISTOGRAMS: [&str; 7] =
    ["dispatch", "dispatch_net", "response", "service", "send_lag", "wait", "store"];

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

/// Writes one file, and makes its directory where it is missing.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
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
        (MACHINE.into(), json(&artifacts.machine)?),
        ("summary.md".into(), markdown::summary(run, &figures).into_bytes()),
        ("report.html".into(), html::page(run, &figures)?.into_bytes()),
    ];
    if run.duties.is_some() {
        files.push((DUTIES.into(), duties::csv(&artifacts.duties).into_bytes()));
    } else {
        files.push((TIMESERIES.into(), timeseries::csv(&artifacts.timeseries).into_bytes()));
        files.push((NODE_JOBS.into(), node_jobs_csv(&artifacts.node_jobs).into_bytes()));
    }
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

fn node_jobs_csv(nodes: &[(String, u32, u64)]) -> String {
    let rows: Vec<[String; 3]> = nodes
        .iter()
        .map(|(name, max_jobs, jobs)| [name.clone(), max_jobs.to_string(), jobs.to_string()])
        .collect();
    let header = ["node", "max_jobs", "jobs"].into_iter();
    csv_text(header, rows.iter().map(|row| row.iter().map(String::as_str)))
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
        let read = read_artifacts(dir.path()).unwrap();
        let written = fixture::artifacts();
        assert_eq!(read.histograms, written.histograms);
        assert_eq!(read.timeseries, written.timeseries);
        assert_eq!(read.node_jobs, written.node_jobs);
        assert_eq!(read.machine, written.machine);
        assert_eq!((read.sample_s, read.warmup_s), (written.sample_s, written.warmup_s));
        fs::write(dir.path().join("response.hlog"), "x\n").unwrap();
        let told = read_artifacts(dir.path()).unwrap_err().to_string();
        assert!(told.contains("response.hlog") && told.contains("no histogram log"), "{told}");
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
