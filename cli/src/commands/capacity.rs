//! `lingua capacity`: the largest load of each combination, or the fewest nodes for a need.

#[cfg(feature = "live")]
mod live;

use lingua_reports::capacity::{self as table, Axis, CapacityRow};
use lingua_reports::files::{self, WriteError};
use lingua_reports::run::Run;
use lingua_reports::{number, plots};
use lingua_scenarios::Loaded;
use lingua_sim::Progress;
use lingua_sim::capacity::{self, Combination, Largest};

use crate::args::Capacity;
use crate::failure::{Code, Failure, print};
use crate::progress::Bar;

pub(crate) fn run(args: &Capacity) -> Result<Code, Failure> {
    let loaded = args.file.load_with_nodes()?;
    if loaded.scenario.expect.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: capacity is searched under [[expect]], and there is none",
            args.file.file.display()
        )));
    }
    match &args.need {
        Some(need) => needed(&loaded, need),
        None => matrix(args, &loaded),
    }
}

fn matrix(args: &Capacity, loaded: &Loaded) -> Result<Code, Failure> {
    let combinations = capacity::combinations(&loaded.scenario);
    if combinations.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: there is no [capacity] section; it names what is searched",
            args.file.file.display()
        )));
    }
    #[cfg(feature = "live")]
    if args.live {
        return live::run(args, loaded, &combinations);
    }
    let mut bar = Bar::new(&loaded.scenario.title);
    let found = search_all(loaded, &combinations, usize::from(args.threads), &mut bar)?;
    drop(bar);
    let rows = rows(args, loaded, &combinations, &found);
    let table = table::short_table(&rows);
    print(&format!("{}\n\n{}", loaded.scenario.title, table.to_text(100)))?;
    print(&format!("\nlargest {}\n", expectations(loaded)))?;
    if let Some(dir) = &args.out {
        files::write_capacity(dir, &rows)?;
        let map = table::heat_map(&rows, Axis::Policy, Axis::Nodes);
        let picture = plots::heat_map(&map).map_err(WriteError::from)?;
        let path = dir.join("capacity.svg");
        std::fs::write(&path, picture)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        print(&format!("files: {}\n", dir.display()))?;
    }
    Ok(Code::Fine)
}

/// Searches all combinations, one thread each.
fn search_all(
    loaded: &Loaded,
    combinations: &[Combination],
    threads: usize,
    bar: &mut Bar,
) -> Result<Vec<Largest>, Failure> {
    let mut found = Vec::with_capacity(combinations.len());
    for chunk in combinations.chunks(threads.max(1)) {
        let part: Vec<_> = std::thread::scope(|scope| {
            let searches: Vec<_> = chunk
                .iter()
                .map(|combination| scope.spawn(|| capacity::search(loaded, combination)))
                .collect();
            searches
                .into_iter()
                .map(|search| search.join().expect("a search never panics"))
                .collect()
        });
        for largest in part {
            found.push(largest?);
        }
        let done = lingua_core::Micros(found.len() as u64);
        bar.at(done, lingua_core::Micros(combinations.len() as u64));
    }
    Ok(found)
}

fn rows(
    args: &Capacity,
    loaded: &Loaded,
    combinations: &[Combination],
    found: &[Largest],
) -> Vec<CapacityRow> {
    let path = loaded.scenario.capacity.as_ref().map_or("", |plan| plan.search.path.as_str());
    let row = |(combination, largest): (&Combination, &Largest)| {
        let run: &Run = &largest.run;
        let mut command = format!("lingua sim {}", args.file.file.display());
        if let Some(costs) = &args.file.costs {
            command.push_str(&format!(" --costs {}", costs.display()));
        }
        let searched = format!("{path}={}", largest.value);
        for change in args.file.overrides.iter().chain(&combination.overrides).chain([&searched]) {
            command.push_str(&format!(" --set {change}"));
        }
        let inputs = |basis: &str| {
            let named = run.inputs.iter().filter(|(_, value)| *value == basis);
            named.map(|(name, _)| name.clone()).collect()
        };
        CapacityRow {
            nodes: combination.nodes.into(),
            policy: run.setting.get("policy").cloned().unwrap_or_default(),
            instances: combination.instances,
            load: None,
            largest_rate: (largest.value > 0.0).then_some(largest.value),
            ci95: None,
            first_limit: if largest.open {
                "not reached".to_owned()
            } else {
                run.first_limit.clone()
            },
            expectation: expectations(loaded),
            measured: inputs("measured"),
            assumed: inputs("assumed"),
            seed: run.seed,
            command,
        }
    };
    combinations.iter().zip(found).map(row).collect()
}

/// What the values were searched under.
fn expectations(loaded: &Loaded) -> String {
    let path = loaded.scenario.capacity.as_ref().map_or("", |plan| plan.search.path.as_str());
    let mut text = format!("{path} under:");
    for expect in &loaded.scenario.expect {
        if let Some(min) = expect.min {
            text.push_str(&format!(" {} >= {min};", expect.metric));
        }
        if let Some(max) = expect.max {
            text.push_str(&format!(" {} <= {max};", expect.metric));
        }
    }
    format!("{} (seed {})", text.trim_end_matches(';'), loaded.scenario.seed)
}

fn needed(loaded: &Loaded, need: &str) -> Result<Code, Failure> {
    let mend = || Failure::Usage(format!("--need {need}: write sessions=1000"));
    let (what, count) = need.split_once('=').ok_or_else(mend)?;
    let count: u32 = count.parse().map_err(|_| mend())?;
    if what != "sessions" || count == 0 {
        return Err(mend());
    }
    let Some(need) = capacity::fewest_nodes(loaded, count)? else {
        print(&format!("no number of nodes up to 64 times the file's carries {count} sessions\n"))?;
        return Ok(Code::ExpectationFailed);
    };
    print(&format!(
        "{count} sessions need {} nodes and {} instance(s), the largest node{} dead\n\
         with them dead: {} jobs/s carried, {} refused, headroom {}, first limit {}\n",
        need.nodes,
        need.instances,
        if need.instances > 1 { " and one instance" } else { "" },
        number::decimal(need.run.carried_per_s),
        number::percent(need.run.refused_ratio),
        number::percent(need.run.headroom),
        need.run.first_limit
    ))?;
    Ok(Code::Fine)
}
