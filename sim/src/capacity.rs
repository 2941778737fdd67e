//! The largest load that a scenario's expectations allow, found by bisection.

use lingua_reports::run::{Run, Verdict};
use lingua_scenarios::{Loaded, Policy, Scenario};

use crate::{Quiet, SimError, simulate};

/// Runs of one search at most.
const RUNS_MAX: u32 = 40;

/// One combination of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    /// Nodes in all.
    pub nodes: u32,
    /// Policy, as written in files.
    pub policy: Policy,
    /// Instances.
    pub instances: u32,
    /// The changes that make it of the file.
    pub overrides: Vec<String>,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Largest {
    /// The largest value tried that meets all expectations; 0: not even the smallest does.
    pub value: f64,
    /// The run at that value, or at the smallest one tried.
    pub run: Run,
    /// Whether the largest value allowed was met too: the true limit is higher.
    pub open: bool,
    /// Runs made.
    pub runs: u32,
}

/// All combinations of a capacity plan; lists that are empty keep the file's own value.
pub fn combinations(scenario: &Scenario) -> Vec<Combination> {
    let total: u32 = scenario.nodes.iter().map(|group| group.count).sum();
    let Some(plan) = &scenario.capacity else { return Vec::new() };
    let or_own = |list: &[u32], own: u32| if list.is_empty() { vec![own] } else { list.to_vec() };
    let policies = match plan.policies.as_slice() {
        [] => vec![scenario.scheduler.policy],
        some => some.to_vec(),
    };
    let mut all = Vec::new();
    for &nodes in &or_own(&plan.nodes, total) {
        for &policy in &policies {
            for &instances in &or_own(&plan.instances, scenario.scheduler.instances) {
                let mut overrides = node_counts(scenario, nodes, total);
                overrides.push(format!("scheduler.policy={}", lingua_scenarios::name_of(policy)));
                overrides.push(format!("scheduler.instances={instances}"));
                if instances > 1 {
                    overrides.push("scheduler.store=redis".to_owned());
                }
                all.push(Combination { nodes, policy, instances, overrides });
            }
        }
    }
    all
}

/// Groups keep their proportions; the largest takes what rounding leaves.
pub fn node_counts(scenario: &Scenario, nodes: u32, total: u32) -> Vec<String> {
    let share = |count: u32| (u64::from(count) * u64::from(nodes) / u64::from(total.max(1))) as u32;
    let mut counts: Vec<u32> = scenario.nodes.iter().map(|g| share(g.count).max(1)).collect();
    let sum: u32 = counts.iter().sum();
    let largest = (0..counts.len()).max_by_key(|&at| counts[at]);
    if let Some(at) = largest {
        counts[at] = (counts[at] + nodes).saturating_sub(sum).max(1);
    }
    counts.iter().enumerate().map(|(at, count)| format!("nodes.{at}.count={count}")).collect()
}

/// Searches the largest value of a combination.
///
/// # Errors
/// A value on the way makes no scenario.
pub fn search(loaded: &Loaded, combination: &Combination) -> Result<Largest, SimError> {
    search_by(loaded, combination, |changed, _| {
        Ok(simulate(&changed.scenario, &changed.sha256, &mut Quiet)?.artifacts.run)
    })
}

/// The same search by another way of running: `run` gets the scenario to be run and the changes
/// that make it of the file.
///
/// # Errors
/// A value on the way makes no scenario, or its run fails.
pub fn search_by<E: From<SimError>>(
    loaded: &Loaded,
    combination: &Combination,
    mut run: impl FnMut(&Loaded, &[String]) -> Result<Run, E>,
) -> Result<Largest, E> {
    let Some(plan) = &loaded.scenario.capacity else {
        return Err(SimError::Scenario("the file has no [capacity] section".to_owned()).into());
    };
    let search = &plan.search;
    let mut runs = 0;
    let mut try_at = |value: f64| -> Result<Run, E> {
        runs += 1;
        let mut overrides = combination.overrides.clone();
        overrides.push(set_value(&search.path, value));
        let changed = loaded.with(&overrides).map_err(SimError::from)?;
        run(&changed, &overrides)
    };
    let (mut low, mut high) = (search.from, search.to);
    let first = try_at(low)?;
    if !meets(&first) {
        return Ok(Largest { value: 0.0, run: first, open: false, runs });
    }
    let last = try_at(high)?;
    if meets(&last) {
        return Ok(Largest { value: high, run: last, open: true, runs });
    }
    let mut best = first;
    for _ in 0..RUNS_MAX {
        if high - low <= search.precision * low {
            break;
        }
        let middle = rounded((low + high) / 2.0);
        let run = try_at(middle)?;
        if meets(&run) {
            (low, best) = (middle, run);
        } else {
            high = middle;
        }
    }
    Ok(Largest { value: low, run: best, open: false, runs })
}

