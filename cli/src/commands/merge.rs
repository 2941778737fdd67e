//! `lingua merge`: the shards of one measured run put together.

use std::io::IsTerminal;

use lingua_reports::merge::{Part, merge};
use lingua_reports::{files, terminal};

use crate::args::Merge;
use crate::failure::{Code, Failure, print};

pub(crate) fn run(args: &Merge) -> Result<Code, Failure> {
    let mut parts = Vec::with_capacity(args.dirs.len());
    for dir in &args.dirs {
        parts.push(Part { place: dir.clone(), artifacts: files::read_artifacts(dir)? });
    }
    let merged = merge(parts)?;
    files::write_dir(&args.out, &merged)?;
    print(&terminal::summary(&merged.run, std::io::stdout().is_terminal()))?;
    let out = args.out.display();
    print(&format!("\n{} shards: {out} (open report.html)\n", args.dirs.len()))?;
    Ok(merged.run.verdict.into())
}
