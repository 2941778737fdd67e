//! The files of a run (DESIGN section 7): equal artifacts give equal bytes, `machine.json` apart.

use std::path::{Path, PathBuf};

use crate::run::{Artifacts, Run, SCHEMA_VERSION};
use crate::{hgrm, hlog, html, markdown, plots, timeseries};

/// Largest `run.json` that is read back.
const BYTES_MAX: u64 = 64 << 20;

/// A folder of results that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The system refuses.
    #[error("{path}: {source}")]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What it says.
        source: std::io::Error,
    },
    /// `run.json` is not one of ours.
    #[error("{path}: {what}")]
    NoRun {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and the mend.
        what: String,
    },
}

/// Writes all files of a run into a folder, which is made if it is not there.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn write_dir(dir: &Path, artifacts: &Artifacts) -> Result<(), FilesError> {
    let run = &artifacts.run;
    let plots_dir = dir.join("plots");
    io(&plots_dir, std::fs::create_dir_all(&plots_dir))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        io(&path, std::fs::write(&path, bytes))
    };
    write("run.json", json(run).as_bytes())?;
    write("machine.json", json(&artifacts.machine).as_bytes())?;
    write("timeseries.csv", timeseries::csv(&artifacts.timeseries).as_bytes())?;
    for (name, histogram) in &artifacts.histograms {
        if histogram.is_empty() {
            continue;
        }
        let path = dir.join(format!("{name}.hlog"));
        let log = hlog::bytes(histogram, artifacts.warmup_s, run.duration_s);
        write(&format!("{name}.hlog"), &io(&path, log)?)?;
        write(&format!("{name}.hgrm"), hgrm::text(histogram).as_bytes())?;
    }
    let drawn = plots::all(artifacts);
    for plot in &drawn {
        write(&format!("plots/{}.svg", plot.file), plot.svg.as_bytes())?;
    }
    write("summary.md", markdown::summary(run, &drawn).as_bytes())?;
    write("report.html", html::page(artifacts, &drawn).as_bytes())
}

/// Reads the record of a finished run.
///
/// # Errors
/// There is none, or it is of another schema.
pub fn read_run(dir: &Path) -> Result<Run, FilesError> {
    let path = dir.join("run.json");
    let no_run = |what: String| FilesError::NoRun { path: path.clone(), what };
    let meta = std::fs::metadata(&path)
        .map_err(|_| no_run("there is none: name the folder that a run was written to".into()))?;
    if meta.len() > BYTES_MAX {
        return Err(no_run(format!("has {} bytes, at most {BYTES_MAX} are read", meta.len())));
    }
    let text = io(&path, std::fs::read_to_string(&path))?;
    let version = serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| no_run(format!("is no JSON: {error}")))?["schema_version"]
        .as_u64();
    if version != Some(u64::from(SCHEMA_VERSION)) {
        let found = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        return Err(no_run(format!(
            "has schema version {found}, this tool reads {SCHEMA_VERSION}: run it again"
        )));
    }
    serde_json::from_str(&text).map_err(|error| no_run(format!("is no run: {error}")))
}

fn json(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn io<T>(path: &Path, result: std::io::Result<T>) -> Result<T, FilesError> {
    result.map_err(|source| FilesError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn equal_artifacts_give_equal_bytes_and_the_record_is_read_back() {
        let artifacts = fixture::artifacts();
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_dir(a.path(), &artifacts).unwrap();
        write_dir(b.path(), &artifacts).unwrap();
        let mut names = Vec::new();
        for folder in ["", "plots"] {
            for entry in std::fs::read_dir(a.path().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    names.push(path.strip_prefix(a.path()).unwrap().to_owned());
                }
            }
        }
        assert!(names.len() > 12, "{names:?}");
        for name in names {
            let read = |dir: &Path| std::fs::read(dir.join(&name)).unwrap();
            assert!(read(a.path()) == read(b.path()), "{name:?}");
        }
        assert_eq!(read_run(a.path()).unwrap(), artifacts.run);
    }

    #[test]
    fn what_is_no_run_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            std::fs::write(dir.path().join("run.json"), text).unwrap();
            read_run(dir.path()).unwrap_err().to_string()
        };
        assert!(told("{").contains("is no JSON"));
        assert!(told("{\"schema_version\": 99}").contains("schema version 99"));
        assert!(told("{\"schema_version\": 1}").contains("is no run"));
        let empty = tempfile::tempdir().unwrap();
        assert!(read_run(empty.path()).unwrap_err().to_string().contains("there is none"));
    }
}
