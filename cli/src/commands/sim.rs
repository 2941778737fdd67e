//! `lingua sim`: one run, several seeds, or all variants of a file.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lingua_reports::run::Run;
use lingua_reports::{files, junit, replications, terminal};
use lingua_scenarios::{Loaded, Scenario};
use lingua_sim::{Broken, Finished, shrink, simulate_all, swarm};

use crate::args::Sim;
use crate::failure::{Code, Failure, print, tell};
use crate::machine;
use crate::progress::Bar;
use crate::trace;

/// What several seeds are compared by.
const SHOWN: [&str; 12] = [
    "carried_per_s",
    "refused_ratio",
    "utilisation",
    "latency_ms.dispatch_net.p50",
    "latency_ms.dispatch_net.p99",
    "latency_ms.response.p50",
    "latency_ms.response.p99",
    "oversold.assignments",
    "jobs.failed",
    "jobs.lost",
    "broken_segments.count",
    "headroom",
];

/// What several seeds of duties are compared by.
const SHOWN_OF_DUTIES: [&str; 8] = [
    "duties.all_held_again_s",
    "duties.longest_unheld_s",
    "duties.unheld_at_end",
    "duties.max_over_mean",
    "duties.moves",
    "duties.lapses",
    "duties.writes.stale",
    "duties.events.lost",
];

/// Runs of one call that are printed one by one.
const LISTED_MAX: usize = 20;

pub(crate) fn run(args: &Sim) -> Result<Code, Failure> {
    let mut overrides = args.file.changes()?;
    if let Some(seed) = args.seed {
        overrides.push(format!("seed={seed}"));
    }
    let loaded = Scenario::load(&args.file.file, &overrides)?;
    for warning in &loaded.warnings {
        tell(&format!("warning: {warning}"));
    }
    let variants = loaded.variants()?;
    if let Some(name) = &args.variant {
        let Some((_, variant)) = variants.iter().find(|(n, _)| n == name) else {
            let names: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Failure::Usage(format!(
                "--variant {name}: the file has {}",
                if names.is_empty() { "no variants".to_owned() } else { names.join(", ") }
            )));
        };
        return one(args, variant);
    }
    match &args.seeds {
        Some(seeds) => several(args, &loaded, seeds.clone()),
        None if !variants.is_empty() && args.trace.is_some() => {
            let names: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
            let names = names.join(", ");
            Err(Failure::Usage(format!(
                "--trace is of one run: choose a variant with --variant ({names})"
            )))
        }
        None if !variants.is_empty() => all_variants(args, &loaded, &variants),
        None => one(args, &loaded),
    }
}

/// One run: summary, files, next step.
fn one(args: &Sim, loaded: &Loaded) -> Result<Code, Failure> {
    let scenario = swarm::draw(&loaded.scenario, loaded.scenario.seed);
    let started = Instant::now();
    let (mut finished, traced) = trace::simulate(args, &scenario, &loaded.sha256)?;
    let wall = started.elapsed();
    let artifacts = &mut finished.artifacts;
    artifacts.machine = machine::describe(&artifacts.run, wall, 1);
    let colour = std::io::stdout().is_terminal();
    print(&terminal::summary(&artifacts.run, colour))?;
    if let Some(dir) = out_dir(args, loaded) {
        files::write_dir(&dir, &finished.artifacts)?;
        print(&format!("\nfiles: {} (open report.html)\n", dir.display()))?;
    }
    let run = &finished.artifacts.run;
    print(&traced)?;
    write_junit(args, &[run])?;
    if let Some(broken) = &finished.broken {
        print(&format!("\nreplay: {}\n", replay(args, loaded, run.seed)))?;
        if let Some(file) = &args.shrink {
            write_shrunk(&scenario, broken, file)?;
        }
    } else {
        print(&format!("next: {}\n", next_step(args, run)))?;
    }
    Ok(run.verdict.into())
}

/// The same scenario with every seed of a range.
fn several(
    args: &Sim,
    loaded: &Loaded,
    seeds: std::ops::RangeInclusive<u64>,
) -> Result<Code, Failure> {
    let drawn: Vec<Scenario> = seeds.map(|seed| swarm::draw(&loaded.scenario, seed)).collect();
    let mut bar = Bar::new(&loaded.scenario.title);
    let threads = usize::from(args.threads);
    let finished = simulate_all(&drawn, &loaded.sha256, threads, &mut bar)?;
    drop(bar);
    if let Some(dir) = &args.out {
        for finished in &finished {
            let seed = finished.artifacts.run.seed;
            files::write_dir(&files::seed_dir(dir, seed), &finished.artifacts)?;
        }
    }
    let owned: Vec<Run> = finished.iter().map(|f| f.artifacts.run.clone()).collect();
    let runs: Vec<&Run> = owned.iter().collect();
    let shown: &[&str] = if loaded.scenario.duties.is_some() { &SHOWN_OF_DUTIES } else { &SHOWN };
    print(&replications::table(&owned, shown).to_text(100))?;
    if let Some(dir) = &args.out {
        files::write_replications(dir, &owned)?;
        print(&format!("\nfiles: {} (replications.csv, a folder per seed)\n", dir.display()))?;
    }
    if loaded.scenario.swarm.is_some() {
        print(&marks(&runs))?;
    }
    write_junit(args, &runs)?;
    let broken: Vec<&Finished> = finished.iter().filter(|f| f.broken.is_some()).collect();
    print(&format!("{} runs, {} with a broken invariant\n", runs.len(), broken.len()))?;
    for finished in broken.iter().take(LISTED_MAX) {
        let run = &finished.artifacts.run;
        let reason = run.reasons.first().map_or("", String::as_str);
        print(&format!("  seed {}: {reason}\n", run.seed))?;
        print(&format!("    replay: {}\n", replay(args, loaded, run.seed)))?;
    }
    if let (Some(first), Some(file)) = (broken.first(), &args.shrink) {
        let scenario = swarm::draw(&loaded.scenario, first.artifacts.run.seed);
        if let Some(broken) = &first.broken {
            write_shrunk(&scenario, broken, file)?;
        }
    }
    Ok(runs
        .iter()
        .map(|run| Code::from(run.verdict))
        .max_by_key(|code| *code as u8)
        .unwrap_or(Code::Fine))
}

