//! A small world of instances around one board, in which every choice is an [`Action`].

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::super::*;
use super::choices::{Action, Budget, Plant};

pub(super) const LEASE: Micros = Micros::secs(10);
/// By how much a frozen instance's clock is ahead when it wakes: well beyond its lease.
const SLEEP: Micros = Micros::secs(1_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Life {
    Well,
    Frozen,
    Dead,
}

/// A place for one instance.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    pub(super) claimer: Claimer,
    pub(super) life: Life,
    pub(super) clock: Micros,
    pub(super) wakes: u8,
    pub(super) ticks: u8,
    pub(super) events: VecDeque<Event>,
    pub(super) ops: VecDeque<Op>,
    pub(super) runs: BTreeSet<DutyId>,
    /// The fewest instances and most duties since what it counted last.
    pub(super) fewest: usize,
    pub(super) most: usize,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) board: Rc<ClaimBoard>,
    /// All that there is at the board.
    pub(super) view: Arc<View>,
    pub(super) seats: Vec<Rc<Seat>>,
    pub(super) budget: Budget,
    /// The last round: nothing fails any more, and everybody's tick is due once.
    pub(super) last_round: bool,
    pub(super) next_duty: u32,
    plant: Plant,
}

impl World {
    pub(super) fn new(tolerances: &[u32], duties: u32, budget: Budget, plant: Plant) -> Self {
        let seat = |(i, &tolerance): (usize, &u32)| {
            let config = ClaimConfig {
                tolerance: Tolerance::new(tolerance).unwrap(),
                lease: LEASE,
                // Nothing may be owed to ageing.
                patience: u32::MAX,
                // A view is old at once.
                claims_per_view: 1,
                ..ClaimConfig::new(InstanceId(i as u16))
            };
            Rc::new(Seat {
                claimer: Claimer::new(config),
                life: Life::Well,
                clock: Micros::ZERO,
                wakes: 0,
                ticks: 1,
                events: VecDeque::new(),
                ops: VecDeque::new(),
                runs: BTreeSet::new(),
                fewest: 0,
                most: 0,
            })
        };
        let seats = tolerances.iter().enumerate().map(seat).collect();
        let mut board = ClaimBoard::default();
        for duty in 0..duties {
            board.apply(Micros::ZERO, &Op::Create(DutyId(duty)), &mut Vec::new());
        }
        let view = board.view();
        let (board, last_round) = (Rc::new(board), false);
        Self { board, view, seats, budget, last_round, next_duty: duties, plant }
    }

    /// As `new`, with everybody a member that has not read anything yet.
    pub(super) fn joined(tolerances: &[u32], duties: u32, budget: Budget, plant: Plant) -> Self {
        let mut world = Self::new(tolerances, duties, budget, plant);
        for s in 0..tolerances.len() {
            world.act(Action::Tick(s), 0).unwrap();
            world.act(Action::Step(s), 0).unwrap();
        }
        for s in 0..tolerances.len() {
            world.seat(s).events.clear();
        }
        world
    }

