use super::*;
use crate::fixture;
use crate::load::AcrossShards;
use crate::run::{Kind, Summary};
use crate::summary::record_ns;

/// A shard whose dispatches took these times: (how many, milliseconds).
fn part(index: u32, of: u32, dispatches: &[(u64, u64)]) -> Part {
    let mut artifacts = fixture::artifacts();
    artifacts.run.kind = Kind::Load;
    artifacts.run.load = Some(Load { shard: Shard { index, of }, ..fixture::load() });
    let mut histogram = latency_histogram();
    for &(count, ms) in dispatches {
        (0..count).for_each(|_| record_ns(&mut histogram, ms * 1_000_000));
    }
    artifacts.histograms = [("dispatch_net", histogram)].into();
    Part { place: format!("shard-{index}").into(), artifacts }
}

fn two() -> Vec<Part> {
    vec![part(0, 2, &[(9_900, 10), (100, 20)]), part(1, 2, &[(50, 10), (50, 1_000)])]
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= expected * 1e-3
}

#[test]
fn percentiles_are_those_of_the_whole() {
    let merged = merge(two()).unwrap();
    let Summary { count, p50, p99, p999, .. } = merged.run.latency_ms.dispatch_net;
    assert_eq!(count, 10_100);
    // The mean of both shards' own p99 would be 505 ms.
    assert!(near(p50, 10.0) && near(p99, 20.0) && near(p999, 1_000.0), "{p50} {p99} {p999}");
}

#[test]
fn accounts_add_up_in_any_order() {
    let parts = two();
    let one = parts[0].artifacts.run.clone();
    let merged = merge(parts).unwrap();
    let run = &merged.run;
    assert_eq!(run.jobs.offered, 2 * one.jobs.offered);
    assert_eq!(run.jobs.balance(), 0);
    assert!(near(run.carried_per_s, 2.0 * one.carried_per_s));
    assert!(near(run.utilisation, one.utilisation));
    assert!(near(run.refused_ratio, one.refused_ratio));
    assert_eq!(run.setting["nodes"], "200");
    assert_eq!(run.setting["policy"], "sample-scan");
    assert_eq!(run.pairs.len(), one.pairs.len());
    assert_eq!(run.pairs[0].refused, 2 * one.pairs[0].refused);
    assert_eq!(merged.timeseries.len(), 660);
    assert_eq!(merged.timeseries[400].sessions, 2_000);
    assert_eq!(merged.node_jobs.len(), 200);
    let load = run.load.as_ref().unwrap();
    assert_eq!((load.sessions.requested, load.planned_per_s), (2_084, 1_800.0));
    assert_eq!(load.findings["wrong_session"], 6);
    assert!(near(load.achieved, 0.968));
    let mut turned = two();
    turned.reverse();
    assert_eq!(merge(turned).unwrap().run, merged.run);
}

#[test]
fn a_void_shard_voids_the_whole() {
    let mut parts = two();
    parts[1].artifacts.run.verdict = Verdict::Void;
    parts[1].artifacts.run.reasons = vec!["94 % of the plan was sent".into()];
    let run = merge(parts).unwrap().run;
    assert_eq!(run.verdict, Verdict::Void);
    assert_eq!(run.reasons, ["shard 1/2: 94 % of the plan was sent"]);

    let mut parts = two();
    parts[0].artifacts.run.verdict = Verdict::InvariantBroken;
    parts[1].artifacts.run.verdict = Verdict::Void;
    assert_eq!(merge(parts).unwrap().run.verdict, Verdict::Void);
}

#[test]
fn expectations_are_held_against_the_whole() {
    let mut parts = two();
    for (part, n) in parts.iter_mut().zip([0, 3]) {
        part.artifacts.run.oversold.assignments = n;
        part.artifacts.run.verdict = Verdict::ExpectationFailed;
        part.artifacts.run.reasons = vec!["of this shard alone".into()];
    }
    let run = merge(parts).unwrap().run;
    assert_eq!(run.verdict, Verdict::ExpectationFailed);
    // The p99 of the second shard alone would have failed as well.
    let told = ["latency_ms.dispatch_net.p99", "oversold.assignments"];
    let told = told.map(|metric| run.reasons.iter().any(|reason| reason.starts_with(metric)));
    assert_eq!((told, run.reasons.len()), ([true, true], 2), "{:?}", run.reasons);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let refusal = |parts: Vec<Part>| merge(parts).unwrap_err().to_string();
    assert_eq!(merge(Vec::new()).unwrap_err(), MergeError::Empty);

    let mut simulated = two();
    simulated[1].artifacts.run.kind = Kind::Sim;
    assert!(refusal(simulated).contains("shard-1 holds no run over real sockets"));

    let mut other = two();
    other[1].artifacts.run.scenario.sha256 = "other".into();
    assert!(refusal(other).contains("the scenario's SHA-256 is"));
    let mut other = two();
    other[1].artifacts.run.arrivals_digest = "other".into();
    assert!(refusal(other).contains("the plan's digest is"));
    let mut other = two();
    other[1].artifacts.run.seed = 8;
    assert!(refusal(other).contains("the seed is 7 and 8"));
    let mut other = two();
    other[1].artifacts.run.setting.insert("policy".into(), "round-robin".into());
    assert!(refusal(other).contains("the setting `policy` is sample-scan and round-robin"));

    let twice = vec![part(1, 2, &[]), part(1, 2, &[])];
    assert!(refusal(twice).contains("shard 1/2 is in shard-1 and in shard-1"));
    let missing = vec![part(1, 5, &[]), part(3, 5, &[])];
    assert!(refusal(missing).contains("of 5 shards 0, 2, 4 is missing"));
    let of_others = vec![part(0, 2, &[]), part(1, 3, &[])];
    assert!(refusal(of_others).contains("the number of shards is 2 and 3"));
}

#[test]
fn answers_that_crossed_between_shards_are_matched() {
    let shards = |answered, heard, unanswered| {
        let mut parts = two();
        let loads = parts.iter_mut().map(|part| &mut part.artifacts.run);
        for run in loads {
            let load = run.load.as_mut().unwrap();
            load.findings = [("never_answered".to_owned(), unanswered)].into();
            load.timed_out_by_cause = [("no answer".to_owned(), unanswered)].into();
            load.across = AcrossShards { hosted: answered, answered, heard };
            run.jobs.offered += unanswered - run.jobs.timed_out;
            run.jobs.timed_out = unanswered;
        }
        merge(parts).unwrap().run
    };
    let lost_before = 2 * fixture::artifacts().run.jobs.lost;
    // Of eight that nobody seemed to have answered, nodes elsewhere had answered six.
    let run = shards(103, 100, 4);
    let load = run.load.unwrap();
    assert_eq!((run.jobs.lost - lost_before, run.jobs.timed_out, run.jobs.balance()), (6, 2, 0));
    assert_eq!((load.findings["never_answered"], load.across.heard), (2, 200));
    assert_eq!(load.timed_out_by_cause["no answer"], 2);
    // An answer that no node of any shard gave is nobody's.
    let run = shards(100, 101, 0);
    assert_eq!(run.load.unwrap().findings["unknown_result"], 2);
    assert_eq!(run.verdict, Verdict::InvariantBroken, "{:?}", run.reasons);
    assert!(run.reasons[0].starts_with("I6: 2 results"), "{:?}", run.reasons);
    let run = shards(100, 100, 0);
    assert!(run.load.unwrap().findings.is_empty());
}
