//! One case with several seeds: means and 95 % intervals.

use std::path::Path;

use lingua_reports::number::{decimal, percent};
use lingua_reports::run::{Artifacts, Run};
use lingua_reports::stats::{self, Interval};
use lingua_scenarios::Scenario;
use lingua_sim::simulate_all;

use super::Case;
use crate::failure::Failure;
use crate::progress::Bar;

/// Seeds of every row.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// The runs of one case, one per seed.
pub(super) struct Replicated(Vec<Artifacts>);

/// Runs all cases of one file with every seed, several at a time.
pub(super) fn replicate(
    file: &Path,
    cases: &[Case],
    threads: usize,
) -> Result<Vec<Replicated>, Failure> {
    let loaded = Scenario::load(file, &[])?;
    let mut scenarios = Vec::new();
    for case in cases {
        for seed in SEEDS {
            let mut overrides = case.overrides.clone();
            overrides.push(format!("seed={seed}"));
            scenarios.push(loaded.with(&overrides)?.scenario);
        }
    }
    let mut bar = Bar::new(&loaded.scenario.title);
    let finished = simulate_all(&scenarios, &loaded.sha256, threads, &mut bar)?;
    let mut runs = finished.into_iter().map(|finished| finished.artifacts);
    let of_case = |_| Replicated(runs.by_ref().take(SEEDS.count()).collect());
    Ok(cases.iter().map(of_case).collect())
}

/// The command that makes a row's runs again.
pub(super) fn command(file: &str, case: &Case) -> String {
    let mut command =
        format!("lingua sim scenarios/{file} --seeds {}..{}", SEEDS.start(), SEEDS.end());
    for change in &case.overrides {
        command.push_str(&set(change));
    }
    command
}

/// A change as it is written on a command line.
pub(super) fn set(change: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-=/:".contains(c);
    if change.chars().all(plain) {
        format!(" --set {change}")
    } else {
        format!(" --set '{change}'")
    }
}

impl Replicated {
    /// The run of the first seed, for what does not vary.
    pub(super) fn first(&self) -> &Run {
        &self.0[0].run
    }

    fn values(&self, of: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.0.iter().map(|artifacts| of(&artifacts.run)).collect()
    }

    pub(super) fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        stats::mean(&self.values(of))
    }

    /// `12.5 % ± 0.2 %`.
    pub(super) fn percent(&self, of: impl Fn(&Run) -> f64) -> String {
        shown(stats::interval(&self.values(of)), percent)
    }

    /// `12.5 ± 0.2`.
    pub(super) fn decimal(&self, of: impl Fn(&Run) -> f64) -> String {
        shown(stats::interval(&self.values(of)), decimal)
    }

    /// As [`Self::decimal`], over the runs that have such a value.
    pub(super) fn decimal_where_there(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<String> {
        let there: Vec<f64> = self.0.iter().filter_map(|artifacts| of(&artifacts.run)).collect();
        (!there.is_empty()).then(|| shown(stats::interval(&there), decimal))
    }

    /// Nodes that got a job of the counted part, of those in service at the end: `20 of 100`.
    pub(super) fn nodes_used(&self) -> String {
        let there =
            |artifacts: &Artifacts| artifacts.timeseries.last().map_or(0, |row| row.nodes) as f64;
        let used = |artifacts: &Artifacts| {
            artifacts.node_jobs.iter().filter(|&&(.., jobs)| jobs > 0).count() as f64
        };
        let mean = |of: &dyn Fn(&Artifacts) -> f64| {
            stats::mean(&self.0.iter().map(of).collect::<Vec<_>>())
        };
        format!("{} of {}", decimal(mean(&used)), decimal(mean(&there)))
    }

    /// What gives way first, in the order of the seeds.
    pub(super) fn first_limit(&self) -> String {
        let mut limits: Vec<&str> = Vec::new();
        for artifacts in &self.0 {
            if !limits.contains(&artifacts.run.first_limit.as_str()) {
                limits.push(&artifacts.run.first_limit);
            }
        }
        limits.join(" or ")
    }

    /// Which inputs were measured and which assumed.
    pub(super) fn inputs(&self) -> String {
        inputs(self.first())
    }
}

/// Which inputs of a run were measured and which assumed.
pub(super) fn inputs(run: &Run) -> String {
    let of = |basis: &str| {
        let named = run.inputs.iter().filter(|(_, value)| *value == basis);
        named.map(|(name, _)| name.replace('_', " ")).collect::<Vec<_>>().join(", ")
    };
    let parts = ["measured", "assumed"].map(|basis| (basis, of(basis)));
    let some = parts.iter().filter(|(_, names)| !names.is_empty());
    some.map(|(basis, names)| format!("{basis}: {names}")).collect::<Vec<_>>().join("; ")
}

/// A mean with half its interval, where it varies at all.
pub(super) fn shown(interval: Interval, number: fn(f64) -> String) -> String {
    match interval.half {
        Some(half) => format!("{} ± {}", number(interval.mean), number(half)),
        None => number(interval.mean),
    }
}