    /// Does it. Where an instance chooses between duties, `choice` says which; gives how many
    /// choices there were.
    pub(super) fn act(&mut self, action: Action, choice: u32) -> Result<u32, String> {
        match action {
            Action::Tick(s) => {
                self.seat(s).ticks -= 1;
                return self.handle(s, Input::Tick, choice);
            }
            Action::Hear(s) => return self.hear(s, 0, choice),
            Action::Overtake(s) => {
                self.budget.overtakes -= 1;
                return self.hear(s, 1, choice);
            }
            Action::Lose(s) => {
                self.budget.losses -= 1;
                self.seat(s).events.pop_front();
            }
            Action::Step(s) => return self.step(s, choice),
            Action::Crash(s) => {
                self.budget.crashes -= 1;
                self.stop(s, Life::Dead);
                self.lapse(s);
            }
            Action::Freeze(s) => {
                self.budget.crashes -= 1;
                self.budget.freezes -= 1;
                self.stop(s, Life::Frozen);
            }
            Action::Lapse(s) => {
                self.lapse(s);
            }
            Action::Wake(s) => {
                let span = if self.plant == Plant::Sleepwalker { Micros::ZERO } else { SLEEP };
                let seat = self.seat(s);
                seat.life = Life::Well;
                seat.wakes += 1;
                seat.ticks += 1;
                seat.clock = seat.clock + span;
            }
            Action::Drain(s) => {
                self.budget.drains -= 1;
                self.apply(&Op::Drain { instance: InstanceId(s as u16), force: true }, None);
            }
            Action::EndDrain(s) => {
                self.budget.drains -= 1;
                self.apply(&Op::EndDrain(InstanceId(s as u16)), None);
            }
            Action::Run(s) => return self.run(s, choice),
            Action::EndRuns(s) => {
                let mut choices = 1;
                for duty in std::mem::take(&mut self.seat(s).runs) {
                    choices = choices.max(self.handle(s, Input::RunEnded(duty), choice)?);
                }
                return Ok(choices);
            }
            Action::Create => {
                self.budget.creates -= 1;
                self.next_duty += 1;
                self.apply(&Op::Create(DutyId(self.next_duty - 1)), None);
            }
            Action::Remove => {
                self.budget.removes -= 1;
                let duty = self.view.duties[0].0;
                self.apply(&Op::Remove(duty), None);
            }
        }
        Ok(1)
    }

    /// Nothing is under way and nobody's death is unknown.
    pub(super) fn is_quiet(&self) -> bool {
        self.seats.iter().enumerate().all(|(s, seat)| match seat.life {
            Life::Well => {
                seat.events.is_empty()
                    && seat.ops.is_empty()
                    && seat.ticks == 0
                    && seat.runs.is_empty()
            }
            _ => !self.view.members.iter().any(|m| m.membership.instance.0 as usize == s),
        })
    }

    /// Begins the last round: the dead stay dead, and everybody else's tick is due.
    pub(super) fn begin_last_round(&mut self) {
        self.last_round = true;
        self.budget = Budget::default();
        for seat in self.seats.iter_mut().map(Rc::make_mut) {
            match seat.life {
                Life::Well => seat.ticks = 1,
                _ => seat.life = Life::Dead,
            }
        }
    }

    fn seat(&mut self, s: usize) -> &mut Seat {
        Rc::make_mut(&mut self.seats[s])
    }

    fn stop(&mut self, s: usize, life: Life) {
        let seat = self.seat(s);
        seat.life = life;
        if life == Life::Dead {
            seat.events.clear();
            seat.ops.clear();
            seat.runs.clear();
            seat.ticks = 0;
            seat.claimer = Claimer::new(seat.claimer.config.clone());
        }
    }

    /// The coordinator takes it for dead.
    fn lapse(&mut self, s: usize) {
        let members = self.view.members.iter();
        let own = members.map(|m| m.membership).find(|m| usize::from(m.instance.0) == s);
        if let Some(membership) = own {
            self.apply(&Op::Leave(membership), None);
        }
    }

    fn run(&mut self, s: usize, choice: u32) -> Result<u32, String> {
        self.budget.runs -= 1;
        let Seat { claimer, clock, runs, .. } = self.seat(s);
        let mut held = claimer.held();
        let duty = held
            .find(|&duty| claimer.may_start(*clock, duty).is_some() && !runs.contains(&duty))
            .ok_or("nothing to run")?;
        drop(held);
        runs.insert(duty);
        match self.plant {
            Plant::DeafToRuns => Ok(1),
            _ => self.handle(s, Input::RunStarted(duty), choice),
        }
    }

    fn hear(&mut self, s: usize, at: usize, choice: u32) -> Result<u32, String> {
        let event = self.seat(s).events.remove(at).ok_or("no event")?;
        self.handle(s, Input::Event(event), choice)
    }

