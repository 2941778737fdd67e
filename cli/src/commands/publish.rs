//! `lingua publish`: the capacity tables of the documentation, produced from committed scenarios.

mod bottleneck;
mod choices;
mod instances;
mod pools;

use std::path::Path;

use lingua_reports::run::Run;
use lingua_scenarios::{Loaded, Scenario};
use lingua_sim::simulate_all;

use crate::args::Publish;
use crate::failure::{Code, Failure, print};
use crate::progress::Bar;

pub(crate) fn run(args: &Publish) -> Result<Code, Failure> {
    let threads = usize::from(args.threads);
    let scenarios = args.scenarios.as_path();
    let mut page = String::from(HEAD);
    page.push_str(&bottleneck::one_instance(scenarios)?);
    page.push_str(&bottleneck::one_factor(scenarios, threads)?);
    page.push('\n');
    page.push_str(&instances::table(scenarios, threads)?);
    page.push('\n');
    page.push_str(&pools::table(scenarios)?);
    page.push_str(&choices::table(scenarios, threads)?);
    std::fs::write(&args.out, page)
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.out.display())))?;
    print(&format!("written: {}\n", args.out.display()))?;
    Ok(Code::Fine)
}

const HEAD: &str = "# Capacity\n\n\
Produced by `lingua publish` from the scenarios of this project; no figure is typed in. Simulated \
figures stand on *assumed* costs (each scenario's `[costs]`) until the server's benches measure \
them: the shape of a curve can be trusted, its place on the axis only as far as the costs. Queueing \
itself is checked against theory (`lingua theory`). All seeds are 1; `lingua sim FILE --seeds \
1..20` gives 95 % intervals.\n\n";

/// One run of a table: its name and what it changes.
struct Case {
    name: String,
    overrides: Vec<String>,
}

impl Case {
    fn new(name: impl Into<String>, overrides: &[&str]) -> Self {
        let overrides = overrides.iter().map(|&text| text.to_owned()).collect();
        Self { name: name.into(), overrides }
    }
}

/// Runs all cases of one file, several at a time.
fn run_cases(file: &Path, cases: &[Case], threads: usize) -> Result<Vec<Run>, Failure> {
    let loaded = Scenario::load(file, &[])?;
    let changed: Vec<Loaded> =
        cases.iter().map(|case| loaded.with(&case.overrides)).collect::<Result<_, _>>()?;
    let scenarios: Vec<Scenario> = changed.into_iter().map(|loaded| loaded.scenario).collect();
    let mut bar = Bar::new(&loaded.scenario.title);
    let runs = simulate_all(&scenarios, &loaded.sha256, threads, &mut bar)?;
    Ok(runs.into_iter().map(|finished| finished.artifacts.run).collect())
}
