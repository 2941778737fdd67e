//! The same steps at the board in this process and at the one in Redis.

use std::cell::RefCell;
use std::collections::BTreeMap;

use lingua_core::claim::{
    Cause, ClaimBoard, DutyId, Event, Holder, Join, Member, Membership, Op, Reply, Token, View,
};
use lingua_core::{InstanceId, Micros, StateConfig};
use lingua_store::{Store, keys};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::servers::{PATIENCE, Servers};

/// Steps of one case, and cases for each layout.
const STEPS: std::ops::Range<usize> = 100..200;
const CASES: u32 = 60;
/// A new board in Redis gives its first token above this time of its first change.
const START: Micros = Micros(1_900_000_000_000_007);

/// A step as it is drawn: it names what was given before by its place.
#[derive(Debug, Clone)]
pub(crate) enum Drawn {
    Join(u16, u64),
    Renew(usize),
    Leave(usize),
    Create(u32),
    Remove(u32),
    Claim(u32, usize),
    Release(usize),
    Drain(u16, bool),
    EndDrain(u16),
    Look,
    Work(usize),
    Wait(u64),
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let (instance, duty, place) = (0..6_u16, 0..8_u32, any::<usize>());
    prop_oneof![
        4 => (instance.clone(), 1..20_u64).prop_map(|(id, lease)| Drawn::Join(id, lease)),
        4 => place.prop_map(Drawn::Renew),
        1 => place.prop_map(Drawn::Leave),
        4 => duty.clone().prop_map(Drawn::Create),
        1 => duty.clone().prop_map(Drawn::Remove),
        8 => (duty, place).prop_map(|(duty, place)| Drawn::Claim(duty, place)),
        3 => place.prop_map(Drawn::Release),
        3 => place.prop_map(Drawn::Work),
        2 => (instance.clone(), any::<bool>()).prop_map(|(id, force)| Drawn::Drain(id, force)),
        2 => instance.prop_map(Drawn::EndDrain),
        4 => Just(Drawn::Look),
        4 => (0..6_u64).prop_map(Drawn::Wait),
    ]
}

/// What has been given so far; more is forgotten than remembered, so that stale tokens are used.
#[derive(Default)]
struct Given {
    members: Vec<Membership>,
    claims: Vec<(DutyId, Token)>,
    // Of each duty the largest token that has written, and how often it ran.
    ran: BTreeMap<DutyId, (Token, u64)>,
}

impl Given {
    fn op(&self, now: Micros, drawn: &Drawn) -> Option<Op> {
        let member = |at: usize| {
            let many = self.members.len();
            (many > 0).then(|| self.members[many - 1 - at % many.min(8)])
        };
        Some(match *drawn {
            Drawn::Join(instance, lease) => {
                let (instance, lease) = (InstanceId(instance), Micros::secs(lease));
                Op::Join(Join { instance, lease, sent: now })
            }
            Drawn::Renew(at) => Op::Renew(member(at)?, now),
            Drawn::Leave(at) => Op::Leave(member(at)?),
            Drawn::Create(duty) => Op::Create(DutyId(duty)),
            Drawn::Remove(duty) => Op::Remove(DutyId(duty)),
            Drawn::Claim(duty, at) => Op::Claim(DutyId(duty), member(at)?),
            Drawn::Release(at) => {
                let (duty, token) = *self.claims.get(at % self.claims.len().max(1))?;
                Op::Release(duty, token)
            }
            Drawn::Drain(instance, force) => Op::Drain { instance: InstanceId(instance), force },
            Drawn::EndDrain(instance) => Op::EndDrain(InstanceId(instance)),
            Drawn::Look => Op::Look(Cause::Tick),
            Drawn::Work(_) | Drawn::Wait(_) => return None,
        })
    }

    /// A run under a token that was given at some time: how often its duty has run, if it counts.
    fn run(&mut self, at: usize) -> Option<(DutyId, Token, Option<u64>)> {
        let (duty, token) = *self.claims.get(at % self.claims.len().max(1))?;
        let (largest, runs) = self.ran.entry(duty).or_default();
        let counts = *largest <= token;
        if counts {
            (*largest, *runs) = (token, *runs + 1);
        }
        Some((duty, token, counts.then_some(*runs)))
    }

