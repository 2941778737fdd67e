//! The files that come with the project.

use std::path::{Path, PathBuf};

use lingua_scenarios::{Scenario, schema};

fn all(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn every_scenario_file_loads_and_says_how_to_run_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    all(root, &mut files);
    files.retain(|path| !path.ends_with("Cargo.toml") && !path.ends_with("clippy.toml"));
    assert!(files.len() >= 30, "{files:?}");
    for path in files {
        let loaded = Scenario::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert!(loaded.warnings.is_empty(), "{path:?}: {:?}", loaded.warnings);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with('#') && text.contains("with: lingua "), "{path:?}");
        loaded.variants().unwrap_or_else(|error| panic!("{error}"));
        let again = loaded.scenario.to_toml().parse::<Scenario>();
        let again = again.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, loaded.scenario, "{path:?}");
    }
}

#[test]
fn the_committed_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.json");
    let current = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == current, "run `UPDATE_SCHEMA=1 cargo test -p lingua-scenarios`");
}

#[test]
fn a_change_from_the_command_line_reaches_its_value() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("nodes-100.toml");
    let set = ["scheduler.sample=3", "nodes.0.count=7", "title=other"].map(str::to_owned);
    let loaded = Scenario::load(&path, &set).unwrap();
    assert_eq!(loaded.scenario.scheduler.sample, 3);
    assert_eq!(loaded.scenario.nodes[0].count, 7);
    assert_eq!(loaded.scenario.title, "other");
    assert_ne!(loaded.sha256, Scenario::load(&path, &[]).unwrap().sha256);
}

#[test]
fn the_hash_covers_the_csv_files_that_a_scenario_reads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let copy = |name: &str| std::fs::copy(root.join(name), dir.path().join(name)).unwrap();
    for name in ["calls.toml", "calls.csv", "nodes.csv"] {
        copy(name);
    }
    let hash = || Scenario::load(&dir.path().join("calls.toml"), &[]).unwrap().sha256;
    let before = hash();
    assert_eq!(before, Scenario::load(&root.join("calls.toml"), &[]).unwrap().sha256);
    for name in ["calls.csv", "nodes.csv"] {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        std::fs::write(dir.path().join(name), text + "\n").unwrap();
        assert_ne!(hash(), before, "{name}");
        copy(name);
        assert_eq!(hash(), before);
    }
}
