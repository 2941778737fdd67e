//! Instances that share duties through a coordinator, in virtual time.
//!
//! The claimers and the coordinator's board are the real ones, `lingua_core::claim`. Around them are
//! a network that delays and loses, processes that die, freeze, come and go, and runs that write
//! what they have done under their fencing tokens.

mod belief;
mod faults;
mod judge;
mod mail;
mod process;
mod record;
mod report;

use lingua_core::Micros;
use lingua_core::claim::{
    Change, ClaimBoard, Cx, DutyId, Event as Told, Input, Op, Output, Reply, Token,
};
use lingua_scenarios::{Duties, Scenario};

use crate::digest::Digest;
use crate::invariants::Broken;
use crate::plant::Planted;
use crate::queue::EventQueue;
use crate::setup;
use crate::slab::Slab;
use crate::streams::Streams;
use crate::{Finished, Progress};

use faults::Faults;
use judge::Judge;
use mail::{Legs, Letter};
use process::Process;
use record::Record;

/// What happens at one instant; the numbers are those of the digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Event {
    /// A letter has arrived.
    Letter(u32) = 1,
    /// A deadline of an instance is due.
    Tick(u16) = 2,
    /// An instance may begin a run of a duty.
    RunBegins(u16, DutyId) = 3,
    /// A run is over, by its number.
    RunEnds(u16, DutyId, u32) = 4,
    /// A lease at the coordinator is due.
    Lapse = 5,
    /// A fault begins or ends.
    Fault(u16, bool) = 6,
    /// A row of the time series is due.
    Sample = 7,
}

impl Event {
    fn kind(self) -> u8 {
        match self {
            Self::Letter(_) => 1,
            Self::Tick(_) => 2,
            Self::RunBegins(..) => 3,
            Self::RunEnds(..) => 4,
            Self::Lapse => 5,
            Self::Fault(..) => 6,
            Self::Sample => 7,
        }
    }

    fn subject(self) -> u64 {
        match self {
            Self::Letter(n) => u64::from(n),
            Self::Tick(n) => u64::from(n),
            Self::RunBegins(n, duty) | Self::RunEnds(n, duty, _) => {
                u64::from(n) << 32 | u64::from(duty.0)
            }
            Self::Fault(n, begins) => u64::from(n) << 1 | u64::from(begins),
            Self::Lapse | Self::Sample => 0,
        }
    }
}

/// The world.
pub(crate) struct World {
    duties: Duties,
    legs: Legs,
    now: Micros,
    end: Micros,
    queue: EventQueue<Event>,
    letters: Slab<Letter>,
    board: ClaimBoard,
    // When the next sweep of the board is scheduled.
    lapse_at: Micros,
    processes: Vec<Process>,
    faults: Faults,
    judge: Judge,
    record: Record,
    planted: Planted,
    digest: Digest,
    broken: Option<Broken>,
    out: Vec<Output>,
}

impl World {
    /// The world of a scenario at its start.
    pub(crate) fn new(scenario: &Scenario, duties: &Duties) -> Self {
        let streams = Streams::new(scenario.seed);
        let end = setup::micros(scenario.duration);
        let instances = scenario.instances();
        let mut world = Self {
            legs: Legs::new(duties),
            now: Micros::ZERO,
            end,
            queue: EventQueue::default(),
            letters: Slab::default(),
            board: ClaimBoard::default(),
            lapse_at: Micros::NEVER,
            processes: (0..instances).map(|i| Process::new(duties, i as u16, &streams)).collect(),
            faults: Faults::new(scenario),
            judge: Judge::new(duties, &scenario.faults),
            record: Record::new(duties.count, instances, end),
            planted: Planted::new(scenario.plant),
            digest: Digest::default(),
            broken: None,
            out: Vec::new(),
            duties: duties.clone(),
        };
        for duty in 0..duties.count {
            world.board.apply(Micros::ZERO, &Op::Create(DutyId(duty)), &mut Vec::new());
        }
        for at in 0..duties.instances {
            world.start(at as u16);
        }
        world.schedule_faults();
        world.queue.push(world.record.row(), Event::Sample);
        world
    }

