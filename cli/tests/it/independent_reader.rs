//! The logs as a program reads them that is none of ours: PyPI's `hdrhistogram`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{lingua, scenario, text};

/// Its version: the test must not change with the package.
const PACKAGE: &str = "hdrhistogram==0.10.8";

/// Prints count, percentiles and maximum of a log, in nanoseconds.
const SCRIPT: &str = r#"
import sys
from hdrh.log import HistogramLogReader
from hdrh.histogram import HdrHistogram
whole = HdrHistogram(1, 3_600_000_000_000, 3)
reader = HistogramLogReader(sys.argv[1], whole)
while True:
    part = reader.get_next_interval_histogram()
    if part is None:
        break
    whole.add(part)
values = [whole.get_value_at_percentile(p) for p in (50, 90, 99, 99.9, 100)]
print(whole.get_total_count(), *values)
"#;

/// A Python with the package, made once and kept below `target`.
fn python() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hdrhistogram");
    let python = home.join("bin/python3");
    let has_package = |python: &Path| {
        let asked = Command::new(python).args(["-c", "import hdrh.log"]).output();
        asked.is_ok_and(|asked| asked.status.success())
    };
    if has_package(&python) {
        return python;
    }
    let run = |program: &Path, arguments: &[&str], missing: &str| {
        let ran = Command::new(program).args(arguments).output();
        let ran = ran.unwrap_or_else(|error| panic!("{}: {error}; {missing}", program.display()));
        assert!(ran.status.success(), "{missing}\n{}", text(&ran.stderr));
    };
    let place = home.to_str().unwrap();
    run(Path::new("python3"), &["-m", "venv", place], "this test needs python3 with venv");
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    run(&python, &install, "this test needs PyPI once, to install its independent reader");
    assert!(has_package(&python), "{PACKAGE} is installed but cannot be imported");
    python
}

#[test]
fn an_independent_reader_finds_the_same_percentiles() {
    let python = python();
    let dir = tempfile::tempdir().unwrap();
    let file = scenario("rooms.toml");
    let run = lingua(
        dir.path(),
        &["sim", file.to_str().unwrap(), "--set", "duration=2m", "--out", "run"],
    );
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let record = std::fs::read_to_string(dir.path().join("run/run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    for name in ["dispatch", "response"] {
        let log = dir.path().join(format!("run/{name}.hlog"));
        let read = Command::new(&python).args(["-c", SCRIPT]).arg(&log).output().unwrap();
        assert!(read.status.success(), "{}", text(&read.stderr));
        let found: Vec<f64> =
            text(&read.stdout).split_whitespace().map(|word| word.parse().unwrap()).collect();
        let ours = &record["latency_ms"][name];
        assert!(found[0] > 100.0, "{name} holds too little to tell percentiles apart");
        assert_eq!(ours["count"].as_f64(), Some(found[0]));
        for (key, found) in ["p50", "p90", "p99", "p999", "max"].iter().zip(&found[1..]) {
            let ours = ours[*key].as_f64().unwrap() * 1e6;
            // Both tell the highest value of a bucket of three digits.
            assert!((ours - found).abs() <= found * 1e-3, "{name} {key}: {ours} {found}");
        }
    }
}
