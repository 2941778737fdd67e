//! `lingua compare`: two runs that met the same arrivals.

use lingua_reports::compare::{self, MaxRegress};
use lingua_reports::files;

use crate::args::Compare;
use crate::failure::{Code, Failure, print};

pub(crate) fn run(args: &Compare) -> Result<Code, Failure> {
    let limits = args.max_regress.iter().map(|limit| limit.parse());
    let limits: Vec<MaxRegress> = limits.collect::<Result<_, _>>()?;
    let a = files::read_run(&args.a)?;
    let b = files::read_run(&args.b)?;
    let comparison = compare::compare(&a, &b)?;
    print(&format!("A: {}\nB: {}\n\n", args.a.display(), args.b.display()))?;
    print(&comparison.table().to_text(100))?;
    let regressions = comparison.regressions(&limits);
    for regression in &regressions {
        print(&format!("! {regression}\n"))?;
    }
    Ok(if regressions.is_empty() { Code::Fine } else { Code::ExpectationFailed })
}
