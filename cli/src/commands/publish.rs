//! `lingua publish`: the capacity tables of the documentation, produced from committed scenarios.

mod bottleneck;
mod choice_cases;
mod choices;
mod instances;
mod live;
mod one_instance;
mod pools;
mod replicated;

use crate::args::Publish;
use crate::failure::{Code, Failure, print};
use live::Measured;

pub(crate) fn run(args: &Publish) -> Result<Code, Failure> {
    let threads = usize::from(args.threads);
    let scenarios = args.scenarios.as_path();
    let measured = Measured::read(scenarios)?;
    let mut page = String::from(HEAD);
    page.push_str(&one_instance::table(scenarios, threads, &measured)?);
    page.push_str(&measured.below("A"));
    page.push_str(&bottleneck::table(scenarios, threads)?);
    page.push_str(&measured.below("B"));
    page.push('\n');
    page.push_str(&instances::table(scenarios, threads, &measured)?);
    page.push_str(&measured.below("D"));
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
itself is checked against theory (`lingua theory`). Figures after ± are half the 95 % confidence \
interval, from replications with the seeds that the row's command names; figures without it are \
means over the same seeds.\n\n";

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