    fn step(&mut self, s: usize, choice: u32) -> Result<u32, String> {
        let op = self.seat(s).ops.pop_front().ok_or("no step")?;
        let reply = self.apply(&op, Some(s));
        if let (Op::Look(Cause::Tick), Reply::View(_, view)) = (&op, &reply) {
            let acquiring = view.members.iter().filter(|member| !member.draining).count();
            let seat = self.seat(s);
            (seat.fewest, seat.most) = (acquiring, view.duties.len());
        }
        let reply = match (self.plant, reply) {
            (Plant::ClaimsDouble, Reply::Taken(duty)) => {
                Reply::Claimed(duty, Token(u64::from(u32::MAX)))
            }
            (Plant::BlindTick, Reply::View(Cause::Tick, _)) if self.last_round => Reply::Done,
            (Plant::OneUnseen, Reply::View(cause, view)) => {
                let mut view = View::clone(&view);
                let own = InstanceId(s as u16);
                let other = view.members.iter().position(|m| m.membership.instance != own);
                other.map(|at| view.members.remove(at));
                Reply::View(cause, view.into())
            }
            (_, reply) => reply,
        };
        self.handle(s, Input::Reply(reply), choice)
    }

    /// Executes a step; all members but its sender are told.
    fn apply(&mut self, op: &Op, sender: Option<usize>) -> Reply {
        let mut events = Vec::new();
        if let Op::Look(cause) = *op {
            return Reply::View(cause, Arc::clone(&self.view));
        }
        let board = Rc::make_mut(&mut self.board);
        let reply = board.apply(Micros::ZERO, op, &mut events);
        self.view = board.view();
        if events.is_empty() {
            return reply;
        }
        let view = Arc::clone(&self.view);
        // Which duties a death frees is read, never heard, so one event speaks for all.
        events.dedup_by_key(|event| std::mem::discriminant(&event.change));
        let acquiring = view.members.iter().filter(|member| !member.draining).count();
        for (s, seat) in self.seats.iter_mut().map(Rc::make_mut).enumerate() {
            seat.fewest = seat.fewest.min(acquiring);
            seat.most = seat.most.max(view.duties.len());
            let is_member = seat.claimer.standing.membership().is_some();
            if seat.life != Life::Dead && is_member && sender != Some(s) {
                seat.events.extend(&events);
            }
        }
        reply
    }

    fn handle(&mut self, s: usize, input: Input, choice: u32) -> Result<u32, String> {
        let view = Arc::clone(&self.view);
        let seat = Rc::make_mut(&mut self.seats[s]);
        let mut out = Vec::new();
        // Where n duties are left to choose from, this word chooses the `choice`-th.
        let free = match &input {
            Input::Reply(Reply::View(_, view)) => {
                view.duties.iter().filter(|(_, holder)| holder.is_none()).count() as u32
            }
            _ => seat.claimer.candidates.len(),
        };
        let word = ((u64::from(choice) << 32) / u64::from(free.max(1)) + 1) as u32;
        let mut cx = Cx { now: seat.clock, word, out: &mut out };
        seat.claimer.handle(&mut cx, input);
        let running = seat.runs.clone();
        let mut chosen = false;
        let is_current = |m: Membership| view.members.iter().any(|member| member.membership == m);
        for output in out {
            match output {
                // It only prolongs a lease, and time stands still here.
                Output::Op(Op::Renew(membership, _)) if is_current(membership) => {}
                Output::Op(Op::Release(duty, _)) if running.contains(&duty) => {
                    return Err(format!("{duty:?} is handed over while it runs"));
                }
                Output::Op(op @ Op::Claim(..)) => {
                    chosen = true;
                    let asks = seat.claimer.held().len() + 1;
                    let bound = limit(seat.most, seat.fewest, seat.claimer.config.tolerance);
                    if asks > bound {
                        return Err(format!("seat {s} claims {asks}, above the limit of {bound}"));
                    }
                    seat.ops.push_back(op);
                }
                Output::Op(op) => seat.ops.push_back(op),
                Output::Stop(duty) => {
                    seat.runs.remove(&duty);
                }
                _ => {}
            }
        }
        Ok(if chosen { free.max(1) } else { 1 })
    }
}
