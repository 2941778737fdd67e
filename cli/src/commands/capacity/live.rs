//! `lingua capacity --live`: the largest load over real sockets, beside the simulated one.

use lingua_loadgen::{Options, Target};
use lingua_reports::files::WriteError;
use lingua_reports::number::percent;
use lingua_reports::run::Verdict;
use lingua_reports::table::{Align, Cell, Table};
use lingua_scenarios::Loaded;
use lingua_sim::capacity::{Combination, Largest, search, search_by};

use crate::args::Capacity;
use crate::commands::live::target::{elsewhere, server_of};
use crate::commands::live::watch::Live;
use crate::failure::{Code, Failure, print, tell};

pub(super) fn run(
    args: &Capacity,
    loaded: &Loaded,
    combinations: &[Combination],
) -> Result<Code, Failure> {
    keep_from_harm(args)?;
    let several = combinations.iter().any(|combination| combination.instances > 1);
    if several || (args.target.is_some() && combinations.len() > 1) {
        return Err(Failure::Usage(
            "--live searches one scheduler as it runs: leave [capacity] instances out, and with \
             --target also policies and nodes"
                .to_owned(),
        ));
    }
    let mut table = Table::new(&[
        ("nodes", Align::Right),
        ("policy", Align::Left),
        ("predicted", Align::Right),
        ("measured", Align::Right),
        ("difference", Align::Right),
        ("predicted limit", Align::Left),
        ("why not more, measured", Align::Left),
    ]);
    for combination in combinations {
        let predicted = search(loaded, combination)?;
        let (measured, beyond) = measure(args, loaded, combination)?;
        table.row(row(combination, &predicted, &measured, &beyond));
    }
    let path = loaded.scenario.capacity.as_ref().map_or("", |plan| plan.search.path.as_str());
    print(&format!("{}: largest {path}\n\n{}", loaded.scenario.title, table.to_text(100)))?;
    print(&format!("\nlargest {}\n", super::expectations(loaded)))?;
    if let Some(dir) = &args.out {
        let file = dir.join("capacity-live.csv");
        let failed = |source| WriteError::Io { path: file.clone(), source };
        std::fs::create_dir_all(dir).map_err(failed)?;
        std::fs::write(&file, table.to_csv()).map_err(failed)?;
        print(&format!("files: {}\n", file.display()))?;
    }
    Ok(Code::Fine)
}

/// Searches over real sockets; also why the smallest value that failed did.
fn measure(
    args: &Capacity,
    loaded: &Loaded,
    combination: &Combination,
) -> Result<(Largest, String), Failure> {
    let mut beyond = String::new();
    let found = search_by(loaded, combination, |changed, changes| -> Result<_, Failure> {
        let options = Options::new(target(args, changes)?);
        let run = lingua_loadgen::run(changed, &options, &mut Live::new())?.run;
        let value = changes.last().map_or("", String::as_str);
        let (word, _) = lingua_reports::facts::verdict(run.verdict);
        tell(&format!("{value}: {word}, {} refused", percent(run.refused_ratio)));
        if run.verdict != Verdict::Ok {
            beyond = run.reasons.join("; ");
        }
        Ok(run)
    })?;
    Ok((found, beyond))
}

/// A search ends where the scheduler breaks, so nobody else's is ever its target.
fn keep_from_harm(args: &Capacity) -> Result<(), Failure> {
    let Some(url) = &args.target else { return Ok(()) };
    let Some(address) = elsewhere(url)? else { return Ok(()) };
    Err(Failure::Usage(format!(
        "--target {url}: {address} is not this machine, and a search overloads what it searches; \
         run it where a scheduler of your own runs"
    )))
}

/// The scheduler that was named, or one with this scenario's rules.
fn target(args: &Capacity, changes: &[String]) -> Result<Target, Failure> {
    if let Some(url) = &args.target {
        return Ok(Target::Running(url.as_str().into()));
    }
    let changes: Vec<String> = args.file.overrides.iter().chain(changes).cloned().collect();
    Ok(Target::Own(server_of(&args.file.file, &changes, None)?))
}

fn row(
    combination: &Combination,
    predicted: &Largest,
    measured: &Largest,
    beyond: &str,
) -> [Cell; 7] {
    let open = |largest: &Largest| if largest.open { " or more" } else { "" };
    let shown = |largest: &Largest| {
        let known = lingua_reports::number::decimal(largest.value);
        Cell::new(format!("{known}{}", open(largest)), largest.value.to_string())
    };
    let difference = (measured.value > 0.0).then(|| predicted.value / measured.value - 1.0);
    let policy = predicted.run.setting.get("policy").map_or("", String::as_str);
    let beyond = if measured.open { "not reached" } else { beyond };
    [
        Cell::from(u64::from(combination.nodes)),
        Cell::from(policy),
        shown(predicted),
        shown(measured),
        difference.map_or_else(|| Cell::new("–", ""), Cell::percent),
        Cell::from(predicted.run.first_limit.as_str()),
        Cell::from(beyond),
    ]
}