    /// Runs to the end of the scenario, then on until every duty is held again.
    pub(crate) fn run(&mut self, progress: &mut dyn Progress) {
        let mut steps = 0u32;
        while self.broken.is_none() {
            let last = self.judge.healed_after(self.end);
            let Some((at, event)) = self.queue.pop_by(last) else { break };
            if at > self.end && self.record.unheld() == 0 {
                break;
            }
            self.now = at;
            self.digest.event(at, event.kind(), event.subject());
            self.happen(event);
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1 << 14) {
                progress.at(self.now.min(self.end), self.end);
            }
        }
        if self.broken.is_none() && self.record.unheld() > 0 {
            self.now = self.judge.healed_after(self.end);
            self.check_coverage();
        }
        self.record.close(self.end);
    }

    /// What the run leaves behind.
    pub(crate) fn finish(self, scenario: &Scenario, sha256: &str) -> Finished {
        report::finish(self, scenario, sha256)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Letter(letter) => self.open(letter),
            Event::Tick(i) => self.tick(i),
            Event::RunBegins(i, duty) => self.run_begins(i, duty),
            Event::RunEnds(i, duty, number) => self.run_ends(i, duty, number),
            Event::Lapse => {
                self.lapse_at = Micros::NEVER;
                self.sweep();
            }
            Event::Fault(at, begins) => self.fault(at, begins),
            Event::Sample => self.sample(),
        }
    }

    fn process(&mut self, i: u16) -> &mut Process {
        &mut self.processes[usize::from(i)]
    }

    /// An instance takes one input, and what it wants is done.
    fn tell(&mut self, i: u16, input: Input) {
        let now = self.now;
        let mut out = std::mem::take(&mut self.out);
        let process = self.process(i);
        let word = process.words.word();
        process.claimer.handle(&mut Cx { now, word, out: &mut out }, input);
        for output in out.drain(..) {
            self.obey(i, output);
        }
        self.out = out;
        self.check_runner(i);
        self.schedule_tick(i);
    }

    fn obey(&mut self, i: u16, output: Output) {
        match output {
            Output::Op(op) => {
                if let Op::Claim(..) = op {
                    self.check_claim(i);
                }
                let life = self.process(i).life;
                self.send_up(i, Letter::Step(i, life, op));
            }
            Output::Start(duty, _) => {
                self.check_start(i, duty);
                self.record.starts(self.now, duty, i);
                self.queue.push(self.now, Event::RunBegins(i, duty));
            }
            Output::Resume(duty) => {
                self.record.mark("drain_undone");
                self.queue.push(self.now, Event::RunBegins(i, duty));
            }
            Output::Stop(duty) => {
                self.process(i).runs.remove(&duty);
                self.record.stops(self.now, duty, i);
            }
            Output::Alarm(_) => self.record.alarm(i),
            Output::Drained => self.record.mark("drained"),
            Output::Finish(_) | Output::Refused(..) => {}
        }
    }

    fn schedule_tick(&mut self, i: u16) {
        let now = self.now;
        let process = self.process(i);
        let due = process.claimer.next_deadline();
        if due == Micros::NEVER || (process.tick_at <= due && process.tick_at > now) {
            return;
        }
        let due = due.max(now);
        process.tick_at = due;
        self.queue.push(due, Event::Tick(i));
    }

    fn tick(&mut self, i: u16) {
        let now = self.now;
        let process = self.process(i);
        if process.tick_at == now {
            process.tick_at = Micros::NEVER;
        }
        if !process.is_awake() {
            return;
        }
        if process.claimer.next_deadline() <= now {
            self.tell(i, Input::Tick);
        } else {
            self.schedule_tick(i);
        }
    }

    fn run_begins(&mut self, i: u16, duty: DutyId) {
        let now = self.now;
        let process = self.process(i);
        if !process.is_awake() || process.runs.contains_key(&duty) {
            return;
        }
        let Some(token) = process.claimer.may_start(now, duty) else { return };
        let (number, span) = process.begin_run(duty, token);
        self.queue.push(now + span, Event::RunEnds(i, duty, number));
        self.tell(i, Input::RunStarted(duty));
    }

    fn run_ends(&mut self, i: u16, duty: DutyId, number: u32) {
        let now = self.now;
        let process = self.process(i);
        let Some(run) = process.runs.get(&duty).filter(|run| run.number == number) else { return };
        if process.frozen {
            process.overslept.push(duty);
            return;
        }
        let token = run.token;
        process.runs.remove(&duty);
        if process.claimer.may_run(now, duty) == Some(token) {
            self.send_up(i, Letter::Write(duty, token));
        }
        self.end_run(i, duty);
    }

    fn end_run(&mut self, i: u16, duty: DutyId) {
        let pause = self.process(i).pause();
        self.queue.push(self.now + pause, Event::RunBegins(i, duty));
        self.tell(i, Input::RunEnded(duty));
    }

    fn sample(&mut self) {
        let up = self.processes.iter().enumerate().filter(|(_, process)| process.up);
        let limits = up.map(|(i, process)| (i, process.claimer.limit()));
        self.record.sample(self.now, limits);
        self.check_coverage();
        if self.record.row() <= self.end {
            self.queue.push(self.record.row(), Event::Sample);
        }
    }

    /// The coordinator ends the memberships whose leases are over.
    fn sweep(&mut self) {
        let mut events = Vec::new();
        self.board.sweep(self.now, &mut events);
        let lapsed = events.iter().filter(|event| matches!(event.change, Change::Left(_)));
        self.record.lapses += lapsed.count() as u64;
        self.spread(&events);
        let due = self.board.next_deadline();
        if due < self.lapse_at {
            self.lapse_at = due;
            self.queue.push(due, Event::Lapse);
        }
    }

    /// One step at the coordinator.
    fn apply(&mut self, op: &Op) -> Reply {
        self.sweep();
        let mut events = Vec::new();
        let reply = self.board.apply(self.now, op, &mut events);
        self.spread(&events);
        self.sweep();
        reply
    }

    /// Everybody who is there is told.
    fn spread(&mut self, events: &[Told]) {
        if events.is_empty() {
            return;
        }
        let acquiring = belief::acquiring(&self.board.view());
        for at in 0..self.processes.len() {
            self.processes[at].belief.note(&acquiring);
            for &event in events {
                self.send_event(at as u16, event);
            }
        }
    }

    /// What a run has done arrives where it is kept.
    fn write(&mut self, duty: DutyId, token: Token) {
        self.sweep();
        if self.board.holds(duty, token) {
            self.record.writes.accepted += 1;
            self.check_write(duty, token);
        } else {
            self.record.writes.stale += 1;
            self.record.mark("stale_write_refused");
        }
    }
}
