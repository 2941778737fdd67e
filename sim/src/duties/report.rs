//! From counts to the record of the run.

use std::collections::BTreeMap;

use lingua_core::Micros;
use lingua_reports::duties::{Duties, InstanceRow};
use lingua_reports::run::{
    Affinity, Artifacts, BrokenSegments, Fairness, Jobs, Kind, Latencies, Machine, Oversold, Run,
    SCHEMA_VERSION, ScenarioRef, SchedulerLoad, StoreLoad, Verdict,
};
use lingua_scenarios::{Scenario, name_of};

use super::World;
use crate::record::Batches;
use crate::streams::mix;
use crate::{Finished, verdict};

pub(super) fn finish(mut world: World, scenario: &Scenario, sha256: &str) -> Finished {
    let end = world.end;
    let duties = accounts(&mut world);
    let mut run = Run {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kind: Kind::Sim,
        scenario: ScenarioRef { name: scenario.title.clone(), sha256: sha256.to_owned() },
        seed: scenario.seed,
        digest: world.digest.hex(),
        arrivals_digest: format!("{:016x}", plan(scenario)),
        verdict: Verdict::Ok,
        reasons: Vec::new(),
        duration_s: end.as_secs_f64(),
        setting: setting(scenario, &world),
        jobs: Jobs::default(),
        carried_per_s: 0.0,
        refused_ratio: 0.0,
        refused_by_cause: BTreeMap::new(),
        erlang_b: None,
        utilisation: 0.0,
        pairs: Vec::new(),
        affinity: Affinity::default(),
        broken_segments: BrokenSegments::default(),
        fairness: Fairness { max_over_mean: duties.max_over_mean, ..Fairness::default() },
        oversold: Oversold::default(),
        latency_ms: Latencies::default(),
        scheduler: SchedulerLoad { instances: world.duties.instances, ..SchedulerLoad::default() },
        store: StoreLoad {
            ops: duties.steps,
            ops_per_s: duties.steps as f64 / end.as_secs_f64(),
            ..StoreLoad::default()
        },
        first_limit: String::new(),
        headroom: 0.0,
        invariants: BTreeMap::new(),
        sometimes: world.record.marks(),
        inputs: BTreeMap::from([
            ("delay".to_owned(), "assumed".to_owned()),
            ("run".to_owned(), "assumed".to_owned()),
        ]),
        expectations: Vec::new(),
        events: world.queue.scheduled(),
        load: None,
        duties: Some(duties),
    };
    verdict::judge(&mut run, scenario, world.broken.as_ref(), None);
    let artifacts = Artifacts {
        run,
        histograms: BTreeMap::new(),
        timeseries: Vec::new(),
        node_jobs: Vec::new(),
        duties: std::mem::take(&mut world.record.samples),
        machine: Machine::default(),
        sample_s: 1.0,
        warmup_s: 0.0,
    };
    Finished { artifacts, batches: Batches::new(Micros::ZERO, end), broken: world.broken }
}

fn accounts(world: &mut World) -> Duties {
    let episodes = world.record.episodes();
    let rows: Vec<InstanceRow> = (0..world.processes.len()).map(|i| row(world, i)).collect();
    let after_start = episodes.iter().skip(1);
    let longest = after_start.clone().map(|episode| episode.longest_unheld_s).fold(0.0, f64::max);
    let again = after_start.filter_map(|episode| episode.all_held_s).fold(0.0, f64::max);
    let held = rows.iter().filter(|row| row.state == UP).map(|row| row.held);
    let (up, sum) = held.clone().fold((0, 0), |(up, sum), held| (up + 1, sum + held));
    let mean = if up == 0 { 0.0 } else { sum as f64 / f64::from(up) };
    let most = held.max().unwrap_or(0) as f64;
    let record = &world.record;
    Duties {
        count: u64::from(world.duties.count),
        unheld_at_end: record.unheld(),
        longest_unheld_s: longest,
        all_held_again_s: again,
        moves: record.moves,
        max_over_mean: if mean > 0.0 { most / mean } else { 1.0 },
        alarms: record.holders.iter().map(|holder| holder.alarms).sum(),
        writes: record.writes,
        events: record.events,
        steps: record.steps,
        replies_lost: record.replies_lost,
        joins: record.joins,
        lapses: record.lapses,
        instances: rows,
        episodes,
    }
}

/// At work, and not on the drain list.
const UP: &str = "up";

fn row(world: &mut World, i: usize) -> InstanceRow {
    let view = world.board.view();
    let process = &world.processes[i];
    let member = view.members.iter().find(|member| member.membership.instance == process.id());
    let state = match (process.up, member) {
        (false, _) if process.life == 0 => "not there",
        (false, _) => "gone",
        (true, _) if process.frozen => "frozen",
        (true, None) => "no member",
        (true, Some(member)) if member.draining => "drains",
        (true, Some(_)) => UP,
    };
    let holder = &world.record.holders[i];
    InstanceRow {
        instance: i as u64,
        state: state.to_owned(),
        tolerance: u64::from(process.tolerance().get()),
        held: holder.holds,
        limit: if process.up { process.claimer.limit() as u64 } else { 0 },
        most: holder.most,
        mean: holder.mean(world.end),
        acquired: holder.acquired,
        alarms: holder.alarms,
    }
}

fn setting(scenario: &Scenario, world: &World) -> BTreeMap<String, String> {
    let duties = &world.duties;
    let tolerances = match duties.tolerances.as_slice() {
        [] => duties.tolerance_of(0).to_string(),
        each => each.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    };
    BTreeMap::from([
        ("duties".to_owned(), duties.count.to_string()),
        ("instances".to_owned(), scenario.instances().to_string()),
        ("tolerance".to_owned(), tolerances),
        ("lease".to_owned(), duties.lease.to_string()),
        ("tick".to_owned(), duties.tick.to_string()),
    ])
}

/// A number for what is shared and what goes wrong: runs are paired where it is equal.
fn plan(scenario: &Scenario) -> u64 {
    let count = scenario.duties.as_ref().map_or(0, |duties| duties.count);
    let faults = scenario.faults.iter().fold(mix(u64::from(count)), |sum, fault| {
        let name = name_of(fault.kind).bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)));
        let whom = u64::from(fault.instance.unwrap_or(0));
        let lasts = fault.lasts.map_or(0, lingua_scenarios::Dur::nanos);
        mix(sum ^ name ^ mix(fault.at.nanos()) ^ mix(lasts ^ whom))
    });
    mix(faults ^ mix(scenario.seed))
}
