//! What every peer shares: the model's constants, the arguments, the check and the line printed.

use std::process::ExitCode;
use std::time::Instant;

/// Servers of the M/M/c model.
pub const SERVERS: u32 = 100;
/// Arrivals per second.
pub const LAMBDA: f64 = 90.0;
/// Completions per second and server.
pub const MU: f64 = 1.0;
/// Mean wait in seconds by Erlang C (`mmc_Wq`, c = 100, A = 90).
pub const THEORY_WAIT: f64 = 0.02169404809;

/// Standard error of the mean wait times the square root of the customers, in seconds.
/// Measured on `hand_loop`: 1.43 over 121 seeds of 10^6 customers, 1.57 over 16 of 10^7.
/// Neighbours' waits are strongly correlated: one wait alone deviates by 0.06 s.
const ERROR_SCALE: f64 = 1.5;
/// How many standard errors off still passes; were the mean normal, a right engine would miss once
/// in 15,000 runs.
const ERRORS_ALLOWED: f64 = 4.0;

/// One run: its arguments and the moment it began.
pub struct Run {
    name: &'static str,
    pub customers: u64,
    pub seed: u64,
    start: Instant,
}

impl Run {
    /// Reads `CUSTOMERS [SEED]`; call it first in `main`, the clock starts here.
    #[must_use]
    pub fn from_args(name: &'static str) -> Self {
        let start = Instant::now();
        let mut args = std::env::args().skip(1).map(|arg| {
            arg.parse().unwrap_or_else(|_| {
                eprintln!("usage: {name} CUSTOMERS [SEED]");
                std::process::exit(2)
            })
        });
        let customers = args.next().unwrap_or(1_000_000).max(1);
        Self { name, customers, seed: args.next().unwrap_or(1), start }
    }

    /// Prints the line, then judges the mean wait and the event count.
    #[must_use]
    pub fn report(&self, events: u64, mean_wait: f64) -> ExitCode {
        let wall = self.start.elapsed().as_secs_f64();
        let rate = events as f64 / wall;
        let Self { name, customers, .. } = *self;
        println!("{name} {customers} {events} {mean_wait:.8} {wall:.4} {rate:.0}");
        if events != 2 * customers {
            eprintln!("{name}: {events} events for {customers} customers, expected two each");
            return ExitCode::FAILURE;
        }
        let tolerance = ERRORS_ALLOWED * ERROR_SCALE / (customers as f64).sqrt();
        if (mean_wait - THEORY_WAIT).abs() > tolerance {
            eprintln!("{name}: mean wait {mean_wait:.6} is not {THEORY_WAIT:.6} ± {tolerance:.6}");
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}