    fn note(&mut self, reply: &Reply) {
        match *reply {
            Reply::Joined(membership, _) => self.members.push(membership),
            Reply::Claimed(duty, token) => self.claims.push((duty, token)),
            _ => {}
        }
    }
}

/// Moves all tokens by as much as both boards differ.
struct Shift(u64);

impl Shift {
    fn token(&self, token: Token) -> Token {
        Token(token.0.wrapping_add(self.0))
    }

    fn membership(&self, of: Membership) -> Membership {
        Membership { token: self.token(of.token), ..of }
    }

    fn op(&self, op: &Op) -> Op {
        match *op {
            Op::Renew(own, sent) => Op::Renew(self.membership(own), sent),
            Op::Leave(own) => Op::Leave(self.membership(own)),
            Op::Claim(duty, own) => Op::Claim(duty, self.membership(own)),
            Op::Release(duty, token) => Op::Release(duty, self.token(token)),
            ref other => other.clone(),
        }
    }

    fn reply(&self, reply: &Reply) -> Reply {
        match reply {
            Reply::Joined(own, sent) => Reply::Joined(self.membership(*own), *sent),
            Reply::Renewed(own, sent) => Reply::Renewed(self.membership(*own), *sent),
            Reply::Ended(own) => Reply::Ended(self.membership(*own)),
            Reply::Claimed(duty, token) => Reply::Claimed(*duty, self.token(*token)),
            Reply::Released(duty, token) => Reply::Released(*duty, self.token(*token)),
            Reply::View(cause, view) => Reply::View(*cause, self.view(view).into()),
            other => other.clone(),
        }
    }

    fn view(&self, view: &View) -> View {
        // Before its first change either board says zero.
        let version = if view.version.0 == 0 { view.version } else { self.token(view.version) };
        let member = |member: &Member| Member {
            membership: self.membership(member.membership),
            draining: member.draining,
        };
        let held = |(duty, holder): &(DutyId, Option<_>)| {
            let moved = |holder: Holder| Holder { token: self.token(holder.token), ..holder };
            (*duty, holder.map(moved))
        };
        View {
            version,
            duties: view.duties.iter().map(held).collect(),
            members: view.members.iter().map(member).collect(),
        }
    }
}

/// The same cases at every run.
pub(crate) fn cases() -> Vec<Vec<Drawn>> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let steps = prop::collection::vec(drawn(), STEPS);
    (0..CASES).map(|_| steps.new_tree(&mut runner).unwrap().current()).collect()
}

pub(crate) fn case(
    runtime: &Runtime,
    servers: &mut Servers,
    store: &Store,
    steps: &[Drawn],
) -> Result<(), TestCaseError> {
    servers.flush();
    let (mut board, mut given) = (ClaimBoard::default(), Given::default());
    let (mut now, mut first_change) = (START, None);
    for (at, step) in steps.iter().enumerate() {
        if let Drawn::Wait(seconds) = *step {
            now = now + Micros::secs(seconds);
        }
        if let Drawn::Work(at) = *step {
            let Some((duty, token, expected)) = given.run(at) else { continue };
            let token = Shift(first_change.map_or(0, |at: Micros| at.0)).token(token);
            let holder = Holder { instance: InstanceId(1), token };
            let stored = runtime.block_on(store.duty_ran(now, duty, holder));
            let stored = stored.map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(stored, expected, "step {}", at);
            continue;
        }
        let Some(op) = given.op(now, step) else { continue };
        let mut events = Vec::new();
        let expected = board.apply(now, &op, &mut events);
        if board.view().version > Token(0) {
            first_change.get_or_insert(now);
        }
        let shift = Shift(first_change.map_or(0, |at| at.0));
        let stored = runtime.block_on(store.duty(now, &shift.op(&op)));
        let stored = stored.map_err(|error| TestCaseError::fail(format!("{op:?}: {error}")))?;
        prop_assert_eq!(stored, shift.reply(&expected), "step {} of {:?}", at, op);
        given.note(&expected);
    }
    Ok(())
}

