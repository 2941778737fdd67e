//! One run from its first socket to its record.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lingua_reports::load::Sockets;
use lingua_reports::run::Artifacts;
use lingua_scenarios::streams::Streams;
use lingua_scenarios::{Loaded, Scenario};
use tokio::time::{Instant, sleep, timeout};

use crate::child::Scheduler;
use crate::context::{Context, Phase, Setup};
use crate::gauge::Gauge;
use crate::live::{Snapshot, TOLD, Watcher};
use crate::observer::Observer;
use crate::pacer::{Clock, NEVER, Nanos, Pacer};
use crate::private::Disguise;
use crate::report::{self, Measured};
use crate::{
    LoadError, Options, Profile, Target, fleet, outages, plan, preflight, run_id, talkers,
};

/// Longest wait for all sockets to open before the plan begins without the rest.
const CONNECT: Duration = Duration::from_secs(120);
/// A target at which no socket opens for so long is unreachable.
const UNREACHABLE: Duration = Duration::from_secs(5);
/// Longest wait for all sockets to close.
const CLOSE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// An answer that the scheduler owes by its deadline may be so late on its way.
const GRACE: Nanos = 5_000_000_000;
const SECOND: Nanos = 1_000_000_000;

pub(crate) async fn run(
    loaded: &Loaded,
    options: &Options,
    watcher: &mut dyn Watcher,
) -> Result<Artifacts, LoadError> {
    let disguise = options.private_languages.then(|| Disguise::of(&loaded.scenario));
    let mut scenario = loaded.scenario.clone();
    if let Some(disguise) = &disguise {
        disguise.put_on(&mut scenario);
    }
    let scenario = &scenario;
    let wanted = Wanted::of(scenario, options);
    let ip = match &options.target {
        Target::Own(_) => Ipv4Addr::LOCALHOST.into(),
        Target::Running(urls) => urls.resolve()?.first().socket.ip(),
    };
    let preflight = preflight::prepare(wanted.all(), ip);
    let deadline = deadline(scenario, options.profile);
    let mut measured = Measured { preflight, ..Measured::default() };
    let observer = Observer::new(scenario, deadline, options.shard, options.profile);
    if let Some(shortage) = preflight::shortage(&preflight) {
        measured.stopped = Some(shortage);
        return Ok(report::artifacts(loaded, options, observer, measured));
    }
    let (mut scheduler, addresses) = options.target.reach().await?;
    let context = Arc::new(Context::new(Setup {
        pacer: Pacer::start(Clock::start())?,
        streams: Streams::new(scenario.seed),
        profile: options.profile,
        run: run_id::of(loaded, options),
        speed: options.speed,
        shard: options.shard,
        duration: scenario.duration.nanos(),
        nodes: u32::try_from(wanted.nodes).unwrap_or(u32::MAX),
        sockets_per_address: (preflight::sockets_per_address() / largest_room(scenario)).max(1),
        observer,
        addresses,
    }));
    let end = Watch { context: &context, wanted, deadline, watcher, disguise: disguise.as_ref() };
    measured = end.whole(scenario, options, scheduler.as_mut(), measured).await?;
    if let Some(scheduler) = scheduler {
        scheduler.stop().await;
    }
    let empty = Observer::new(scenario, deadline, options.shard, options.profile);
    let mut observer = std::mem::replace(&mut *context.observer(), empty);
    if let Some(disguise) = &disguise {
        observer.pairs.iter_mut().for_each(|count| disguise.take_off(&mut count.pair));
    }
    Ok(report::artifacts(loaded, options, observer, measured))
}

/// Sockets that a scenario wants from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Of nodes.
    pub nodes: u64,
    /// Of sessions.
    pub sessions: u64,
}

