//! `lingua report`: the summary of a finished run again.

use std::io::IsTerminal;

use lingua_reports::{files, terminal};

use crate::args::Report;
use crate::failure::{Code, Failure, print};

pub(crate) fn run(args: &Report) -> Result<Code, Failure> {
    let run = files::read_run(&args.dir)?;
    print(&terminal::summary(&run, std::io::stdout().is_terminal()))?;
    Ok(Code::Fine)
}
