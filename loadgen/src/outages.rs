//! The scheduler's own crashes: it is killed, started again, and its peers come back.

use std::sync::Arc;
use std::time::Duration;

use lingua_reports::load::Outage;
use lingua_scenarios::{FaultKind, Scenario};
use tokio::time::sleep;

use crate::child::Scheduler;
use crate::context::{Context, Phase};
use crate::pacer::Nanos;

/// How long it is down where the file does not say.
const DOWN: Nanos = 5_000_000_000;
const LOOK: Duration = Duration::from_millis(20);
/// Share of the sockets that must be back.
const BACK: f64 = 0.99;

/// Does what the scenario plans with a scheduler of the run's own; it never ends by itself.
pub(crate) async fn suffer(
    context: &Arc<Context>,
    scenario: &Scenario,
    scheduler: Option<&mut Scheduler>,
    outages: &mut Vec<Outage>,
) {
    let mut planned: Vec<(Nanos, Nanos)> = scenario
        .faults
        .iter()
        .filter(|fault| fault.kind == FaultKind::InstanceCrash)
        .map(|fault| (fault.at.nanos(), fault.lasts.map_or(DOWN, |lasts| lasts.nanos())))
        .collect();
    planned.sort_unstable();
    let mut phase = context.phase.subscribe();
    let running = phase.wait_for(|phase| matches!(phase, Phase::Running(_))).await;
    let start = match running.as_deref() {
        Ok(Phase::Running(start)) => *start,
        _ => return std::future::pending().await,
    };
    drop(running);
    drop(phase);
    let mut alarm = context.pacer.alarm();
    if let Some(scheduler) = scheduler {
        for (at, lasts) in planned {
            alarm.until(start + at).await;
            let open = held(context);
            let killed = context.clock.now();
            scheduler.kill();
            alarm.until(start + at + lasts).await;
            let restarted = scheduler.restart().await;
            let up = context.clock.now();
            let seconds = |span: Nanos| span as f64 / 1e9;
            // Told before the wait, which the end of the run may cut off.
            outages.push(Outage {
                at_s: seconds(killed - start),
                down_s: seconds(up - killed),
                sockets: open,
                back_s: None,
            });
            if restarted.is_err() {
                break;
            }
            while (held(context) as f64) < open as f64 * BACK {
                sleep(LOOK).await;
            }
            if let Some(outage) = outages.last_mut() {
                outage.back_s = Some(seconds(context.clock.now() - up));
            }
        }
    }
    std::future::pending::<()>().await;
}

fn held(context: &Context) -> u64 {
    let (nodes, sessions) = context.ledger.books();
    nodes.held + sessions.held
}
