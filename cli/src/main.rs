//! The `lingua` command: arguments in, exit code out.

mod args;
mod commands;
mod failure;
mod machine;
mod progress;
#[cfg(feature = "live")]
mod settings;
mod trace;
mod variants;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::{Code, Failure, tell};

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.command {
        Command::Sim(args) => commands::sim::run(&args),
        Command::Capacity(args) => commands::capacity::run(&args),
        Command::Pools(args) => commands::pools::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Schema => commands::check::schema(),
        Command::Publish(args) => commands::publish::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Merge(args) => commands::merge::run(&args),
        Command::Theory(args) => commands::theory::run(&args),
        Command::ClaimPlan(args) => commands::claim_plan::run(&args),
        Command::Import(args) => commands::import::run(&args),
        #[cfg(feature = "live")]
        Command::Live(command) => commands::live::run(command),
        #[cfg(not(feature = "live"))]
        Command::NotBuilt(_) => Err(Failure::Usage(args::SIMULATES_ONLY.to_owned())),
        Command::EngineBench(args) => commands::engine_bench::run(&args),
    };
    match result {
        Ok(code) => code.into(),
        Err(Failure::BrokenPipe) => Code::Fine.into(),
        Err(failure) => {
            tell(&failure.to_string());
            failure.code().into()
        }
    }
}
