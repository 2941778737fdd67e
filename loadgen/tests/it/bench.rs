//! Runs of the load generator within a test.

use std::io::Write;
use std::time::Duration;

use lingua_loadgen::{Options, Target, Unwatched};
use lingua_reports::run::{Artifacts, Run};
use lingua_scenarios::Scenario;

/// Runs a scenario against a scheduler, with more patience for a slow machine than people have.
pub(crate) async fn load(url: String, scenario: &str, change: impl FnOnce(&mut Options)) -> Run {
    measure(url, scenario, change).await.run
}

/// The same, with all that was measured.
pub(crate) async fn measure(
    url: String,
    scenario: &str,
    change: impl FnOnce(&mut Options),
) -> Artifacts {
    let mut file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    file.write_all(scenario.as_bytes()).unwrap();
    let loaded = Scenario::load(file.path(), &[]).unwrap();
    let mut options = Options::new(Target::Running(url.as_str().into()));
    options.lag_max = Duration::from_secs(60);
    change(&mut options);
    // A thread of its own, because it has a runtime of its own.
    let run = tokio::task::spawn_blocking(move || {
        lingua_loadgen::run(&loaded, &options, &mut Unwatched).unwrap()
    });
    run.await.unwrap()
}
