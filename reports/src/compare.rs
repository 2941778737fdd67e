//! Two runs, or two lists of paired runs, side by side.

use std::collections::{BTreeMap, BTreeSet};

use crate::metrics::{check_path, is_count, numbers};
use crate::number::{decimal, percent, ranges};
use crate::run::Run;
use crate::stats::{Interval, mean, paired_difference};
use crate::table::{Align, Cell, Table};

/// Metrics shown first, in this order; the others follow by name where they differ.
const FIRST: [&str; 14] = [
    "carried_per_s",
    "refused_ratio",
    "erlang_b",
    "utilisation",
    "latency_ms.dispatch_net.p50",
    "latency_ms.dispatch_net.p99",
    "latency_ms.response.p50",
    "latency_ms.response.p99",
    "oversold.assignments",
    "oversold.excess_seconds",
    "affinity.kept",
    "broken_segments.count",
    "fairness.jain",
    "scheduler.busy",
];

/// Why runs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// Nothing on one side.
    #[error("there is no run on one side; name at least one directory for each")]
    Empty,
    /// The sides hold different seeds.
    #[error("A has the seeds {a}, B has {b}; run both sides with the same --seeds")]
    Seeds {
        /// Seeds of the first side.
        a: String,
        /// Seeds of the second side.
        b: String,
    },
    /// The runs did not meet the same arrivals.
    #[error(
        "seed {seed}: the runs met different arrivals ({a} and {b}), so their difference says \
         nothing; use the same scenario of arrivals and the same seed, run to the same end"
    )]
    Arrivals {
        /// Seed of the first side.
        seed: u64,
        /// Arrivals digest of the first.
        a: String,
        /// Arrivals digest of the second.
        b: String,
    },
    /// A limit that is not `metric=10%`.
    #[error("`{0}` is no limit; write it as metric=10%")]
    Limit(String),
    /// A limit on what cannot be compared.
    #[error("there is no `{0}` in all runs of both sides, so no limit can be put on it")]
    Absent(String),
    /// A metric that does not exist.
    #[error(transparent)]
    Metric(#[from] crate::metrics::MetricError),
}

/// One metric on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Dotted path.
    pub metric: String,
    /// Mean of the first side.
    pub a: f64,
    /// Mean of the second side.
    pub b: f64,
    /// Mean of `b − a`, with a paired interval when there are several pairs.
    pub difference: Interval,
    /// `(b − a) / |a|`; absent when a is zero.
    pub relative: Option<f64>,
}

/// A comparison: rows in reading order.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// A row for every metric that both sides have.
    pub rows: Vec<Row>,
    /// Whether a prediction stands against a measurement.
    pub kinds_differ: bool,
}

/// Compares two runs that met the same arrivals. Simulated may stand against measured.
pub fn compare(a: &Run, b: &Run) -> Result<Comparison, CompareError> {
    compare_paired(std::slice::from_ref(a), std::slice::from_ref(b))
}

/// Compares two lists of runs pair by pair; each pair must have met the same arrivals, and of
/// several pairs each must be of one seed.
pub fn compare_paired(a: &[Run], b: &[Run]) -> Result<Comparison, CompareError> {
    if a.is_empty() || b.is_empty() {
        return Err(CompareError::Empty);
    }
    let seeds = |runs: &[Run]| runs.iter().map(|run| run.seed).collect::<Vec<_>>();
    let (seeds_a, seeds_b) = (seeds(a), seeds(b));
    // Two single runs may well have met the same recorded arrivals with different seeds.
    if seeds_a != seeds_b && (a.len(), b.len()) != (1, 1) {
        return Err(CompareError::Seeds { a: ranges(&seeds_a), b: ranges(&seeds_b) });
    }
    for (a, b) in a.iter().zip(b) {
        if a.arrivals_digest != b.arrivals_digest {
            let seed = a.seed;
            let (a, b) = (a.arrivals_digest.clone(), b.arrivals_digest.clone());
            return Err(CompareError::Arrivals { seed, a, b });
        }
    }
    let (left, right) = (columns(a), columns(b));
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let zeros = vec![0.0; a.len()];
    let side = |of: &'_ BTreeMap<String, Vec<f64>>, name: &str| {
        of.get(name).cloned().or_else(|| is_count(name).then(|| zeros.clone()))
    };
    let names = in_order(names.into_iter().cloned().collect());
    let rows = names
        .into_iter()
        .filter_map(|name| Some(row(&side(&left, &name)?, &side(&right, &name)?, name)));
    let kinds_differ = a.iter().zip(b).any(|(a, b)| a.kind != b.kind);
    Ok(Comparison { rows: rows.collect(), kinds_differ })
}

