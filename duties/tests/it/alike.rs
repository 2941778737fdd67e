//! The same steps at the board in this process and at the one at ZooKeeper.

use std::collections::BTreeMap;

use lingua_core::claim::{
    Cause, ClaimBoard, DutyId, Holder, Join, Member, Membership, Op, Reply, Token, View,
};
use lingua_core::{InstanceId, Micros};
use lingua_duties::Coordinator;
use lingua_testbed::ZooKeeperServer;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::zookeeper::{new_root, zookeeper};

/// Steps of one case, and how many cases at one server and at three.
const STEPS: std::ops::Range<usize> = 200..300;
const CASES: u32 = 24;
const CASES_OF_ENSEMBLE: u32 = 12;
const INSTANCES: u16 = 4;
/// No lease ends in a case.
const LEASE: Micros = Micros::secs(40);

/// A step as it is drawn: it names what was given before by its place.
#[derive(Debug, Clone)]
enum Drawn {
    Join(u16),
    Renew(usize),
    Leave(usize),
    Create(u32),
    Remove(u32),
    Claim(u32, usize),
    Release(usize),
    Drain(u16, bool),
    EndDrain(u16),
    Look,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let (instance, duty, place) = (0..INSTANCES, 0..8_u32, any::<usize>());
    prop_oneof![
        5 => instance.clone().prop_map(Drawn::Join),
        3 => place.prop_map(Drawn::Renew),
        1 => place.prop_map(Drawn::Leave),
        4 => duty.clone().prop_map(Drawn::Create),
        1 => duty.clone().prop_map(Drawn::Remove),
        8 => (duty, place).prop_map(|(duty, place)| Drawn::Claim(duty, place)),
        4 => place.prop_map(Drawn::Release),
        3 => (instance.clone(), any::<bool>()).prop_map(|(id, force)| Drawn::Drain(id, force)),
        2 => instance.prop_map(Drawn::EndDrain),
        4 => Just(Drawn::Look),
    ]
}

/// What the board in this process has given so far, and what the other has in its place.
#[derive(Default)]
struct Given {
    members: Vec<Membership>,
    claims: Vec<(InstanceId, DutyId, Token)>,
    tokens: BTreeMap<Token, Token>,
    versions: BTreeMap<Token, Token>,
}

/// Of the latest few one; what is over is drawn as well.
fn recent<T: Copy>(given: &[T], at: usize) -> Option<T> {
    (!given.is_empty()).then(|| given[given.len() - 1 - at % given.len().min(8)])
}

impl Given {
    /// The step, and the instance that asks for it; an operator where none does.
    fn op(&self, step: &Drawn) -> Option<(Option<InstanceId>, Op)> {
        let by = |own: Membership, op| Some((Some(own.instance), op));
        let by_operator = |op| Some((None, op));
        match *step {
            Drawn::Join(id) => {
                let instance = InstanceId(id);
                let join = Join { instance, lease: LEASE, sent: Micros(7) };
                Some((Some(instance), Op::Join(join)))
            }
            Drawn::Renew(at) => {
                recent(&self.members, at).and_then(|own| by(own, Op::Renew(own, Micros(8))))
            }
            Drawn::Leave(at) => recent(&self.members, at).and_then(|own| by(own, Op::Leave(own))),
            Drawn::Create(duty) => by_operator(Op::Create(DutyId(duty))),
            Drawn::Remove(duty) => by_operator(Op::Remove(DutyId(duty))),
            Drawn::Claim(duty, at) => {
                recent(&self.members, at).and_then(|own| by(own, Op::Claim(DutyId(duty), own)))
            }
            Drawn::Release(at) => recent(&self.claims, at)
                .map(|(instance, duty, token)| (Some(instance), Op::Release(duty, token))),
            Drawn::Drain(id, force) => by_operator(Op::Drain { instance: InstanceId(id), force }),
            Drawn::EndDrain(id) => by_operator(Op::EndDrain(InstanceId(id))),
            Drawn::Look => by_operator(Op::Look(Cause::Tick)),
        }
    }

    /// Notes what both have given: a later token is larger at both.
    fn pair(pairs: &mut BTreeMap<Token, Token>, here: Token, there: Token) -> bool {
        let before = pairs.range(..here).next_back().is_none_or(|(_, &token)| token < there);
        let same = *pairs.entry(here).or_insert(there) == there;
        before && same
    }

