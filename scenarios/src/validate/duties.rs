//! What a scenario of duties may say, and what only such a scenario may.

use super::{Checks, INSTANCES_MAX, distribution};
use crate::{Dist, Duties, FaultKind, Plant, Scenario, name_of};

/// Duties of one scenario.
const DUTIES_MAX: u32 = 10_000;
/// A run shorter than this, its pause included, would drown everything else.
const ROUND_MIN_S: f64 = 1e-3;

pub(super) fn check(checks: &mut Checks, scenario: &Scenario) {
    match &scenario.duties {
        Some(duties) => {
            alone(checks, scenario);
            section(checks, scenario, duties);
            faults(checks, scenario);
        }
        None => without(checks, scenario),
    }
}

/// Nothing but duties.
fn alone(checks: &mut Checks, scenario: &Scenario) {
    let others = [
        ("nodes", !scenario.nodes.is_empty()),
        ("sessions", !scenario.sessions.is_empty()),
        ("arrivals", !scenario.arrivals.is_empty()),
        ("capacity", scenario.capacity.is_some()),
    ];
    for (name, there) in others {
        let what =
            format!("a scenario of duties has no {name}: put [duties] into a file of its own");
        checks.need(!there, name, what);
    }
    let plant = scenario.plant.is_none_or(is_of_duties);
    checks.need(plant, "plant", "breaks nothing among duties: plant I8, coverage or limit");
    let policies = scenario.swarm.as_ref().is_some_and(|swarm| !swarm.policies.is_empty());
    checks.need(!policies, "swarm.policies", "duties know no policies: leave it out");
    let drawn = scenario.swarm.iter().flat_map(|swarm| &swarm.kinds).enumerate();
    for (at, &kind) in drawn {
        let what = format!("{} strikes nothing here: {}", name_of(kind), kinds());
        checks.need(strikes_duties(kind), format!("swarm.kinds.{at}"), what);
    }
}

fn section(checks: &mut Checks, scenario: &Scenario, duties: &Duties) {
    let mut range = |name: &str, value: u32, max: u32| {
        let what = format!("{value} is out of range: 1 to {max} are allowed");
        checks.need((1..=max).contains(&value), format!("duties.{name}"), what);
    };
    range("count", duties.count, DUTIES_MAX);
    range("instances", duties.instances, INSTANCES_MAX);
    range("patience", duties.patience, 1_000);
    range("claims_per_view", duties.claims_per_view, DUTIES_MAX);
    tolerances(checks, scenario, duties);
    let all = scenario.instances();
    let what = format!("{all} with those that join: {INSTANCES_MAX} are allowed");
    checks.need(all <= INSTANCES_MAX, "duties.instances", what);
    checks.positive(duties.tick, "duties.tick".into());
    let two_ticks = duties.tick.nanos().saturating_mul(2);
    let (lease, tick) = (duties.lease, duties.tick);
    let what = format!("{lease} does not outlast two ticks of {tick}: write more");
    checks.need(lease.nanos() > two_ticks, "duties.lease", what);
    distribution(checks, &duties.run, "duties.run");
    let known = |dist: &Dist| !matches!(dist, Dist::Empirical(_));
    let round = duties.run.mean() + duties.pause.mean();
    let long = round >= ROUND_MIN_S || !known(&duties.run) || !known(&duties.pause);
    checks.need(long, "duties.run", "run and pause together take less than 1ms: write more");
    checks.share(duties.event_loss, "duties.event_loss".into());
}

fn tolerances(checks: &mut Checks, scenario: &Scenario, duties: &Duties) {
    let both = duties.tolerance.is_some() && !duties.tolerances.is_empty();
    checks.need(!both, "duties.tolerances", "needs tolerance or tolerances, not both");
    let (all, given) = (scenario.instances(), duties.tolerances.len());
    let what = format!("{given} tolerances for {all} instances, those that join included");
    let fits = given == 0 || given == all as usize;
    checks.need(fits, "duties.tolerances", format!("{what}: write one for each"));
    let each = duties.tolerances.iter().enumerate().map(|(at, &n)| (format!("tolerances.{at}"), n));
    let one = duties.tolerance.map(|n| ("tolerance".to_owned(), n));
    for (name, n) in each.chain(one) {
        let what = match n {
            0 => "a tolerance of 0 loses duties at the first death: give 1 or more".to_owned(),
            n => format!("{n} is out of range: 1 to {INSTANCES_MAX} are allowed"),
        };
        checks.need((1..=INSTANCES_MAX).contains(&n), format!("duties.{name}"), what);
    }
}

fn faults(checks: &mut Checks, scenario: &Scenario) {
    for (at, fault) in scenario.faults.iter().enumerate() {
        let kind = name_of(fault.kind);
        let what = format!("{kind} strikes nothing here: {}", kinds());
        checks.need(strikes_duties(fault.kind), format!("faults.{at}.kind"), what);
        let end = fault.at.nanos().saturating_add(fault.lasts.map_or(0, crate::Dur::nanos));
        let (duration, lasts) = (scenario.duration, fault.lasts.unwrap_or(fault.at));
        let what = format!("{lasts} lasts beyond the end at {duration}: write less");
        checks.need(end <= duration.nanos(), format!("faults.{at}.for"), what);
        let joins = fault.kind == FaultKind::InstanceJoin && fault.instance.is_some();
        let what = "those that come are counted on, in the order of the file: leave it out";
        checks.need(!joins, format!("faults.{at}.instance"), what);
    }
}

/// What needs a section of duties.
fn without(checks: &mut Checks, scenario: &Scenario) {
    let plant = scenario.plant.is_some_and(is_of_duties);
    checks.need(!plant, "plant", "breaks something among duties: add [duties]");
    for (at, fault) in scenario.faults.iter().enumerate() {
        let needs = matches!(
            fault.kind,
            FaultKind::InstanceFreeze | FaultKind::InstanceJoin | FaultKind::InstanceDrain
        );
        let what = format!("{} strikes duties: add [duties]", name_of(fault.kind));
        checks.need(!needs, format!("faults.{at}.kind"), what);
    }
}

fn is_of_duties(plant: Plant) -> bool {
    matches!(plant, Plant::I8 | Plant::Coverage | Plant::Limit)
}

fn strikes_duties(kind: FaultKind) -> bool {
    FaultKind::OF_DUTIES.contains(&kind)
}

fn kinds() -> String {
    let names = FaultKind::OF_DUTIES.map(name_of);
    format!("duties meet {}", names.join(", "))
}
