//! What passes, what fails, and what cannot be compared.

use std::path::Path;

use lingua_benches::gate::{Comparison, Figures, GateError, Verdict};
use lingua_benches::subjects;

fn figures(counts: &[(&str, u64)]) -> Figures {
    let mut figures = Figures::of_this_build();
    for (subject, instructions) in counts {
        figures.add(subject, *instructions, 1);
    }
    figures
}

fn compare(before: u64, now: u64) -> Comparison {
    Comparison::new(&figures(&[("heartbeat", before)]), &figures(&[("heartbeat", now)])).unwrap()
}

fn committed() -> Figures {
    Figures::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline.toml")).unwrap()
}

#[test]
fn three_percent_are_let_through_and_more_is_not() {
    let check = |now, verdict, passes| {
        let comparison = compare(10_000, now);
        assert_eq!(comparison.rows()[0].verdict(), verdict, "{now}");
        assert_eq!(comparison.passes(), passes, "{now}");
    };
    check(10_000, Verdict::Same, true);
    check(10_299, Verdict::Same, true);
    check(10_301, Verdict::Slower, false);
    check(20_000, Verdict::Slower, false);
    check(9_701, Verdict::Same, true);
    check(9_699, Verdict::Faster, true);
}

#[test]
fn a_slowdown_planted_in_any_one_subject_fails() {
    let baseline = committed();
    assert!(Comparison::new(&baseline, &baseline).unwrap().passes());
    for subject in baseline.instructions.keys() {
        let mut now = baseline.clone();
        *now.instructions.get_mut(subject).unwrap() *= 1.05;
        let comparison = Comparison::new(&baseline, &now).unwrap();
        assert!(!comparison.passes(), "{subject}");
        let slower = comparison.rows().iter().find(|row| row.verdict() == Verdict::Slower);
        assert_eq!(&slower.unwrap().subject, subject);
        assert_eq!(comparison.count(Verdict::Slower), 1);
    }
}

#[test]
fn dispatch_may_not_grow_with_the_nodes_even_where_the_baseline_has_it() {
    let grown = |large| figures(&[("dispatch-100", 1_000), ("dispatch-10000", large)]);
    let passes = |figures: &Figures| Comparison::new(figures, figures).unwrap().passes();
    assert!(passes(&grown(1_300)));
    assert!(!passes(&grown(1_301)));
}

#[test]
fn another_compiler_or_target_is_told_and_not_compared() {
    let built = figures(&[("heartbeat", 1)]);
    let older = Figures { rustc: "rustc 1.0.0".into(), ..built.clone() };
    let other = Figures { target: "riscv64gc-unknown-linux-gnu".into(), ..built.clone() };
    for baseline in [older, other] {
        let error = Comparison::new(&baseline, &built).unwrap_err();
        assert!(matches!(error, GateError::OtherCompiler { .. }), "{error}");
        let told = error.to_string();
        for part in [&baseline.rustc, &built.rustc, &baseline.target, "--update"] {
            assert!(told.contains(part), "{part} is missing: {told}");
        }
    }
}

#[test]
fn a_subject_without_a_counterpart_is_told() {
    let (one, two) = (figures(&[("a", 1)]), figures(&[("a", 1), ("b", 1)]));
    for (baseline, now) in [(&one, &two), (&two, &one)] {
        let error = Comparison::new(baseline, now).unwrap_err();
        assert!(matches!(&error, GateError::Unpaired(name) if name == "b"), "{error}");
    }
}

#[test]
fn the_committed_baseline_holds_each_subject() {
    let names: Vec<String> = committed().instructions.into_keys().collect();
    assert_eq!(names, subjects::ALL.map(|entry| entry.name));
}

#[test]
fn a_baseline_reads_as_it_was_written() {
    let path = std::env::temp_dir().join(format!("lingua-baseline-{}.toml", std::process::id()));
    let figures = figures(&[("heartbeat", 1_492), ("segmenter", 103)]);
    figures.write(&path).unwrap();
    let read = Figures::read(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read.unwrap(), figures);
}

#[test]
fn the_table_fits_a_terminal() {
    let (before, mut now) = (committed(), committed());
    for instructions in now.instructions.values_mut() {
        *instructions *= 100.0;
    }
    let table = Comparison::new(&before, &now).unwrap().to_string();
    assert!(table.contains("SLOWER") && table.contains("goal at most 1.3"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}
