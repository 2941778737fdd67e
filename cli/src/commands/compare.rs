//! `lingua compare`: two runs that met the same arrivals.

use lingua_reports::{compare, files};

use crate::args::Compare;
use crate::failure::{Code, Failure, print};

pub(crate) fn run(args: &Compare) -> Result<Code, Failure> {
    let a = files::read_run(&args.a)?;
    let b = files::read_run(&args.b)?;
    let table = compare::table(&a, &b)?;
    print(&format!("A: {}\nB: {}\n\n", args.a.display(), args.b.display()))?;
    print(&table.to_text(100))?;
    let mut regressed = false;
    for limit in &args.max_regress {
        if let Some(sentence) = compare::regression(&a, &b, limit)? {
            print(&format!("! {sentence}\n"))?;
            regressed = true;
        }
    }
    Ok(if regressed { Code::ExpectationFailed } else { Code::Fine })
}
