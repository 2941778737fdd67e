//! Numbers of a run by their dotted path in `run.json`, for `[[expect]]` and comparisons.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::duties::{Duties, Episode, InstanceRow};
use crate::load::Load;
use crate::run::{
    Affinity, BrokenSegments, Expectation, Fairness, Jobs, Kind, Latencies, Oversold, PairRow, Run,
    SCHEMA_VERSION, ScenarioRef, SchedulerLoad, StoreLoad, Verdict,
};

/// Maps of counts by name: a name that never occurred counts as zero.
const COUNTS: [&str; 13] = [
    "refused_by_cause.",
    "affinity.fallback.",
    "invariants.",
    "sometimes.",
    "oversold.excess_histogram.",
    "oversold.duration_histogram_ms.",
    "load.failed_by_cause.",
    "load.timed_out_by_cause.",
    "load.findings.",
    "load.nodes.failed.",
    "load.nodes.closed_by_scheduler.",
    "load.sessions.failed.",
    "load.sessions.closed_by_scheduler.",
];

/// Why a metric cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// No run has it.
    #[error("there is no metric `{metric}`; did you mean `{nearest}`?")]
    Unknown {
        /// What was asked for.
        metric: String,
        /// The most similar name.
        nearest: String,
    },
}

/// What an expectation demands.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Dotted path.
    pub metric: String,
    /// Smallest value allowed.
    pub min: Option<f64>,
    /// Largest value allowed.
    pub max: Option<f64>,
}

/// Every number of a run by its dotted path; pairs stand under their name
/// (`pairs.zh:en.refused_ratio`). Absent values are left out.
pub fn numbers(run: &Run) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    if let Ok(value) = serde_json::to_value(run) {
        walk(&value, String::new(), &mut found);
    }
    // Settings of the run and bounds of the scenario are input, not something found.
    found.retain(|path, _| !path.starts_with("expectations.") && path != "schema_version");
    found
}

/// One number of a run; absent where the run has none, zero for a count that never occurred.
pub fn number(run: &Run, path: &str) -> Option<f64> {
    let zero = || is_count(path).then_some(0.0);
    numbers(run).get(path).copied().or_else(zero)
}

/// Whether a path is that of a count by name, which is zero where it is absent.
pub(crate) fn is_count(path: &str) -> bool {
    COUNTS.iter().any(|prefix| path.len() > prefix.len() && path.starts_with(prefix))
}

/// Dotted paths that every run can have, sorted; pairs and counts by name apart.
pub fn known_paths() -> Vec<String> {
    let mut paths: Vec<String> = numbers(&blank()).into_keys().collect();
    paths.retain(|path| !path.starts_with("pairs."));
    paths
}

/// Whether a path can be asked for, before any run; else the nearest name.
pub fn check_path(path: &str) -> Result<(), MetricError> {
    let paths = known_paths();
    let pair_field = path.strip_prefix("pairs.").and_then(|rest| rest.rsplit_once('.'));
    let is_pair = pair_field.is_some_and(|(pair, field)| {
        pair.contains(':') && numbers(&blank()).contains_key(&format!("pairs.zh:en.{field}"))
    });
    if is_pair || is_count(path) || paths.iter().any(|known| known == path) {
        return Ok(());
    }
    Err(MetricError::Unknown { metric: path.into(), nearest: nearest(path, &paths).into() })
}

/// Holds a run against its expectations; a value that is absent fails.
pub fn evaluate(run: &Run, bounds: &[Bound]) -> Vec<Expectation> {
    let judge = |bound: &Bound| {
        let found = number(run, &bound.metric);
        let met = found.is_some_and(|value| {
            bound.min.is_none_or(|min| value >= min) && bound.max.is_none_or(|max| value <= max)
        });
        Expectation { metric: bound.metric.clone(), min: bound.min, max: bound.max, found, met }
    };
    bounds.iter().map(judge).collect()
}

/// The candidate most similar to a name; empty when there is none.
pub fn nearest<'a>(name: &str, candidates: &'a [String]) -> &'a str {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    // People often leave out the head of a path: an equal tail counts as near.
    let score = |candidate: &String| {
        let whole = distance(name, candidate);
        if candidate.ends_with(&format!(".{name}")) {
            0
        } else {
            whole.min(1 + distance(&last(name), &last(candidate)) * 2 + whole / 4)
        }
    };
    candidates.iter().min_by_key(|candidate| score(candidate)).map_or("", String::as_str)
}

