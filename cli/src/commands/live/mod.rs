//! The commands that serve on sockets or speak to a scheduler over them: feature `live`.

mod calibrate;
mod load;
mod probe;
mod redis;
mod serve;
pub(super) mod target;
pub(super) mod watch;

use crate::args::LiveCommand;
use crate::failure::{Code, Failure};

pub(crate) fn run(command: LiveCommand) -> Result<Code, Failure> {
    match command {
        LiveCommand::Calibrate(args) => calibrate::run(&args),
        LiveCommand::Load(args) => load::run(&args),
        LiveCommand::Serve(args) => serve::run(&args),
        LiveCommand::Redis(args) => redis::run(&args),
        LiveCommand::Probe(args) => probe::run(&args),
    }
}
