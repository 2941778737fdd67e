//! Random worlds beyond the model check: every channel may be slow, lose or reorder, leases run by
//! the clock, instances die, freeze, wake and come again.

use std::collections::{BTreeSet, VecDeque};

use lingua_core::InstanceId;
use lingua_core::Micros;
use lingua_core::claim::*;
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Wait(u16),
    Tick(u8),
    Exec(u8),
    Reply(u8),
    Hear(u8),
    HearLate(u8),
    HearTwice(u8),
    LoseEvent(u8),
    LoseOp(u8),
    LoseReply(u8),
    Crash(u8),
    Restart(u8),
    Freeze(u8),
    Wake(u8),
    Drain(u8, bool),
    Run(u8),
    EndRun(u8),
    Create,
    Remove(u8),
    Acquire(u8, u8),
    Release(u8),
}

fn steps() -> impl Strategy<Value = Vec<(Step, u32)>> {
    let i = any::<u8>();
    let step = prop_oneof![
        6 => (0u16..1_500).prop_map(Step::Wait),
        8 => i.prop_map(Step::Tick),
        30 => i.prop_map(Step::Exec),
        30 => i.prop_map(Step::Reply),
        20 => i.prop_map(Step::Hear),
        2 => i.prop_map(Step::HearLate),
        1 => i.prop_map(Step::HearTwice),
        2 => i.prop_map(Step::LoseEvent),
        1 => i.prop_map(Step::LoseOp),
        1 => i.prop_map(Step::LoseReply),
        1 => i.prop_map(Step::Crash),
        2 => i.prop_map(Step::Restart),
        1 => i.prop_map(Step::Freeze),
        2 => i.prop_map(Step::Wake),
        1 => (i, any::<bool>()).prop_map(|(i, on)| Step::Drain(i, on)),
        4 => i.prop_map(Step::Run),
        4 => i.prop_map(Step::EndRun),
        1 => Just(Step::Create),
        1 => i.prop_map(Step::Remove),
        1 => (i, i).prop_map(|(i, d)| Step::Acquire(i, d)),
        1 => i.prop_map(Step::Release),
    ];
    prop::collection::vec((step, any::<u32>()), 0..1_200)
}

/// What has been since a recount, by its number. Whatever events an instance hears and misses, it
/// counts at least the instances that stayed and at most the duties that were ever there.
struct Since {
    recount: u32,
    stayed: BTreeSet<InstanceId>,
    ever: BTreeSet<DutyId>,
}

struct Seat {
    claimer: Claimer,
    is_alive: bool,
    is_frozen: bool,
    by_hand: bool,
    ops: VecDeque<Op>,
    replies: VecDeque<(Reply, u32)>,
    events: VecDeque<Event>,
    runs: BTreeSet<DutyId>,
    recounts: u32,
    since: VecDeque<Since>,
}

struct World {
    board: ClaimBoard,
    seats: Vec<Seat>,
    now: Micros,
    next_duty: u32,
    /// Nothing is owed to ageing, nor to operators.
    is_strict: bool,
    claims_per_view: usize,
}

impl Seat {
    /// The highest limit that it may believe in.
    fn bound(&self, s: usize) -> usize {
        let tolerance = Tolerance::new(1 + s as u32 % 3).unwrap();
        let fewest = self.since.iter().map(|since| since.stayed.len()).min().unwrap_or(0);
        let most = self.since.iter().map(|since| since.ever.len()).max().unwrap_or(0);
        limit(most, fewest, tolerance)
    }
}

impl World {
    fn new(seats: usize, duties: u32, is_strict: bool, claims_per_view: usize) -> Self {
        let mut world = Self {
            board: ClaimBoard::default(),
            seats: Vec::new(),
            now: Micros::ZERO,
            next_duty: 0,
            is_strict,
            claims_per_view,
        };
        world.seats = (0..seats).map(|s| world.seat(s)).collect();
        for _ in 0..duties {
            world.create();
        }
        world
    }

    fn seat(&self, s: usize) -> Seat {
        let config = ClaimConfig {
            tolerance: Tolerance::new(1 + s as u32 % 3).unwrap(),
            patience: if self.is_strict { u32::MAX } else { 2 },
            claims_per_view: self.claims_per_view,
            ..ClaimConfig::new(InstanceId(s as u16))
        };
        Seat {
            claimer: Claimer::new(config),
            is_alive: true,
            is_frozen: false,
            by_hand: false,
            ops: VecDeque::new(),
            replies: VecDeque::new(),
            events: VecDeque::new(),
            runs: BTreeSet::new(),
            recounts: 0,
            since: VecDeque::new(),
        }
    }

    fn create(&mut self) {
        self.next_duty += 1;
        self.apply(&Op::Create(DutyId(self.next_duty - 1)));
    }

