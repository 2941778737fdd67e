//! One run from its first socket to its record.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lingua_reports::run::Artifacts;
use lingua_scenarios::streams::Streams;
use lingua_scenarios::{Loaded, Scenario};
use tokio::time::{Instant, interval, sleep, timeout};

use crate::child::Scheduler;
use crate::context::{Context, Phase, Setup};
use crate::observer::Observer;
use crate::pacer::{Clock, Nanos, Pacer};
use crate::target::Address;
use crate::{LoadError, Options, Profile, Target, fleet, report, talkers};

/// Longest wait for all sockets to open before the plan begins without the rest.
const CONNECT: Duration = Duration::from_secs(120);
/// Longest wait for all sockets to close.
const CLOSE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// An answer that the scheduler owes by its deadline may be so late on its way.
const GRACE: Nanos = 5_000_000_000;

pub(crate) async fn run(loaded: &Loaded, options: &Options) -> Result<Artifacts, LoadError> {
    let scenario = &loaded.scenario;
    let (scheduler, address) = match &options.target {
        Target::Own(program) => {
            let scheduler = Scheduler::start(program).await?;
            let address = Address::of(scheduler.address);
            (Some(scheduler), address)
        }
        Target::Url(url) => (None, Address::resolve(url).await?),
    };
    let deadline = deadline(scenario, options.profile);
    let context = Arc::new(Context::new(Setup {
        pacer: Pacer::start(Clock::start())?,
        streams: Streams::new(scenario.seed),
        profile: options.profile,
        run: run_id(),
        speed: options.speed,
        duration: scenario.duration.nanos(),
        observer: Observer::new(scenario, deadline),
        base: address.base,
        target: address.socket,
    }));
    fleet::start(&context, scenario);
    talkers::start(&context, scenario, options.codec)?;
    connected(&context, scenario).await;
    sleep(options.profile.warm_up()).await;
    let start = context.clock.now();
    let (warmup, duration) = (scenario.warmup.nanos(), scenario.duration.nanos());
    context.observer().start(start, warmup, duration);
    context.phase.send_replace(Phase::Running(start));
    watch(&context, start + duration, deadline).await;
    let books = context.ledger.books();
    context.observer().settle_nodes(context.clock.now());
    context.phase.send_replace(Phase::Closing);
    // Who does not close in time is closed with the runtime.
    let _ = timeout(CLOSE, context.phase.closed()).await;
    if let Some(scheduler) = scheduler {
        scheduler.stop().await;
    }
    let observer = std::mem::replace(&mut *context.observer(), Observer::new(scenario, deadline));
    Ok(report::artifacts(loaded, options, observer, books))
}

/// How long an utterance may wait for its final message.
fn deadline(scenario: &Scenario, profile: Profile) -> Nanos {
    let own = scenario.scheduler.deadline.nanos() + GRACE;
    match profile {
        Profile::Lingua => own,
        // Its jobs take seconds from the last chunk to the node.
        Profile::Deployed => own.max(120_000_000_000),
    }
}

/// Waits until all sockets that the scenario wants are open.
async fn connected(context: &Context, scenario: &Scenario) {
    let patience = Instant::now() + CONNECT;
    let nodes: u64 = scenario.nodes.iter().map(|group| u64::from(group.count)).sum();
    let talkers = scenario.sessions.iter().map(|group| u64::from(group.count.unwrap_or(0)));
    let bare = scenario.arrivals.iter().map(|group| talkers::sockets_of(scenario, group));
    let sessions = talkers.chain(bare.map(u64::from)).sum::<u64>();
    while Instant::now() < patience {
        let (of_nodes, of_sessions) = context.ledger.books();
        if of_nodes.held >= nodes && of_sessions.held >= sessions {
            return;
        }
        sleep(LOOK).await;
    }
}

/// Keeps the time series until the plan is over and all answers are there, or overdue.
async fn watch(context: &Context, end: Nanos, deadline: Nanos) {
    let mut looks = interval(LOOK);
    let mut expired = 0;
    loop {
        looks.tick().await;
        let now = context.clock.now();
        let mut observer = context.observer();
        while observer.series.due() <= now.min(end) {
            let sessions = context.ledger.books().1.held;
            observer.close_row(sessions);
        }
        if now >= expired {
            observer.expire(now);
            expired = now + 1_000_000_000;
        }
        let quiet = observer.open == 0 && !observer.awaits_cuts();
        if now >= end && (quiet || now >= end + deadline) {
            observer.expire(now);
            observer.finish();
            return;
        }
    }
}

/// A number that no other run has by chance.
fn run_id() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed =
        lingua_scenarios::streams::mix(since.as_nanos() as u64 ^ u64::from(std::process::id()));
    mixed as u32
}
