use super::*;
use crate::fixture;
use crate::run::Kind;

/// The fixture as a measured run.
fn measured(change: impl FnOnce(&mut Run)) -> Artifacts {
    let mut artifacts = fixture::artifacts();
    artifacts.run.kind = Kind::Load;
    artifacts.run.load = Some(fixture::load());
    change(&mut artifacts.run);
    artifacts
}

fn agreement(name: &str, change: impl FnOnce(&mut Run)) -> Agreement {
    let found = predict(&fixture::artifacts(), &measured(change)).unwrap();
    found.quantities.iter().find(|quantity| quantity.name == name).unwrap().agreement()
}

#[test]
fn it_is_shown_quantity_by_quantity() {
    let found = predict(
        &fixture::artifacts(),
        &measured(|run| {
            run.refused_ratio += 0.004;
            run.latency_ms.dispatch_net.p99 *= 1.5;
            run.arrivals_digest = String::new();
        }),
    )
    .unwrap();
    assert!(!found.agrees());
    insta::assert_snapshot!(format!(
        "{}\n{}\n\n{}",
        found.headline(),
        found.notes.join("\n"),
        found.table().to_text(100)
    ));
}

#[test]
fn a_run_that_is_not_sound_proves_nothing() {
    for verdict in [Verdict::Void, Verdict::InvariantBroken] {
        let found = predict(
            &fixture::artifacts(),
            &measured(|run| {
                run.verdict = verdict;
                run.latency_ms.dispatch_net.p99 *= 1.5;
            }),
        )
        .unwrap();
        assert_eq!(found.headline(), "Nothing can be held against a run that is void or broken.");
    }
}

#[test]
fn the_rules_have_their_edges_where_they_say() {
    use Agreement::{Agrees, Differs, NotJudged};
    for (points, expected) in [(0.0, Agrees), (0.01, Agrees), (-0.01, Agrees), (0.0101, Differs)] {
        assert_eq!(agreement("refused", |run| run.refused_ratio += points), expected, "{points}");
    }
    // Relative to what was measured: 1 against 1.25 is a fifth of it off, against 0.8 a quarter.
    for (factor, expected) in [(1.0, Agrees), (1.25, Agrees), (1.26, Differs), (0.8, Differs)] {
        for name in ["dispatch net p50", "dispatch net p99"] {
            let found = agreement(name, |run| {
                run.latency_ms.dispatch_net.p50 *= factor;
                run.latency_ms.dispatch_net.p99 *= factor;
            });
            assert_eq!(found, expected, "{name} × {factor}");
        }
    }
    let none = |run: &mut Run| run.latency_ms.dispatch_net = Summary::default();
    assert_eq!(agreement("dispatch net p50", none), Differs, "nothing was measured");
    assert_eq!(agreement("utilisation", |run| run.utilisation = 0.1), NotJudged);
}

#[test]
fn other_plans_are_refused() {
    let refusal = |change: fn(&mut Run)| {
        predict(&fixture::artifacts(), &measured(change)).unwrap_err().to_string()
    };
    assert!(refusal(|run| run.scenario.name = "other".into()).contains("measured `other`"));
    assert!(refusal(|run| run.seed = 8).starts_with("the seed is 7 in the simulation and 8"));
    assert!(refusal(|run| run.duration_s = 60.0).starts_with("the counted time is 600 s"));
}

#[test]
fn the_files_need_no_network_and_escape_what_they_show() {
    let name = |run: &mut Run| run.scenario.name = "a <b> & c".into();
    let mut predicted = fixture::artifacts();
    name(&mut predicted.run);
    let found = predict(&predicted, &measured(name)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    found.write_dir(dir.path()).unwrap();
    let read = |file: &str| std::fs::read_to_string(dir.path().join(file)).unwrap();
    let page = read("comparison.html");
    for outside in ["src=", "href=\"http", "@import", "url(", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("a &#60;b&#62; &#38; c: predicted and measured"));
    assert_eq!(page.matches("<svg ").count(), 2);
    assert_eq!(read("comparison.csv").lines().count(), 1 + found.quantities.len());
    for name in ["dispatch-net", "response"] {
        assert!(!read(&format!("plots/{name}.svg")).contains("NaN"));
    }
}