    /// Notes a reply of both.
    fn note(&mut self, by: Option<InstanceId>, here: &Reply, there: &Reply) -> bool {
        match (here, there) {
            (Reply::Joined(own, _), Reply::Joined(theirs, _)) => {
                self.members.push(*own);
                Self::pair(&mut self.tokens, own.token, theirs.token)
            }
            (&Reply::Claimed(duty, token), Reply::Claimed(_, theirs)) => {
                self.claims.extend(by.map(|instance| (instance, duty, token)));
                Self::pair(&mut self.tokens, token, *theirs)
            }
            (Reply::View(_, here), Reply::View(_, there)) => {
                Self::pair(&mut self.versions, here.version, there.version)
            }
            _ => true,
        }
    }

    fn token(&self, token: Token) -> Token {
        self.tokens.get(&token).copied().unwrap_or_default()
    }

    fn membership(&self, of: Membership) -> Membership {
        Membership { token: self.token(of.token), ..of }
    }

    fn map_op(&self, op: &Op) -> Op {
        match *op {
            Op::Renew(own, sent) => Op::Renew(self.membership(own), sent),
            Op::Leave(own) => Op::Leave(self.membership(own)),
            Op::Claim(duty, own) => Op::Claim(duty, self.membership(own)),
            Op::Release(duty, token) => Op::Release(duty, self.token(token)),
            ref other => other.clone(),
        }
    }

    fn map_reply(&self, reply: &Reply) -> Reply {
        match reply {
            Reply::Joined(own, sent) => Reply::Joined(self.membership(*own), *sent),
            Reply::Renewed(own, sent) => Reply::Renewed(self.membership(*own), *sent),
            Reply::Ended(own) => Reply::Ended(self.membership(*own)),
            Reply::Claimed(duty, token) => Reply::Claimed(*duty, self.token(*token)),
            Reply::Released(duty, token) => Reply::Released(*duty, self.token(*token)),
            Reply::View(cause, view) => Reply::View(*cause, self.map_view(view).into()),
            other => other.clone(),
        }
    }

    fn map_view(&self, view: &View) -> View {
        let member = |member: &Member| Member {
            membership: self.membership(member.membership),
            draining: member.draining,
        };
        let held = |&(duty, holder): &(DutyId, Option<Holder>)| {
            let map = |holder: Holder| Holder { token: self.token(holder.token), ..holder };
            (duty, holder.map(map))
        };
        View {
            version: self.versions.get(&view.version).copied().unwrap_or_default(),
            duties: view.duties.iter().map(held).collect(),
            members: view.members.iter().map(member).collect(),
        }
    }
}

/// The operator comes by all servers in turn, and instances by different ones.
async fn case(servers: &[String], steps: &[Drawn]) -> Result<(), TestCaseError> {
    let root = new_root();
    let (mut operators, mut instances) = (Vec::new(), Vec::new());
    for address in servers {
        operators.push(zookeeper(address, &root).await);
    }
    for address in servers.iter().cycle().take(INSTANCES.into()) {
        instances.push(zookeeper(address, &root).await);
    }
    let (mut board, mut given) = (ClaimBoard::default(), Given::default());
    for (at, step) in steps.iter().enumerate() {
        let Some((by, op)) = given.op(step) else { continue };
        let here = board.apply(Micros::ZERO, &op, &mut Vec::new());
        let asked = by
            .map_or(&operators[at % operators.len()], |InstanceId(id)| &instances[usize::from(id)]);
        let there = asked.apply(Micros::ZERO, given.map_op(&op)).await;
        let there = there.map_err(|error| TestCaseError::fail(format!("{op:?}: {error}")))?;
        prop_assert!(given.note(by, &here, &there), "step {} of {:?}: {:?}", at, op, there);
        prop_assert_eq!(there, given.map_reply(&here), "step {} of {:?}", at, op);
    }
    Ok(())
}

fn all_cases(cases: u32, servers: &[String]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let steps = prop::collection::vec(drawn(), STEPS);
    let outcome =
        TestRunner::new(config).run(&steps, |steps| runtime.block_on(case(servers, &steps)));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn both_boards_answer_alike() {
    all_cases(CASES, &[ZooKeeperServer::shared().address()]);
}

#[test]
fn servers_of_an_ensemble_answer_alike() {
    let servers = ZooKeeperServer::ensemble();
    all_cases(CASES_OF_ENSEMBLE, &servers.each_ref().map(ZooKeeperServer::address));
}