#[test]
fn both_boards_answer_alike() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for mut servers in [Servers::one(), Servers::cluster()] {
        let store = runtime.block_on(servers.store(&StateConfig::default()));
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let steps = prop::collection::vec(drawn(), STEPS);
        let servers = RefCell::new(servers);
        let outcome = TestRunner::new(config)
            .run(&steps, |steps| case(&runtime, &mut servers.borrow_mut(), &store, &steps));
        if let Err(error) = outcome {
            panic!("{error}");
        }
    }
}

#[tokio::test]
async fn changes_are_told_to_whoever_listens() {
    for mut servers in [Servers::one(), Servers::cluster()] {
        let store = servers.store(&StateConfig::default()).await;
        let (events, mut heard) = mpsc::channel::<Event>(64);
        tokio::spawn(store.clone().hear_duties(events));
        let told = async {
            loop {
                // Who listens may come late: a change that is made again and again is heard.
                for op in [Op::Create(DutyId(7)), Op::Remove(DutyId(7))] {
                    store.duty(START, &op).await.unwrap();
                }
                if let Ok(event) = heard.try_recv() {
                    return event;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let event = tokio::time::timeout(PATIENCE, told).await.unwrap();
        assert!(event.version > Token(START.0), "{event:?}");
    }
}

#[tokio::test]
async fn a_board_that_has_lost_everything_gives_no_token_twice() {
    let mut servers = Servers::one();
    let store = servers.store(&StateConfig::default()).await;
    let instance = InstanceId(3);
    let join = Op::Join(Join { instance, lease: Micros::secs(10), sent: START });
    let Reply::Joined(before, _) = store.duty(START, &join).await.unwrap() else { panic!() };
    servers.flush();
    let later = START + Micros::secs(1);
    let Reply::Joined(after, _) = store.duty(later, &join).await.unwrap() else { panic!() };
    assert!(after.token > before.token, "{before:?} {after:?}");
}

#[tokio::test]
async fn who_comes_too_late_writes_nothing() {
    for mut servers in [Servers::one(), Servers::cluster()] {
        let store = servers.store(&StateConfig::default()).await;
        let holder = |token| Holder { instance: InstanceId(1), token: Token(START.0 + token) };
        let ran = async |token| store.duty_ran(START, DutyId(4), holder(token)).await.unwrap();
        assert_eq!(ran(1).await, Some(1));
        assert_eq!(ran(1).await, Some(2));
        assert_eq!(ran(5).await, Some(3));
        assert_eq!(ran(4).await, None);
        assert_eq!(ran(5).await, Some(4));
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_nobodys() {
    let mut servers = Servers::one();
    let store = servers.store(&StateConfig::default()).await;
    let connection = &mut servers.connections[0];
    let [_, duties, members, leases] = keys::DUTIES;
    for (key, field) in [(duties, "7"), (duties, "x"), (members, "2"), (members, "y")] {
        redis::cmd("HSET").arg(key).arg(field).arg("1 2 3 4 5").exec(connection).unwrap();
    }
    redis::cmd("ZADD").arg(leases).arg(0).arg("z").exec(connection).unwrap();
    let lease = Micros::secs(10);
    let join = |id| Op::Join(Join { instance: InstanceId(id), lease, sent: START });
    let Reply::Joined(own, _) = store.duty(START, &join(2)).await.unwrap() else { panic!() };
    let claimed = store.duty(START, &Op::Claim(DutyId(7), own)).await.unwrap();
    assert!(matches!(claimed, Reply::Claimed(DutyId(7), _)), "{claimed:?}");
    let Reply::View(_, view) = store.duty(START, &Op::Look(Cause::Tick)).await.unwrap() else {
        panic!()
    };
    assert_eq!((view.members.len(), view.duties.len()), (1, 1), "{view:?}");
    // A key of a wrong type is put aside.
    redis::cmd("SET").arg(members).arg("text").exec(&mut servers.connections[0]).unwrap();
    let joined = store.duty(START, &join(3)).await.unwrap();
    assert!(matches!(joined, Reply::Joined(..)), "{joined:?}");
    assert!(store.counts().quarantined() > 0);
}
