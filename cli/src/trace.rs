//! A run, with a trace of it where one is asked for.

use std::fs::File;

use lingua_reports::number;
use lingua_scenarios::Scenario;
use lingua_sim::{Finished, simulate_traced};

use crate::args::Sim;
use crate::failure::{Failure, tell};
use crate::progress::Bar;

/// Runs a scenario; the text tells where its trace is, and is empty without one.
pub(crate) fn simulate(
    args: &Sim,
    scenario: &Scenario,
    sha256: &str,
) -> Result<(Finished, String), Failure> {
    let mut bar = Bar::new(&scenario.title);
    let Some(path) = &args.trace else {
        return Ok((lingua_sim::simulate(scenario, sha256, &mut bar)?, String::new()));
    };
    let file = File::create(path).map_err(|error| {
        let path = path.display();
        Failure::Usage(format!("--trace {path}: {error}; name a file that can be written"))
    })?;
    let limit = args.trace_limit;
    let run = simulate_traced(scenario, sha256, &mut bar, Box::new(file), limit);
    let (finished, traced) = run?;
    drop(bar);
    if traced.left_out > 0 {
        tell(&format!(
            "warning: the trace is full: {} events left out after the first {}; raise \
             --trace-limit or shorten the run with --set duration=…",
            number::count(traced.left_out),
            number::count(traced.events)
        ));
    }
    let events = number::count(traced.events);
    let told = format!("trace: {} ({events} events, open it at ui.perfetto.dev)\n", path.display());
    Ok((finished, told))
}