/// Whether a run did all that was expected of it.
pub fn meets(run: &Run) -> bool {
    run.verdict == Verdict::Ok && run.jobs.balance() == 0
}

/// A value for a path: rates carry their unit, counts are whole.
fn set_value(path: &str, value: f64) -> String {
    if path.ends_with("rate") {
        format!("{path}=\"{value}/s\"")
    } else if path.ends_with("count") || path.ends_with("instances") {
        format!("{path}={}", value as u64)
    } else {
        format!("{path}={value}")
    }
}

/// Four significant digits, so that commands are short to repeat.
fn rounded(value: f64) -> f64 {
    let digits = 3.0 - libm::floor(libm::log10(value));
    let scale = libm::pow(10.0, digits);
    libm::round(value * scale) / scale
}

/// The fewest nodes that meet the expectations with so many sessions, although the largest node
/// and, where there are several, one instance are dead.
///
/// # Errors
/// The scenario has no sessions, or a value on the way makes no scenario.
pub fn fewest_nodes(loaded: &Loaded, sessions: u32) -> Result<Option<Need>, SimError> {
    let scenario = &loaded.scenario;
    let groups: u32 = scenario.sessions.iter().filter_map(|group| group.count).sum();
    if groups == 0 {
        return Err(SimError::Scenario(
            "--need needs a file with [[sessions]] that have a count".to_owned(),
        ));
    }
    let total: u32 = scenario.nodes.iter().map(|group| group.count).sum();
    let talkers = scenario.sessions.iter().enumerate().filter_map(|(at, group)| {
        let share = u64::from(group.count?) * u64::from(sessions) / u64::from(groups);
        Some(format!("sessions.{at}.count={}", share.max(1)))
    });
    let talkers: Vec<String> = talkers.collect();
    let try_with = |nodes: u32| -> Result<Run, SimError> {
        let mut overrides = talkers.clone();
        overrides.extend(node_counts(scenario, nodes, total));
        let mut changed = loaded.with(&overrides)?;
        lose_largest(&mut changed.scenario);
        Ok(simulate(&changed.scenario, &changed.sha256, &mut Quiet)?.artifacts.run)
    };
    let smallest = scenario.nodes.len().max(2) as u32;
    let (mut low, mut high) = (smallest, total.max(smallest));
    let mut best = try_with(high)?;
    while !meets(&best) {
        if high > 64 * total {
            return Ok(None);
        }
        low = high;
        high *= 2;
        best = try_with(high)?;
    }
    while high - low > (high / 50).max(1) {
        let middle = low + (high - low) / 2;
        let run = try_with(middle)?;
        if meets(&run) {
            (high, best) = (middle, run);
        } else {
            low = middle;
        }
    }
    Ok(Some(Need { nodes: high, instances: scenario.scheduler.instances, run: best }))
}

/// What so many sessions need.
#[derive(Debug, Clone)]
pub struct Need {
    /// Nodes, the dead one included.
    pub nodes: u32,
    /// Instances, the dead one included.
    pub instances: u32,
    /// The run at that size, with the largest node and one instance dead.
    pub run: Run,
}

/// Takes away one node of the group with most slots per node, and one of several instances.
fn lose_largest(scenario: &mut Scenario) {
    if let Some(group) = scenario.nodes.iter_mut().max_by_key(|group| group.max_jobs) {
        group.count = group.count.saturating_sub(1).max(1);
    }
    let instances = &mut scenario.scheduler.instances;
    *instances = instances.saturating_sub(1).max(1);
}
