//! How a run ended: by a broken invariant, void, short of an expectation, or well.

use lingua_reports::facts;
use lingua_reports::metrics::{self, Bound};
use lingua_reports::run::{Run, Verdict};
use lingua_scenarios::Scenario;

use crate::Broken;

pub(crate) fn judge(
    run: &mut Run,
    scenario: &Scenario,
    broken: Option<&Broken>,
    void: Option<String>,
) {
    let bounds: Vec<Bound> = scenario
        .expect
        .iter()
        .map(|expect| Bound { metric: expect.metric.clone(), min: expect.min, max: expect.max })
        .collect();
    run.expectations = metrics::evaluate(run, &bounds);
    if let Some(broken) = broken {
        run.verdict = Verdict::InvariantBroken;
        run.reasons.push(format!("{} at {:?}: {}", broken.invariant, broken.at, broken.message));
    } else if let Some(reason) = void {
        run.verdict = Verdict::Void;
        run.reasons.push(reason);
    } else if run.expectations.iter().any(|expectation| !expectation.met) {
        run.verdict = Verdict::ExpectationFailed;
        let missed: Vec<_> = run.expectations.iter().filter(|e| !e.met).cloned().collect();
        for missed in &missed {
            run.reasons.push(format!("{} should be {}", missed.metric, facts::demand(missed)));
        }
    }
}
