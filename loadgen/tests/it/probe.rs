//! The probe finds what was planted, and nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use lingua_loadgen::probe::{self, Commands, Plan, Report, Target, Times, Verdict};

use crate::faulty::{Fault, Faulty, Pace};

/// Waits that fit [`Pace::brisk`].
fn brisk() -> Times {
    Times {
        prompt: Duration::from_secs(5),
        warm_up: Duration::from_secs(20),
        heartbeat: Duration::from_millis(300),
        dispatch: Duration::from_secs(3),
        idle_gap: Duration::from_millis(300),
        silence: Duration::from_millis(2_500),
        pause: Duration::from_millis(900),
        cut: Duration::from_secs(5),
        settle: Duration::from_secs(20),
        presence: Duration::from_millis(2_500),
        load: Duration::from_secs(3),
        page: Duration::from_secs(3),
    }
}

async fn probed(scheduler: &Faulty, names: &[String]) -> Report {
    let plan = Plan {
        target: Target::resolve(&scheduler.url()).await.unwrap(),
        behaviours: probe::choose(names).unwrap(),
        times: brisk(),
        commands: Commands::default(),
    };
    probe::run(&plan, |_| {}).await.unwrap()
}

fn failed(report: &Report) -> BTreeSet<&'static str> {
    let failed = |answer: &&probe::Answer| answer.verdict == Verdict::Fail;
    report.behaviours.iter().filter(failed).map(|answer| answer.name).collect()
}

#[tokio::test]
async fn try_all() {
    let only: Vec<String> =
        std::env::var("ONLY").map_or(vec![], |o| o.split(',').map(str::to_owned).collect());
    for fault in std::iter::once(None).chain(Fault::ALL.iter().map(Some)) {
        if let Ok(want) = std::env::var("FAULT") {
            if format!("{fault:?}") != want {
                continue;
            }
        }
        let scheduler =
            Faulty::start_at(fault.map(std::slice::from_ref).unwrap_or(&[]), Pace::brisk()).await;
        let report = probed(&scheduler, &only).await;
        println!("{fault:?}: {} ms {:?}", report.took_ms, failed(&report));
        for a in &report.behaviours {
            if a.verdict != Verdict::Pass {
                println!("   {} {} {} ({} ms)", a.name, a.verdict, a.found, a.took_ms);
            }
        }
        if fault.is_none() {
            for a in &report.behaviours {
                println!("   {} {} ms", a.name, a.took_ms);
            }
        }
    }
}
