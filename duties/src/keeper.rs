//! One instance's part: it joins, claims, runs what it holds, and stops in time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lingua_core::claim::{
    Cause, ClaimConfig, Claimer, Cx, DutyId, Event, Input, Op, Output, Reply, Token,
};
use lingua_core::{InstanceId, Micros};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::sleep;
use tracing::{error, info, warn};

use crate::surplus::surplus;
use crate::{Coordinator, Work};

/// Steps that wait for the coordinator; beyond it they count as lost, and ticks repeat them.
const STEPS_MAX: usize = 1_024;
/// Replies and events that wait here.
const HEARD_MAX: usize = 1_024;
/// Rest of a duty whose run has panicked.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// How duties are kept.
#[derive(Debug, Clone)]
pub struct Rules {
    /// When to claim.
    pub claim: ClaimConfig,
    /// Duties that there must be: whoever joins creates those that are missing.
    pub duties: Vec<DutyId>,
    /// Seed of the order in which duties are tried; each instance its own.
    pub seed: u64,
    /// Whether an instance that holds more than its share gives some to one that holds less. Each
    /// change of hands is a short while without a holder.
    pub spreads: bool,
}

/// An operator's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Hold this duty, whatever the limit.
    Acquire(DutyId),
    /// Let another instance hold it.
    Release(DutyId),
    /// Give up all, and end.
    Leave,
}

/// What is held here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The duties with their tokens, sorted.
    pub held: Vec<(DutyId, Token)>,
    /// Until when they are surely held, if no renewal comes; absent: nothing is.
    pub until: Option<Instant>,
    /// Alarms so far: more was held than the threshold.
    pub alarms: u64,
}

/// A duty in the middle of a run.
#[derive(Debug)]
struct Running {
    token: Token,
    stop: AbortHandle,
}

/// Keeps the duties of one instance.
#[derive(Debug)]
pub struct Keeper<C, W> {
    coordinator: C,
    work: Arc<W>,
    claimer: Claimer,
    instance: InstanceId,
    duties: Vec<DutyId>,
    spreads: bool,
    start: Instant,
    word: u64,
    steps: Option<mpsc::Sender<Op>>,
    runs: JoinSet<(DutyId, Token, Duration)>,
    running: BTreeMap<DutyId, Running>,
    // Held and at rest, by when they run next.
    resting: BTreeSet<(Micros, DutyId)>,
    alarms: u64,
    status: watch::Sender<Status>,
}

impl<C: Coordinator, W: Work> Keeper<C, W> {
    /// A keeper that has not joined yet, and where its status is told.
    ///
    /// # Panics
    /// As [`Claimer::new`].
    pub fn new(coordinator: C, work: W, rules: Rules) -> (Self, watch::Receiver<Status>) {
        let (status, told) = watch::channel(Status::default());
        let this = Self {
            coordinator,
            work: Arc::new(work),
            instance: rules.claim.instance,
            claimer: Claimer::new(rules.claim),
            duties: rules.duties,
            spreads: rules.spreads,
            start: Instant::now(),
            word: rules.seed,
            steps: None,
            runs: JoinSet::new(),
            running: BTreeMap::new(),
            resting: BTreeSet::new(),
            alarms: 0,
            status,
        };
        (this, told)
    }

    fn now(&self) -> Micros {
        Micros(self.start.elapsed().as_micros() as u64)
    }