/// Values by metric, for metrics that every run has; a count by name is zero where it is absent.
pub(crate) fn columns(runs: &[Run]) -> BTreeMap<String, Vec<f64>> {
    let found: Vec<BTreeMap<String, f64>> = runs.iter().map(numbers).collect();
    let names: BTreeSet<&String> = found.iter().flat_map(BTreeMap::keys).collect();
    let column = |name: &String| {
        let zero = || is_count(name).then_some(0.0);
        let values = found.iter().map(|run| run.get(name).copied().or_else(zero));
        Some((name.clone(), values.collect::<Option<Vec<f64>>>()?))
    };
    names.into_iter().filter(|name| *name != "seed").filter_map(column).collect()
}

/// The metrics people look for first, then the others by name.
pub(crate) fn in_order(mut names: Vec<String>) -> Vec<String> {
    let place = |name: &String| FIRST.iter().position(|first| first == name);
    names.sort_by_key(|name| (place(name).unwrap_or(FIRST.len()), name.clone()));
    names
}

fn row(a: &[f64], b: &[f64], metric: String) -> Row {
    let difference = paired_difference(a, b);
    let (a, b) = (mean(a), mean(b));
    let relative = (a != 0.0).then(|| (b - a) / a.abs());
    Row { metric, a, b, difference, relative }
}

impl Comparison {
    /// Rows as a table: the first metrics always, the others where both sides differ.
    pub fn table(&self) -> Table {
        let right = ["A", "B", "difference", "± 95 %", "relative"].map(|n| (n, Align::Right));
        let mut columns = vec![("metric", Align::Left)];
        columns.extend(right);
        let mut table = Table::new(&columns);
        let first = |row: &&Row| FIRST.contains(&row.metric.as_str()) || row.a != row.b;
        for row in self.rows.iter().filter(first) {
            let sure = row.difference.excludes_zero();
            let mark = if sure { " *" } else { "" };
            let half = row.difference.half;
            table.row([
                Cell::from(row.metric.as_str()),
                Cell::decimal(row.a),
                Cell::decimal(row.b),
                Cell::decimal(row.difference.mean),
                half.map_or_else(
                    || Cell::new("–", ""),
                    |half| Cell::new(format!("{}{mark}", decimal(half)), half.to_string()),
                ),
                row.relative
                    .map_or_else(|| Cell::new("–", ""), |r| Cell::new(signed(r), r.to_string())),
            ]);
        }
        table
    }

    /// The limits that B breaks against A.
    ///
    /// # Errors
    /// A limit is on a metric that some run lacks.
    pub fn regressions(&self, limits: &[MaxRegress]) -> Result<Vec<Regression>, CompareError> {
        let row_of = |metric: &str| self.rows.iter().find(|row| row.metric == metric);
        let lacking =
            |limit: &&MaxRegress| row_of(&limit.metric).is_none() && !is_count(&limit.metric);
        if let Some(limit) = limits.iter().find(lacking) {
            return Err(CompareError::Absent(limit.metric.clone()));
        }
        let broken = |limit: &MaxRegress| {
            let row = row_of(&limit.metric)?;
            let worse = if higher_is_better(&limit.metric) { row.a - row.b } else { row.b - row.a };
            // From nothing, any growth is beyond every share.
            let by = if row.a == 0.0 {
                if worse > 0.0 { f64::INFINITY } else { 0.0 }
            } else {
                worse / row.a.abs()
            };
            let (a, b) = (row.a, row.b);
            let metric = limit.metric.clone();
            (by > limit.share).then_some(Regression { metric, a, b, by, allowed: limit.share })
        };
        Ok(limits.iter().filter_map(broken).collect())
    }
}

/// How much worse a metric may get, as a share.
#[derive(Debug, Clone, PartialEq)]
pub struct MaxRegress {
    /// Dotted path.
    pub metric: String,
    /// Largest share by which it may get worse.
    pub share: f64,
}

impl std::str::FromStr for MaxRegress {
    type Err = CompareError;

    /// Reads `metric=10%`; `p99` alone means that of dispatch net, as all goals do.
    fn from_str(text: &str) -> Result<Self, CompareError> {
        let wrong = || CompareError::Limit(text.into());
        let (metric, limit) = text.split_once('=').ok_or_else(wrong)?;
        let number = limit.trim().strip_suffix('%').ok_or_else(wrong)?.trim();
        let share = number.parse::<f64>().map_err(|_| wrong())? / 100.0;
        if !share.is_finite() || share < 0.0 {
            return Err(wrong());
        }
        let metric = match metric.trim() {
            short @ ("mean" | "p50" | "p90" | "p99" | "p999" | "max") => {
                format!("latency_ms.dispatch_net.{short}")
            }
            full => full.to_owned(),
        };
        check_path(&metric)?;
        Ok(Self { metric, share })
    }
}