/// All variants of a file on the same arrivals, side by side.
fn all_variants(
    args: &Sim,
    loaded: &Loaded,
    variants: &[(String, Loaded)],
) -> Result<Code, Failure> {
    let scenarios: Vec<Scenario> = variants.iter().map(|(_, v)| v.scenario.clone()).collect();
    let mut bar = Bar::new(&loaded.scenario.title);
    let finished = simulate_all(&scenarios, &loaded.sha256, usize::from(args.threads), &mut bar)?;
    drop(bar);
    let rows =
        variants.iter().zip(&finished).map(|((name, _), f)| (name.as_str(), &f.artifacts.run));
    let rows: Vec<(&str, &Run)> = rows.collect();
    print(&format!("{} (seed {})\n\n", loaded.scenario.title, loaded.scenario.seed))?;
    print(&crate::variants::table(&rows).to_text(100))?;
    if let Some(dir) = &args.out {
        for ((name, _), finished) in variants.iter().zip(&finished) {
            files::write_dir(&dir.join(name), &finished.artifacts)?;
        }
        print(&format!("\nfiles: {}\n", dir.display()))?;
    }
    let runs: Vec<&Run> = rows.iter().map(|&(_, run)| run).collect();
    write_junit(args, &runs)?;
    Ok(runs
        .iter()
        .map(|run| Code::from(run.verdict))
        .max_by_key(|code| *code as u8)
        .unwrap_or(Code::Fine))
}

/// Where the files go: as asked for, else a folder named after the scenario.
fn out_dir(args: &Sim, loaded: &Loaded) -> Option<PathBuf> {
    let name = loaded.path().file_stem()?;
    Some(args.out.clone().unwrap_or_else(|| Path::new("out").join(name)))
}

fn write_junit(args: &Sim, runs: &[&Run]) -> Result<(), Failure> {
    let Some(file) = &args.junit else { return Ok(()) };
    std::fs::write(file, junit::xml(runs))
        .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// The command that runs the same thing again.
fn replay(args: &Sim, loaded: &Loaded, seed: u64) -> String {
    let mut command = format!("lingua sim {} --seed {seed}", loaded.path().display());
    if let Some(costs) = &args.file.costs {
        command.push_str(&format!(" --costs {}", costs.display()));
    }
    for change in &args.file.overrides {
        command.push_str(&format!(" --set '{change}'"));
    }
    command
}

fn write_shrunk(scenario: &Scenario, broken: &Broken, file: &Path) -> Result<(), Failure> {
    let invariant = broken.invariant;
    let shrunk = shrink::shrink(scenario, broken, &mut Bar::new("shrinking"));
    let text = shrunk.scenario.to_toml();
    let header = format!(
        "# The smallest scenario found that breaks {invariant} ({} runs tried).\n\
         # Run it with: lingua sim {}\n",
        shrunk.tries,
        file.display()
    );
    std::fs::write(file, header + &text)
        .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    let small = &shrunk.scenario;
    let size = match &small.duties {
        Some(duties) => format!("{} duties, {} instances", duties.count, small.instances()),
        None => {
            let nodes: u32 = small.nodes.iter().map(|group| group.count).sum();
            format!("{nodes} nodes")
        }
    };
    print(&format!(
        "shrunk: {} ({size}, {} faults, {} runs tried)\n",
        file.display(),
        small.faults.len(),
        shrunk.tries
    ))
}

/// Rare paths that the swarm took, and those that it never took.
fn marks(runs: &[&Run]) -> String {
    let mut all = std::collections::BTreeMap::<&str, u64>::new();
    for run in runs {
        for (name, count) in &run.sometimes {
            *all.entry(name).or_default() += count;
        }
    }
    let never: Vec<&str> = all.iter().filter(|&(_, &n)| n == 0).map(|(&name, _)| name).collect();
    let reached = all.len() - never.len();
    let never = if never.is_empty() { "none".to_owned() } else { never.join(", ") };
    format!("rare paths reached: {reached} of {}; never: {never}\n", all.len())
}

fn next_step(args: &Sim, run: &Run) -> String {
    let file = args.file.file.display();
    if run.refused_ratio > 0.01 {
        format!("lingua sim {file} --set nodes.0.count=N   (more nodes until refusals vanish)")
    } else if args.seeds.is_none() {
        format!("lingua sim {file} --seeds 1..10   (95 % intervals over ten seeds)")
    } else {
        format!("lingua pools {file}")
    }
}