impl Wanted {
    /// What this shard of a run wants.
    pub fn of(scenario: &Scenario, options: &Options) -> Self {
        let shard = options.shard;
        let nodes = scenario.nodes.iter().map(|group| u64::from(group.count)).sum();
        let mut before = 0;
        let talkers = scenario.sessions.iter().map(|group| {
            let until = before + u64::from(group.count.unwrap_or(0));
            let own = shard.share(until) - shard.share(before);
            before = until;
            // Who speaks, and the listeners of the room.
            own * (1 + group.listeners.len() as u64)
        });
        let talkers: u64 = talkers.sum();
        let bare =
            scenario.arrivals.iter().map(|group| talkers::sockets_of(scenario, group, options));
        let bare: u64 = bare.map(u64::from).sum();
        Self { nodes: shard.share(nodes), sessions: talkers + bare }
    }

    /// Utterances per second that the scenario comes to at most, sessions that come later apart.
    pub fn peak_rate(scenario: &Scenario, options: &Options) -> f64 {
        let talk = scenario.sessions.iter().map(|group| {
            let cycle = group.utterance.mean() + group.gap.mean();
            f64::from(group.count.unwrap_or(0)) / cycle.max(1e-9) * options.speed
        });
        let bare = scenario.arrivals.iter().map(|group| plan::rate_of(scenario, group).max());
        talk.chain(bare).sum::<f64>() / f64::from(options.shard.count())
    }

    /// Of both kinds.
    pub fn all(self) -> u64 {
        self.nodes + self.sessions
    }
}

/// A run in progress, looked at a few times a second.
struct Watch<'a> {
    context: &'a Arc<Context>,
    wanted: Wanted,
    deadline: Nanos,
    watcher: &'a mut dyn Watcher,
    disguise: Option<&'a Disguise>,
}