/// A metric that got worse by more than it may.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// Dotted path.
    pub metric: String,
    /// Before.
    pub a: f64,
    /// After.
    pub b: f64,
    /// By which share it is worse.
    pub by: f64,
    /// By which share it might have been.
    pub allowed: f64,
}

impl std::fmt::Display for Regression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (a, b) = (decimal(self.a), decimal(self.b));
        let by = if self.by.is_finite() { percent(self.by) } else { "without bound".into() };
        let allowed = percent(self.allowed);
        write!(f, "{}: {a} → {b}, worse by {by}, allowed {allowed}", self.metric)
    }
}

/// Whether more of a metric is better; of most, less is.
pub fn higher_is_better(metric: &str) -> bool {
    const BETTER: [&str; 8] = [
        "carried_per_s",
        "utilisation",
        "jobs.completed",
        "jobs.dispatched",
        "jobs.offered",
        "affinity.kept",
        "fairness.jain",
        "headroom",
    ];
    BETTER.contains(&metric)
}

fn signed(share: f64) -> String {
    let plus = if share > 0.0 { "+" } else { "" };
    format!("{plus}{}", percent(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn slower() -> Run {
        let mut run = fixture::run();
        run.latency_ms.dispatch_net.p99 *= 1.2;
        run.refused_ratio *= 0.5;
        run
    }

    #[test]
    fn differences_are_shown() {
        let comparison = compare(&fixture::run(), &slower()).unwrap();
        insta::assert_snapshot!(comparison.table().to_text(100));
    }

    #[test]
    fn other_arrivals_are_refused() {
        let mut other = slower();
        other.arrivals_digest = "0".into();
        let refusal = compare(&fixture::run(), &other).unwrap_err();
        assert!(matches!(refusal, CompareError::Arrivals { .. }));
        assert_eq!(compare_paired(&[], &[]), Err(CompareError::Empty));
    }

    #[test]
    fn other_seeds_are_refused() {
        let run = |seed| Run { seed, ..fixture::run() };
        let refusal = |a: &[Run], b: &[Run]| compare_paired(a, b).unwrap_err().to_string();
        let told = refusal(&[run(1), run(2), run(5)], &[run(1), run(2)]);
        assert!(told.contains("A has the seeds 1..2, 5, B has 1..2;"), "{told}");
        assert!(refusal(&[run(1)], &[run(1), run(2)]).contains("--seeds"));
        let mut late = run(2);
        late.arrivals_digest = "0".into();
        assert!(refusal(&[run(1), run(2)], &[run(1), late]).contains("seed 2: the runs met"));
        assert!(compare(&run(1), &run(2)).is_ok(), "single runs may have met equal arrivals");
    }

    #[test]
    fn a_count_that_some_runs_lack_is_zero_there() {
        let mut much = fixture::run();
        much.sometimes.insert("late_release".into(), 4);
        let pair = [fixture::run(), fixture::run()];
        let comparison = compare_paired(&pair, &[fixture::run(), much]).unwrap();
        let limit = |text: &str| [text.parse::<MaxRegress>().unwrap()];
        let found = comparison.regressions(&limit("sometimes.late_release=50%")).unwrap();
        assert_eq!(found.iter().map(|r| (r.a, r.b)).collect::<Vec<_>>(), [(0.0, 2.0)]);
        assert_eq!(comparison.regressions(&limit("sometimes.no_such=0%")), Ok(Vec::new()));
    }

    #[test]
    fn a_limit_on_what_a_run_lacks_is_refused() {
        let without = Run { erlang_b: None, ..fixture::run() };
        let comparison = compare(&fixture::run(), &without).unwrap();
        let limit = ["erlang_b=1%".parse().unwrap()];
        assert_eq!(comparison.regressions(&limit), Err(CompareError::Absent("erlang_b".into())));
    }

    #[test]
    fn regressions_are_found_in_the_bad_direction_only() {
        let comparison = compare(&fixture::run(), &slower()).unwrap();
        let limits: Vec<MaxRegress> =
            ["latency_ms.dispatch_net.p99=10%", "refused_ratio=0%", "carried_per_s=1 %"]
                .map(|text| text.parse().unwrap())
                .into();
        let found = comparison.regressions(&limits).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "latency_ms.dispatch_net.p99: 5.62 → 6.74, worse by 20.0 %, allowed 10.0 %"
        );
        for wrong in ["refused_ratio", "refused_ratio=x%", "refused_ratio=-1%", "no.such=1%"] {
            assert!(wrong.parse::<MaxRegress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_give_an_interval() {
        let a = [fixture::run(), fixture::run()];
        let mut b = [slower(), slower()];
        b[1].refused_ratio *= 1.01;
        let comparison = compare_paired(&a, &b).unwrap();
        let row = comparison.rows.iter().find(|row| row.metric == "refused_ratio").unwrap();
        assert!(row.difference.half.is_some() && row.difference.excludes_zero());
    }
}
