//! `lingua engine-bench`: the event queue on the M/M/c model, one line to compare.

use std::time::Instant;

use lingua_sim::engine;

use crate::args::EngineBench;
use crate::failure::{Code, Failure, print};

/// Mean wait that theory gives (Erlang C at c = 100, A = 90).
const MEAN_WAIT: f64 = 0.021_694_048_09;

pub(crate) fn run(args: &EngineBench) -> Result<Code, Failure> {
    let started = Instant::now();
    let run = engine::mmc(args.customers, args.seed);
    let wall_s = started.elapsed().as_secs_f64();
    let line = format!(
        "lingua {} {} {:.6} {wall_s:.3} {:.0}\n",
        args.customers,
        run.events,
        run.mean_wait,
        run.events as f64 / wall_s
    );
    print(&line)?;
    // Four standard errors; the estimate's spread falls with the root of the customers.
    let tolerance = 4.0 * 1.5 / (args.customers as f64).sqrt();
    if (run.mean_wait - MEAN_WAIT).abs() > tolerance {
        return Err(Failure::Usage(format!(
            "mean wait {:.5} is not theory's {MEAN_WAIT:.5} within {tolerance:.5}",
            run.mean_wait
        )));
    }
    Ok(Code::Fine)
}