    /// The instances that acquire, and all duties.
    fn counted(&mut self) -> (BTreeSet<InstanceId>, BTreeSet<DutyId>) {
        let view = self.board.view();
        let acquiring = view.members.iter().filter(|member| !member.draining);
        let duties = view.duties.iter().map(|&(duty, _)| duty);
        (acquiring.map(|member| member.membership.instance).collect(), duties.collect())
    }

    fn apply(&mut self, op: &Op) -> Reply {
        // Apart from the step: an instance may hear of the deaths before it.
        self.sweep();
        let mut events = Vec::new();
        let reply = self.board.apply(self.now, op, &mut events);
        self.spread(&events);
        reply
    }

    fn sweep(&mut self) {
        let mut events = Vec::new();
        self.board.sweep(self.now, &mut events);
        self.spread(&events);
    }

    fn spread(&mut self, events: &[Event]) {
        let (acquiring, duties) = self.counted();
        for seat in &mut self.seats {
            if seat.is_alive {
                seat.events.extend(events);
            }
            for since in &mut seat.since {
                since.stayed.retain(|instance| acquiring.contains(instance));
                since.ever.extend(&duties);
            }
        }
    }

    fn tell(&mut self, s: usize, word: u32, input: Input) -> Result<(), TestCaseError> {
        let seat = &mut self.seats[s];
        if !seat.is_alive || seat.is_frozen {
            return Ok(());
        }
        let running = seat.runs.clone();
        let mut out = Vec::new();
        seat.claimer.handle(&mut Cx { now: self.now, word, out: &mut out }, input);
        for output in out {
            match output {
                // A release sent again is of a former token, and the duty may be held anew.
                Output::Op(Op::Release(duty, _))
                    if running.contains(&duty)
                        && seat.claimer.may_run(self.now, duty).is_none() =>
                {
                    return Err(TestCaseError::fail("handed over while it runs"));
                }
                Output::Op(op) => {
                    if let (Op::Claim(..), true) = (&op, self.is_strict) {
                        let (asks, bound) = (seat.claimer.held().len() + 1, seat.bound(s));
                        prop_assert!(asks <= bound, "{} claims {}, above {}", s, asks, bound);
                    }
                    seat.ops.push_back(op);
                }
                Output::Stop(duty) => drop(seat.runs.remove(&duty)),
                _ => {}
            }
        }
        Ok(())
    }

    fn exec(&mut self, s: usize) {
        let Some(op) = self.seats[s].ops.pop_front() else { return };
        let reply = self.apply(&op);
        let (stayed, ever) = self.counted();
        let seat = &mut self.seats[s];
        if op == Op::Look(Cause::Tick) {
            seat.recounts += 1;
            seat.since.push_back(Since { recount: seat.recounts, stayed, ever });
        }
        seat.replies.push_back((reply, seat.recounts));
    }

    fn reply(&mut self, s: usize, word: u32) -> Result<(), TestCaseError> {
        let Some((reply, recounts)) = self.seats[s].replies.pop_front() else { return Ok(()) };
        if matches!(reply, Reply::View(Cause::Tick, _)) {
            self.seats[s].since.retain(|since| since.recount >= recounts);
        }
        self.tell(s, word, Input::Reply(reply))
    }

    fn step(&mut self, step: Step, word: u32) -> Result<(), TestCaseError> {
        let n = self.seats.len();
        let at = |i: u8| usize::from(i) % n;
        match step {
            Step::Wait(ms) => self.now = self.now + Micros::millis(u64::from(ms)),
            Step::Tick(i) if self.seats[at(i)].claimer.next_deadline() <= self.now => {
                self.tell(at(i), word, Input::Tick)?;
            }
            Step::Exec(i) => self.exec(at(i)),
            Step::Reply(i) if !self.seats[at(i)].is_frozen => {
                self.reply(at(i), word)?;
            }
            Step::Hear(i) => self.hear(at(i), 0, word)?,
            Step::HearLate(i) => self.hear(at(i), 1, word)?,
            Step::HearTwice(i) => {
                if let Some(&event) = self.seats[at(i)].events.front() {
                    self.tell(at(i), word, Input::Event(event))?;
                }
            }
            Step::LoseEvent(i) => drop(self.seats[at(i)].events.pop_front()),
            Step::LoseOp(i) => drop(self.seats[at(i)].ops.pop_front()),
            Step::LoseReply(i) => drop(self.seats[at(i)].replies.pop_front()),
            Step::Crash(i) => {
                self.seats[at(i)] = self.seat(at(i));
                self.seats[at(i)].is_alive = false;
            }
            Step::Restart(i) if !self.seats[at(i)].is_alive => {
                self.seats[at(i)] = self.seat(at(i));
            }
            Step::Freeze(i) => self.seats[at(i)].is_frozen = self.seats[at(i)].is_alive,
            Step::Wake(i) => self.seats[at(i)].is_frozen = false,
            Step::Drain(i, on) => {
                let instance = InstanceId(at(i) as u16);
                let op = match on {
                    true => Op::Drain { instance, force: word.is_multiple_of(4) },
                    false => Op::EndDrain(instance),
                };
                self.apply(&op);
            }
            Step::Run(i) => {
                let Seat { claimer, runs, .. } = &self.seats[at(i)];
                let may = |duty: &DutyId| {
                    claimer.may_start(self.now, *duty).is_some() && !runs.contains(duty)
                };
                let duty = claimer.held().find(may);
                if let Some(duty) = duty.filter(|_| !self.seats[at(i)].is_frozen) {
                    self.seats[at(i)].runs.insert(duty);
                    self.tell(at(i), word, Input::RunStarted(duty))?;
                }
            }
            Step::EndRun(i) if !self.seats[at(i)].is_frozen => {
                if let Some(duty) = self.seats[at(i)].runs.pop_first() {
                    self.tell(at(i), word, Input::RunEnded(duty))?;
                }
            }
            Step::Create if self.next_duty < 40 => self.create(),
            Step::Remove(d) => {
                self.apply(&Op::Remove(DutyId(u32::from(d) % self.next_duty.max(1))));
            }
            Step::Acquire(i, d) if !self.is_strict => {
                self.seats[at(i)].by_hand = true;
                let duty = DutyId(u32::from(d) % self.next_duty.max(1));
                self.tell(at(i), word, Input::Acquire(duty))?;
            }
            Step::Release(i) if !self.is_strict => {
                let duty = self.seats[at(i)].claimer.held().next();
                if let Some(duty) = duty {
                    self.tell(at(i), word, Input::Release(duty))?;
                }
            }
            // What does not fit the moment.
            _ => {}
        }
        self.check()
    }