impl Watch<'_> {
    async fn whole(
        mut self,
        scenario: &Scenario,
        options: &Options,
        scheduler: Option<&mut Scheduler>,
        mut measured: Measured,
    ) -> Result<Measured, LoadError> {
        let context = self.context.clone();
        let before = Gauge::read();
        fleet::start(&context, scenario);
        talkers::start(&context, scenario, options, self.disguise)?;
        let interrupted = interrupted();
        tokio::pin!(interrupted);
        let work = async {
            if !self.connect().await {
                return;
            }
            measured.kib_per_socket = self.kib_per_socket(&before);
            sleep(options.profile.warm_up().max(until(options.start_at))).await;
            self.plan(scenario, &mut measured).await;
        };
        let mut down = Vec::new();
        tokio::select! {
            () = work => {}
            () = outages::suffer(&context, scenario, scheduler, &mut down) => {}
            () = &mut interrupted => measured.stopped = Some("interrupted".into()),
        }
        measured.outages = down;
        measured.books = context.ledger.books();
        context.observer().settle_nodes(context.clock.now());
        context.phase.send_replace(Phase::Closing);
        // Who does not close in time is closed with the runtime.
        let _ = timeout(CLOSE, context.phase.closed()).await;
        context.observer().finish();
        Ok(measured)
    }

    /// Waits until all sockets are open; tells whether any is.
    async fn connect(&mut self) -> bool {
        let start = Instant::now();
        let mut told = 0;
        while start.elapsed() < CONNECT {
            let (nodes, sessions) = self.context.ledger.books();
            let open = nodes.held + sessions.held;
            if nodes.held >= self.wanted.nodes && sessions.held >= self.wanted.sessions {
                return true;
            }
            if open == 0 && start.elapsed() > UNREACHABLE {
                return false;
            }
            // Our nodes withdraw, so the rest never comes.
            if self.context.observer().findings.foreign_jobs > 0 {
                return true;
            }
            told = self.tell(told, NEVER);
            sleep(LOOK).await;
        }
        true
    }

    fn kib_per_socket(&self, before: &Gauge) -> Option<f64> {
        let (nodes, sessions) = self.context.ledger.books();
        let grown = Gauge::read().resident_kib?.checked_sub(before.resident_kib?)?;
        Some(grown as f64 / (nodes.held + sessions.held).max(1) as f64)
    }

    /// From the plan's first instant until all answers are there, or overdue.
    async fn plan(&mut self, scenario: &Scenario, measured: &mut Measured) {
        let context = self.context.clone();
        let start = context.clock.now();
        let (warmup, duration) = (scenario.warmup.nanos(), scenario.duration.nanos());
        context.observer().start(start, warmup, duration);
        context.phase.send_replace(Phase::Running(start));
        let (from, end) = (start + warmup, start + duration);
        let (mut gauge, mut told, mut expired) = (None, 0, 0);
        loop {
            sleep(LOOK).await;
            let now = context.clock.now();
            if now >= from && gauge.is_none() {
                gauge = Some((now, Gauge::read()));
            }
            if let Some((since, before)) = gauge.filter(|_| now >= end && measured.cpu.is_none()) {
                (measured.cpu, measured.starved) = Gauge::read().shares_since(&before, now - since);
            }
            told = self.tell(told, end);
            let mut observer = context.observer();
            while observer.series.due() <= now.min(end) {
                observer.close_row(context.ledger.books().1.held);
            }
            observer.awake(now);
            observer.judge_misses(now);
            if now >= expired {
                observer.expire(now);
                expired = now + SECOND;
            }
            if observer.findings.foreign_jobs > 0 {
                return;
            }
            let owed = observer.open > 0 || observer.awaits_cuts();
            let quiet = !owed && !observer.is_hosting(now);
            if now >= end && (quiet || now >= end + self.deadline) {
                observer.expire(now);
                return;
            }
        }
    }

    /// Tells the watcher, if it is time; gives the time when it was told last.
    fn tell(&mut self, told: Nanos, end: Nanos) -> Nanos {
        let now = self.context.clock.now();
        if now < told + TOLD {
            return told;
        }
        let (nodes, sessions): (Sockets, Sockets) = self.context.ledger.books();
        let snapshot = {
            let observer = self.context.observer();
            let row = observer.series.rows.last().copied().unwrap_or_default();
            Snapshot {
                running: end != NEVER,
                left: Duration::from_nanos(if end == NEVER { 0 } else { end.saturating_sub(now) }),
                nodes: nodes.held,
                sessions: sessions.held,
                wanted: self.wanted.all(),
                offered_per_s: row.offered as f64 / observer.series.span_s(),
                open: observer.open,
                dispatch_p50_ms: row.dispatch_p50_ms,
                dispatch_p99_ms: row.dispatch_p99_ms,
                refused: observer.series.refused,
                failed: observer.series.failed,
                own_lag_p99_ms: observer.latencies.own_lag_p99() as f64 / 1e6,
            }
        };
        self.watcher.at(&snapshot);
        now
    }
}

/// Sockets of one talker at most: they share his source address.
fn largest_room(scenario: &Scenario) -> u32 {
    let listeners = scenario.sessions.iter().map(|group| group.listeners.len());
    1 + listeners.max().unwrap_or(0) as u32
}

/// Ctrl-C, or SIGTERM from whoever runs the process: everything is closed before it ends.
async fn interrupted() {
    let from_person = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = from_person => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    // Without a handler the process dies of the signal, as any other does.
    let _ = from_person.await;
}

/// Time until a date; none where it is past.
fn until(date: Option<SystemTime>) -> Duration {
    let left = date.and_then(|date| date.duration_since(SystemTime::now()).ok());
    left.unwrap_or_default()
}

/// How long an utterance may wait for its final message.
fn deadline(scenario: &Scenario, profile: Profile) -> Nanos {
    let own = scenario.scheduler.deadline.nanos() + GRACE;
    match profile {
        Profile::Lingua => own,
        // Its jobs take seconds from the last chunk to the node.
        Profile::Deployed => own.max(120 * SECOND),
    }
}
