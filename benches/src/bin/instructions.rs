//! The instruction gate: counts every subject under valgrind and compares with the baseline.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lingua_benches::gate::{Comparison, Figures, GateError, TOLERANCE, Verdict, callgrind};
use lingua_benches::subjects::{self, Entry};

const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/baseline.toml");

/// A subject is slower, or dispatch grows too much with the nodes.
const TOO_SLOW: u8 = 3;

/// Nothing could be compared.
const CANNOT_TELL: u8 = 2;

/// Count the instructions of the hot paths under valgrind and compare them with the baseline.
///
/// Exit codes: 0 fine, 2 nothing could be compared, 3 slower than the baseline allows.
#[derive(Debug, Parser)]
#[command(name = "instructions", args_conflicts_with_subcommands = true)]
struct Args {
    /// Write the counts down as the new baseline
    #[arg(long, conflicts_with = "plant")]
    update: bool,
    /// Plant a slowdown of 10 % in every subject: the gate must end with 3
    #[arg(long)]
    plant: bool,
    /// The committed counts
    #[arg(long, value_name = "FILE", default_value = BASELINE)]
    baseline: PathBuf,
    #[command(subcommand)]
    inner: Option<Inner>,
}

#[derive(Debug, Subcommand)]
enum Inner {
    /// Run one subject, as valgrind does
    #[command(hide = true)]
    Subject {
        #[arg(value_name = "NAME", value_parser = entry)]
        entry: Entry,
        #[arg(long)]
        plant: bool,
    },
}

fn entry(name: &str) -> Result<Entry, String> {
    subjects::find(name).ok_or_else(|| "no subject has this name".to_owned())
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(Inner::Subject { entry, plant }) = args.inner {
        callgrind::run(&entry, plant);
        return ExitCode::SUCCESS;
    }
    if cfg!(debug_assertions) {
        eprintln!("error: counts of a debug build say nothing: run with --release");
        return CANNOT_TELL.into();
    }
    match gate(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => TOO_SLOW.into(),
        Err(error) => {
            eprintln!("error: {error}");
            CANNOT_TELL.into()
        }
    }
}

/// Whether all is as fast as it was.
fn gate(args: &Args) -> Result<bool, GateError> {
    // A baseline that cannot be compared is told before the counting, which takes a minute.
    let mut now = Figures::of_this_build();
    let baseline = if args.update { None } else { Some(Figures::read(&args.baseline)?) };
    if let Some(baseline) = &baseline {
        baseline.check_compiler(&now)?;
    }
    for entry in subjects::ALL {
        let count = callgrind::count(&entry, args.plant)?;
        now.add(entry.name, count, entry.runs * entry.operations);
    }
    let Some(baseline) = baseline else {
        now.write(&args.baseline)?;
        print!("{}", Comparison::new(&now, &now)?);
        println!("written to {}", args.baseline.display());
        return Ok(true);
    };
    let comparison = Comparison::new(&baseline, &now)?;
    print!("{comparison}");
    let (slower, of) = (comparison.count(Verdict::Slower), comparison.rows().len());
    if args.plant && slower < of {
        return Err(GateError::Blind { found: slower, of });
    }
    advise(slower, comparison.count(Verdict::Faster));
    Ok(comparison.passes())
}

fn advise(slower: usize, faster: usize) {
    let percent = TOLERANCE * 100.0;
    if slower > 0 {
        println!(
            "{slower} more than {percent} % above the baseline: mend it, or renew the baseline\n\
             with --update and say in the change why it is worth the price"
        );
    }
    if faster > 0 {
        println!(
            "{faster} more than {percent} % below the baseline: renew it with --update, or the\n\
             gain can be lost unseen"
        );
    }
}