/// Levenshtein distance over characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn walk(value: &Value, path: String, found: &mut BTreeMap<String, f64>) {
    let below = |name: &str| if path.is_empty() { name.into() } else { format!("{path}.{name}") };
    match value {
        Value::Number(number) => {
            found.extend(number.as_f64().map(|number| (path, number)));
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                walk(field, below(name), found);
            }
        }
        Value::Array(rows) => {
            for (i, row) in rows.iter().enumerate() {
                let name = row.get("pair").and_then(Value::as_str).map(str::to_owned);
                walk(row, below(&name.unwrap_or_else(|| i.to_string())), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A run of nothing in which every optional number is present.
pub(crate) fn blank() -> Run {
    let pair = PairRow {
        pair: "zh:en".into(),
        nodes: 0,
        slots: 0,
        offered: 0,
        refused: 0,
        refused_ratio: 0.0,
        erlang_b: Some(0.0),
        z: Some(0.0),
    };
    Run {
        schema_version: SCHEMA_VERSION,
        tool_version: String::new(),
        kind: Kind::Sim,
        scenario: ScenarioRef { name: String::new(), sha256: String::new() },
        seed: 0,
        digest: String::new(),
        arrivals_digest: String::new(),
        verdict: Verdict::Ok,
        reasons: Vec::new(),
        duration_s: 0.0,
        setting: BTreeMap::new(),
        jobs: Jobs::default(),
        carried_per_s: 0.0,
        refused_ratio: 0.0,
        refused_by_cause: BTreeMap::new(),
        erlang_b: Some(0.0),
        utilisation: 0.0,
        pairs: vec![pair],
        affinity: Affinity::default(),
        broken_segments: BrokenSegments::default(),
        fairness: Fairness::default(),
        oversold: Oversold::default(),
        latency_ms: Latencies::default(),
        scheduler: SchedulerLoad { failure_detection_s: Some(0.0), ..SchedulerLoad::default() },
        store: StoreLoad::default(),
        first_limit: String::new(),
        headroom: 0.0,
        invariants: BTreeMap::new(),
        sometimes: BTreeMap::new(),
        inputs: BTreeMap::new(),
        expectations: Vec::new(),
        events: 0,
        load: Some(Load {
            generator_cpu: Some(0.0),
            generator_starved: Some(0.0),
            kib_per_socket: Some(0.0),
            ..Load::default()
        }),
        duties: Some(Duties {
            instances: vec![InstanceRow::default()],
            episodes: vec![Episode { all_held_s: Some(0.0), ..Episode::default() }],
            ..Duties::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn values_are_found_by_path() {
        let run = fixture::run();
        assert_eq!(number(&run, "refused_ratio"), Some(run.refused_ratio));
        assert_eq!(number(&run, "jobs.lost"), Some(0.0));
        assert_eq!(
            number(&run, "latency_ms.dispatch_net.p99"),
            Some(run.latency_ms.dispatch_net.p99)
        );
        assert_eq!(number(&run, "oversold.assignments"), Some(0.0));
        assert_eq!(number(&run, "pairs.zh:en.offered"), Some(run.pairs[0].offered as f64));
        assert_eq!(number(&run, "invariants.I9"), Some(0.0));
        assert_eq!(number(&run, "no.such"), None);
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        for good in ["carried_per_s", "pairs.en:ja.refused_ratio", "sometimes.late_release"] {
            assert_eq!(check_path(good), Ok(()));
        }
        for (wrong, nearest) in [
            ("refused_ration", "refused_ratio"),
            ("latency_ms.dispach.p99", "latency_ms.dispatch.p99"),
            ("jobs.looser", "jobs.lost"),
            ("jain", "fairness.jain"),
        ] {
            let MetricError::Unknown { nearest: found, .. } = check_path(wrong).unwrap_err();
            assert_eq!(found, nearest, "for {wrong}");
        }
        assert!(check_path("pairs.zh:en.nonsense").is_err());
    }

    #[test]
    fn expectations_are_judged() {
        let bound = |metric: &str, min, max| Bound { metric: metric.into(), min, max };
        let found = evaluate(
            &fixture::run(),
            &[
                bound("jobs.lost", None, Some(0.0)),
                bound("carried_per_s", Some(1e9), None),
                bound("no.such", None, Some(1.0)),
            ],
        );
        assert_eq!(found.iter().map(|e| e.met).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(found[2].found, None);
    }
}