    /// Keeps duties until it is ordered to leave or `orders` is closed.
    pub async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let (events, mut heard) = mpsc::channel(HEARD_MAX);
        let (steps, to_do) = mpsc::channel(STEPS_MAX);
        let (replies, mut answers) = mpsc::channel(HEARD_MAX);
        self.steps = Some(steps);
        // Both end with this future.
        let (mut listening, mut asking) = (JoinSet::new(), JoinSet::new());
        listening.spawn(self.coordinator.clone().hear(events));
        asking.spawn(ask(self.coordinator.clone(), self.start, to_do, replies));
        loop {
            let due = self.due();
            let input = tokio::select! {
                Some(reply) = answers.recv() => self.answered(reply),
                Some(event) = heard.recv() => self.one_of(event, &mut heard),
                order = orders.recv() => match order {
                    Some(Order::Acquire(duty)) => Input::Acquire(duty),
                    Some(Order::Release(duty)) => Input::Release(duty),
                    Some(Order::Leave) | None => break,
                },
                Some(ended) = self.runs.join_next() => match self.ended(ended) {
                    Some(duty) => Input::RunEnded(duty),
                    None => continue,
                },
                () = sleep(due) => {
                    self.begin_runs();
                    if self.now() < self.claimer.next_deadline() {
                        continue;
                    }
                    Input::Tick
                }
            };
            self.handle(input);
        }
        self.handle(Input::Leave);
        // What is to be told the coordinator still goes out; nobody needs its answers.
        self.steps = None;
        drop(answers);
        while asking.join_next().await.is_some() {}
    }

    fn answered(&mut self, reply: Reply) -> Input {
        match &reply {
            Reply::Joined(..) => self.duties.iter().for_each(|&duty| self.ask(Op::Create(duty))),
            Reply::View(Cause::Tick, view) if self.spreads => {
                for duty in surplus(view, self.instance) {
                    self.handle(Input::Release(duty));
                }
            }
            _ => {}
        }
        Input::Reply(reply)
    }

    /// One that finds no room is lost, as one on its way may be.
    fn ask(&self, op: Op) {
        if let Some(steps) = &self.steps {
            let _ = steps.try_send(op);
        }
    }

    /// One event stands for all that wait: each only says that something has changed.
    fn one_of(&self, first: Event, heard: &mut mpsc::Receiver<Event>) -> Input {
        let mut latest = first;
        while let Ok(event) = heard.try_recv() {
            if event.version > latest.version {
                latest = event;
            }
        }
        Input::Event(latest)
    }

    fn due(&self) -> Duration {
        let run = self.resting.first().map_or(Micros::NEVER, |&(at, _)| at);
        let next = self.claimer.next_deadline().min(run);
        Duration::from_micros((next - self.now()).0)
    }

    fn handle(&mut self, input: Input) {
        // SplitMix64's step; only the upper half is used.
        self.word = self.word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.word;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mut out = Vec::new();
        let now = self.now();
        self.claimer.handle(&mut Cx { now, word: (word >> 32) as u32, out: &mut out }, input);
        for output in out {
            self.perform(output);
        }
        let claimer = &self.claimer;
        let held = claimer.held().filter_map(|duty| Some((duty, claimer.may_run(now, duty)?)));
        let until = claimer.good_until().map(|at| self.start + Duration::from_micros(at.0));
        let status = Status { held: held.collect(), until, alarms: self.alarms };
        self.status.send_if_modified(|told| {
            let changed = *told != status;
            *told = status;
            changed
        });
    }

    fn perform(&mut self, output: Output) {
        match output {
            Output::Op(op) => self.ask(op),
            Output::Start(duty, token) => {
                self.resting.insert((self.now(), duty));
                info!(duty = duty.0, token = token.0, "a duty is held");
            }
            // A run that is under way ends, and no other begins: `may_start` says so.
            Output::Finish(_) => {}
            Output::Resume(duty) => {
                let rests = self.resting.iter().any(|&(_, resting)| resting == duty);
                if !rests && !self.running.contains_key(&duty) {
                    self.resting.insert((self.now(), duty));
                }
            }
            Output::Stop(duty) => {
                if let Some(running) = self.running.remove(&duty) {
                    running.stop.abort();
                }
                self.resting.retain(|&(_, resting)| resting != duty);
                info!(duty = duty.0, "a duty is not held any more");
            }
            Output::Alarm(held) => {
                self.alarms += 1;
                warn!(held, "more duties are held than the alarm threshold");
            }
            Output::Refused(duty, refusal) => warn!(duty = duty.0, %refusal, "refused"),
            Output::Drained => info!("drained: nothing is held here any more"),
        }
    }

    fn begin_runs(&mut self) {
        let now = self.now();
        while let Some(&(at, duty)) = self.resting.first()
            && at <= now
        {
            self.resting.pop_first();
            let Some(token) = self.claimer.may_start(now, duty) else { continue };
            self.handle(Input::RunStarted(duty));
            let work = self.work.clone();
            let stop = self.runs.spawn(async move {
                let rest = work.run(duty, token).await;
                (duty, token, rest)
            });
            self.running.insert(duty, Running { token, stop });
        }
    }

    /// A run is over; its duty, if it is still the one of that token. One that has panicked begins
    /// anew after a while: the duty is held all the same.
    fn ended(&mut self, ended: Result<(DutyId, Token, Duration), JoinError>) -> Option<DutyId> {
        let (duty, token, rest) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let mut running = self.running.iter();
                let (&duty, running) = running.find(|(_, run)| run.stop.id() == error.id())?;
                error!(duty = duty.0, %error, "a run has failed");
                (duty, running.token, AFTER_PANIC)
            }
        };
        self.running.get(&duty).filter(|running| running.token == token)?;
        self.running.remove(&duty);
        self.resting.insert((self.now() + Micros(rest.as_micros() as u64), duty));
        Some(duty)
    }
}

/// Carries out the steps of one instance in their order. One without an answer is left to the
/// ticks, which find out what has come of it.
async fn ask<C: Coordinator>(
    coordinator: C,
    start: Instant,
    mut to_do: mpsc::Receiver<Op>,
    replies: mpsc::Sender<Reply>,
) {
    let mut up = true;
    while let Some(op) = to_do.recv().await {
        let now = Micros(start.elapsed().as_micros() as u64);
        match coordinator.apply(now, op).await {
            Ok(reply) => {
                if !up {
                    info!("the coordinator answers again");
                }
                up = true;
                // The keeper may be gone while the rest goes out.
                let _ = replies.send(reply).await;
            }
            Err(error) => {
                if up {
                    warn!(%error, "the coordinator does not answer");
                }
                up = false;
                // What waits behind it is out of date by the time that it answers again.
                while to_do.try_recv().is_ok() {}
            }
        }
    }
}