    fn hear(&mut self, s: usize, at: usize, word: u32) -> Result<(), TestCaseError> {
        if self.seats[s].is_frozen {
            return Ok(());
        }
        match self.seats[s].events.remove(at) {
            Some(event) => self.tell(s, word, Input::Event(event)),
            None => Ok(()),
        }
    }

    /// Who may run a duty is its one holder.
    fn check(&mut self) -> Result<(), TestCaseError> {
        self.sweep();
        for &(duty, _) in &self.board.view().duties {
            let awake = self.seats.iter().filter(|seat| seat.is_alive && !seat.is_frozen);
            let mut tokens = awake.filter_map(|seat| seat.claimer.may_run(self.now, duty));
            if let Some(token) = tokens.next() {
                prop_assert!(tokens.next().is_none(), "{:?} is held by two", duty);
                prop_assert!(self.board.holds(duty, token), "{:?} is run, not held", duty);
            }
        }
        Ok(())
    }

    /// All goes well for a while; then every duty has a holder who knows it.
    fn heal(&mut self) -> Result<(), TestCaseError> {
        for s in 0..self.seats.len() {
            self.seats[s].is_frozen = false;
        }
        // A lease for the memberships of the dead, one for a lost join, and ticks for patience.
        for second in 0..30 {
            self.now = self.now + Micros::secs(1);
            for s in 0..self.seats.len() {
                while let Some(duty) = self.seats[s].runs.pop_first() {
                    self.tell(s, second, Input::RunEnded(duty))?;
                }
                if self.seats[s].claimer.next_deadline() <= self.now {
                    self.tell(s, second, Input::Tick)?;
                }
            }
            self.settle()?;
        }
        let view = self.board.view();
        if view.members.iter().all(|member| member.draining) {
            return Ok(());
        }
        for &(duty, holder) in &view.duties {
            prop_assert!(holder.is_some(), "{:?} is orphaned", duty);
            let holder = holder.unwrap();
            let seat = &self.seats[usize::from(holder.instance.0)];
            prop_assert_eq!(seat.claimer.may_run(self.now, duty), Some(holder.token));
        }
        let held: usize = self.seats.iter().map(|seat| seat.claimer.held().len()).sum();
        prop_assert_eq!(held, view.duties.len());
        Ok(())
    }

    fn settle(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..10_000 {
            let mut idle = true;
            for s in 0..self.seats.len() {
                let seat = &self.seats[s];
                idle &= seat.ops.is_empty() && seat.replies.is_empty() && seat.events.is_empty();
                self.hear(s, 0, s as u32)?;
                self.exec(s);
                self.reply(s, s as u32)?;
                self.check()?;
            }
            if idle {
                return Ok(());
            }
        }
        Err(TestCaseError::fail("instances never rest"))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn duties_have_one_holder_and_find_it(
        seats in 2usize..9,
        duties in 0u32..25,
        is_strict: bool,
        claims_per_view in 1usize..6,
        steps in steps(),
    ) {
        let mut world = World::new(seats, duties, is_strict, claims_per_view);
        for (step, word) in steps {
            world.step(step, word)?;
        }
        world.heal()?;
    }
}
