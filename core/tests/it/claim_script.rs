//! Instances whose every step and event waits until a script lets it go on.

use std::collections::{BTreeMap, VecDeque};

use lingua_core::InstanceId;
use lingua_core::Micros;
use lingua_core::claim::*;

/// One instance: its claimer, the steps it has sent, what it was told, and its alarms.
pub(crate) struct Seat {
    pub(crate) claimer: Claimer,
    pub(crate) ops: VecDeque<Op>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) alarms: Vec<usize>,
}

/// Instances with letters for names; steps and events wait until the script lets them go on.
pub(crate) struct Script {
    pub(crate) board: ClaimBoard,
    pub(crate) seats: BTreeMap<char, Seat>,
    pub(crate) tolerance: Tolerance,
    pub(crate) duties: u32,
    pub(crate) now: Micros,
}

pub(crate) fn id(name: char) -> InstanceId {
    InstanceId(name as u16)
}

impl Script {
    pub(crate) fn new(tolerance: u32) -> Self {
        Self {
            board: ClaimBoard::default(),
            seats: BTreeMap::new(),
            tolerance: Tolerance::new(tolerance).unwrap(),
            duties: 0,
            now: Micros::ZERO,
        }
    }

    pub(crate) fn apply(&mut self, op: &Op) -> Reply {
        let mut events = Vec::new();
        let reply = self.board.apply(self.now, op, &mut events);
        for seat in self.seats.values_mut() {
            seat.events.extend(&events);
        }
        reply
    }

    pub(crate) fn tell(&mut self, name: char, input: Input) {
        let seat = self.seats.get_mut(&name).unwrap();
        let mut out = Vec::new();
        seat.claimer.handle(&mut Cx { now: self.now, word: 0, out: &mut out }, input);
        for output in out {
            match output {
                Output::Op(op) => seat.ops.push_back(op),
                Output::Alarm(held) => seat.alarms.push(held),
                _ => {}
            }
        }
    }

    /// Lets one instance's next step be executed and answered.
    pub(crate) fn step(&mut self, name: char) -> bool {
        let Some(op) = self.seats.get_mut(&name).unwrap().ops.pop_front() else { return false };
        let reply = self.apply(&op);
        self.tell(name, Input::Reply(reply));
        true
    }

    /// Everybody hears all and reads all, but claims wait.
    pub(crate) fn all_hear(&mut self) {
        let names: Vec<char> = self.seats.keys().copied().collect();
        loop {
            let mut idle = true;
            for &name in &names {
                let seat = self.seats.get_mut(&name).unwrap();
                if let Some(event) = seat.events.pop_front() {
                    self.tell(name, Input::Event(event));
                    idle = false;
                } else if !matches!(seat.ops.front(), None | Some(Op::Claim(..))) {
                    self.step(name);
                    idle = false;
                }
            }
            if idle {
                return;
            }
        }
    }

    /// Everybody hears; then each instance named acquires one duty, in turn; then the rest goes on.
    pub(crate) fn settle(&mut self, takers: &str) {
        self.all_hear();
        for name in takers.chars() {
            let held = self.held(name);
            while self.held(name) == held {
                assert!(self.step(name), "{name} acquires nothing");
                self.all_hear();
            }
        }
        let names: Vec<char> = self.seats.keys().copied().collect();
        loop {
            self.all_hear();
            if !names.iter().any(|&name| self.step(name)) {
                return;
            }
        }
    }

    pub(crate) fn create(&mut self, n: u32, takers: &str) {
        for _ in 0..n {
            self.apply(&Op::Create(DutyId(self.duties)));
            self.duties += 1;
        }
        self.settle(takers);
    }

    pub(crate) fn join(&mut self, name: char, alarm_above: usize) {
        let config = ClaimConfig {
            tolerance: self.tolerance,
            alarm_above,
            alarm_debounce: Micros::ZERO,
            ..ClaimConfig::new(id(name))
        };
        let claimer = Claimer::new(config);
        let seat =
            Seat { claimer, ops: VecDeque::new(), events: VecDeque::new(), alarms: Vec::new() };
        self.seats.insert(name, seat);
        self.tell(name, Input::Tick);
        self.settle("");
    }

    pub(crate) fn held(&self, name: char) -> usize {
        self.seats[&name].claimer.held().len()
    }

    /// An operator moves duties from one instance to another.
    pub(crate) fn by_hand(&mut self, from: char, to: char, n: usize) {
        let duties: Vec<DutyId> = self.seats[&from].claimer.held().take(n).collect();
        for duty in duties {
            self.tell(from, Input::Release(duty));
            self.step(from);
            self.settle(&to.to_string());
        }
    }

    pub(crate) fn membership(&mut self, name: char) -> Membership {
        let view = self.board.view();
        let member = view.members.iter().find(|m| m.membership.instance == id(name));
        member.unwrap().membership
    }

    /// Dies. Its membership and its claims end together.
    pub(crate) fn crash(&mut self, name: char) {
        self.seats.remove(&name);
        let membership = self.membership(name);
        self.apply(&Op::Leave(membership));
    }

    /// Dies. Its claims end, and its membership is believed in.
    pub(crate) fn crash_unnoticed(&mut self, name: char) {
        let held: Vec<DutyId> = self.seats.remove(&name).unwrap().claimer.held().collect();
        let view = self.board.view();
        for duty in held {
            let token = view.holder(duty).unwrap().token;
            self.apply(&Op::Release(duty, token));
        }
    }

    /// What a row of the document says: K, S as they are seen, and of each instance N and X.
    #[track_caller]
    pub(crate) fn expect(&mut self, what: &str, k: usize, s: usize, rows: &[(char, usize, usize)]) {
        let view = self.board.view();
        assert_eq!((view.duties.len(), view.members.len()), (k, s), "K and S, {what}");
        for &(name, n, x) in rows {
            let found = (self.seats[&name].claimer.limit(), self.held(name));
            assert_eq!(found, (n, x), "N and X of {name}, {what}");
            let on_board = view.duties.iter().filter_map(|&(_, holder)| holder);
            let on_board = on_board.filter(|holder| holder.instance == id(name)).count();
            assert_eq!(on_board, x, "{name} by the board, {what}");
        }
    }

    /// The alarms since the last look.
    pub(crate) fn alarms(&mut self, name: char) -> Vec<usize> {
        std::mem::take(&mut self.seats.get_mut(&name).unwrap().alarms)
    }

    pub(crate) fn orphans(&mut self) -> usize {
        self.board.view().duties.iter().filter(|(_, holder)| holder.is_none()).count()
    }

    pub(crate) fn tick_all(&mut self) {
        self.now = self.now + Micros::secs(2);
        let names: Vec<char> = self.seats.keys().copied().collect();
        for name in names {
            self.tell(name, Input::Tick);
        }
        self.settle("");
    }
}
