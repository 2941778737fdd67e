//! `lingua compare`: two runs that met the same arrivals, or two sets of them seed by seed; or a
//! prediction and its measurement.

use std::path::Path;

use lingua_reports::compare::{self, MaxRegress};
use lingua_reports::prediction::predict;
use lingua_reports::run::{Kind, Run, Verdict};
use lingua_reports::{files, number};

use crate::args::Compare;
use crate::failure::{Code, Failure, print, tell};

pub(crate) fn run(args: &Compare) -> Result<Code, Failure> {
    let limits = args.max_regress.iter().map(|limit| limit.parse());
    let limits: Vec<MaxRegress> = limits.collect::<Result<_, _>>()?;
    let a = files::read_runs(&args.a)?;
    let b = files::read_runs(&args.b)?;
    warn(&args.a, &a);
    warn(&args.b, &b);
    if let (&[Run { kind: Kind::Sim, .. }], &[Run { kind: Kind::Load, .. }]) = (&a[..], &b[..]) {
        return against_measurement(args);
    }
    if let Some(out) = &args.out {
        return Err(Failure::Usage(format!(
            "--out {}: only a simulated run A against a measured run B leaves files",
            out.display()
        )));
    }
    let comparison = compare::compare_paired(&a, &b)?;
    let regressions = comparison.regressions(&limits)?;
    print(&format!("A: {}\nB: {}\n", args.a.display(), args.b.display()))?;
    if a.len() > 1 {
        let seeds: Vec<u64> = a.iter().map(|run| run.seed).collect();
        print(&format!(
            "{} pairs, seeds {}; * the 95 % interval of the paired difference leaves out zero\n",
            a.len(),
            number::ranges(&seeds)
        ))?;
    }
    print("\n")?;
    print(&comparison.table().to_text(100))?;
    for regression in &regressions {
        print(&format!("! {regression}\n"))?;
    }
    Ok(if regressions.is_empty() { Code::Fine } else { Code::ExpectationFailed })
}

/// A prediction beside its measurement, which has rules of its own.
fn against_measurement(args: &Compare) -> Result<Code, Failure> {
    if !args.max_regress.is_empty() {
        return Err(Failure::Usage(
            "--max-regress: a measured run cannot get worse than its prediction; leave it out"
                .to_owned(),
        ));
    }
    let (predicted, measured) = (files::read_artifacts(&args.a)?, files::read_artifacts(&args.b)?);
    let prediction = predict(&predicted, &measured)?;
    print(&format!("{}\n{}\n\n", prediction.scenario, prediction.headline()))?;
    print(&prediction.table().to_text(100))?;
    print(&format!("\n{}\n", prediction.notes.join("\n")))?;
    if let Some(out) = &args.out {
        prediction.write_dir(out)?;
        print(&format!("files: {} (open comparison.html)\n", out.display()))?;
    }
    Ok(if prediction.agrees() { Code::Fine } else { Code::ExpectationFailed })
}

/// Tells which runs are not to be trusted.
fn warn(path: &Path, runs: &[Run]) {
    for run in runs {
        let what = match run.verdict {
            Verdict::Ok | Verdict::ExpectationFailed => continue,
            Verdict::Void => "is void",
            Verdict::InvariantBroken => "ended with a broken invariant",
        };
        tell(&format!("warning: {}, seed {} {what}: do not trust it", path.display(), run.seed));
    }
}
