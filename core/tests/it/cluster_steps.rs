//! The steps of a Cluster in the naive model of the state.

use std::collections::BTreeMap;

use lingua_core::*;
use proptest::prelude::*;

use crate::fixture::pair;
use crate::state_model::{Both, PAIRS};

/// A step on one of a few requests.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Open(u8, u32, u8),
    Reserve(u8),
    /// To a node or nowhere; from where it points, or from elsewhere.
    Move(u8, Option<u8>, bool),
    End(u8),
    Release(u8),
}

pub(crate) fn steps() -> impl Strategy<Value = Step> {
    let request = 0u8..5;
    let node = 0u8..6;
    prop_oneof![
        3 => (request.clone(), 1u32..4, node.clone()).prop_map(|(r, a, n)| Step::Open(r, a, n)),
        6 => request.clone().prop_map(Step::Reserve),
        3 => (request.clone(), proptest::option::weighted(0.8, node), prop::bool::weighted(0.8))
            .prop_map(|(r, to, seen)| Step::Move(r, to, seen)),
        1 => request.clone().prop_map(Step::End),
        2 => request.prop_map(Step::Release),
    ]
}

/// What the model knows beside the nodes.
#[derive(Debug, Default)]
pub(crate) struct Model {
    intents: BTreeMap<RequestId, Intent>,
    // Whether a lease was granted at a node, and until when that is certainly remembered.
    verdicts: BTreeMap<(usize, LeaseId), (bool, Micros)>,
    opened: u64,
}

fn request(r: u8) -> RequestId {
    let tgt = pair(PAIRS[asked(r)]).tgt;
    RequestId { session: SessionId(1_000 + u64::from(r)), index: 0, tgt }
}

fn asked(r: u8) -> usize {
    usize::from(r) % PAIRS.len()
}

impl Both {
    pub(crate) fn cluster_step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Open(r, attempt, n) => self.open(r, attempt, n),
            Step::Reserve(r) => self.reserve(r),
            Step::Move(r, to, seen) => self.move_intent(r, to, seen),
            Step::End(r) => {
                if let Some(intent) = self.cluster.intents.get_mut(&request(r)) {
                    self.state.apply(self.now, &Op::End(request(r), intent.lease));
                    intent.ended = true;
                }
                Ok(())
            }
            Step::Release(r) => self.give_back(r),
        }
    }

    fn target(&self, n: u8) -> Option<Target> {
        let node = self.nodes[usize::from(n)].node?;
        Some(Target { node: node.num, generation: None, via: Via::Candidate })
    }

    fn open(&mut self, r: u8, attempt: u32, n: u8) -> Result<(), TestCaseError> {
        self.cluster.opened += 1;
        let lease = LeaseId::new(InstanceId(u16::from(r % 2)), 1 << 40 | self.cluster.opened);
        let target = self.target(n);
        let deadline = self.now + Micros::secs(60);
        let open = Open { request: request(r), attempt, lease, affinity: false, target, deadline };
        let reply = self.state.apply(self.now, &Op::Open(open));
        let Reply::Intended(intended) = reply else { panic!("{reply:?}") };
        let standing = self.cluster.intents.get(&request(r)).copied();
        let expected = match standing {
            Some(intent) if intent.attempt > attempt => Intended::Superseded,
            Some(intent) if intent.attempt == attempt => Intended::Stands(intent),
            before => {
                let former = before.filter(|intent| !intent.ended).and_then(|intent| {
                    let (lease, attempt) = (intent.lease, intent.attempt);
                    Some(Former { node: intent.target?.node, lease, attempt })
                });
                let intent = Intent { attempt, lease, target, former, ended: false };
                self.cluster.intents.insert(request(r), intent);
                Intended::Stands(intent)
            }
        };
        prop_assert_eq!(intended, expected);
        Ok(())
    }

    fn at(&self, target: Target) -> usize {
        let found = self
            .nodes
            .iter()
            .position(|node| node.node.is_some_and(|node| node.num == target.node));
        found.expect("targets are known nodes")
    }

    fn reserve(&mut self, r: u8) -> Result<(), TestCaseError> {
        let Some(intent) = self.cluster.intents.get(&request(r)).copied() else { return Ok(()) };
        let Some(target) = intent.target else { return Ok(()) };
        let now = self.now;
        let deadline = now + Micros::secs(60);
        let reserve = Reserve {
            target,
            request: request(r),
            attempt: intent.attempt,
            lease: intent.lease,
            needs: Needs::pair(pair(PAIRS[asked(r)])),
            excluded: Excluded::default(),
            deadline,
        };
        let reply = self.state.apply(now, &Op::Reserve(reserve));
        let Reply::Reserved(reserved) = reply else { panic!("{reply:?}") };
        let at = self.at(target);
        let name = (at, intent.lease);
        self.nodes[at].sweep(now);
        let granted = matches!(reserved, Reserved::Granted { .. });
        if self.nodes[at].leases.contains_key(&intent.lease) {
            prop_assert!(granted, "a lease that is held is held");
            return Ok(());
        }
        match self.cluster.verdicts.get(&name) {
            Some(&(held, until)) if until > now => {
                let expected = if held { reserved == Reserved::Over } else { !granted };
                prop_assert!(expected, "the first verdict stands, not {:?}", reserved);
                return Ok(());
            }
            // Past its time a verdict may still be remembered.
            Some(_) if !granted => return Ok(()),
            _ => {}
        }
        let free = self.nodes[at].is_free(now, asked(r) as u8);
        prop_assert_eq!(granted, free, "{:?}", reserved);
        let until = if granted { deadline } else { now } + Micros::secs(10);
        self.cluster.verdicts.insert(name, (granted, until));
        if granted {
            let confirmed = intent.lease.instance() == InstanceId(0);
            let life = Micros::secs(if confirmed { 30 } else { 5 });
            self.next += 1;
            let lease = (now + life, deadline, self.next, confirmed);
            self.nodes[at].leases.insert(intent.lease, lease);
        }
        Ok(())
    }

    fn move_intent(&mut self, r: u8, to: Option<u8>, seen: bool) -> Result<(), TestCaseError> {
        let Some(intent) = self.cluster.intents.get(&request(r)).copied() else { return Ok(()) };
        let to = to.and_then(|n| self.target(n));
        let pointed = intent.target.map(|target| target.node);
        let from = if seen { pointed } else { Some(NodeNum(99)) };
        let (attempt, lease) = (intent.attempt, intent.lease);
        let m = Move { request: request(r), attempt, lease, from, to };
        let reply = self.state.apply(self.now, &Op::Move(m));
        let Reply::Intended(intended) = reply else { panic!("{reply:?}") };
        let mut expected = intent;
        if seen && !intent.ended {
            expected.target = to;
            match to {
                Some(_) => self.cluster.intents.insert(request(r), expected),
                // A later attempt is remembered, though it was refused.
                None if attempt > 1 => {
                    self.cluster.intents.insert(request(r), Intent { ended: true, ..expected })
                }
                None => self.cluster.intents.remove(&request(r)),
            };
        } else if intent.ended && intent.target.is_none() && lease == intent.lease {
            expected.ended = false;
        }
        prop_assert_eq!(intended, Intended::Stands(expected));
        Ok(())
    }

    fn give_back(&mut self, r: u8) -> Result<(), TestCaseError> {
        let Some(intent) = self.cluster.intents.get(&request(r)).copied() else { return Ok(()) };
        let Some(target) = intent.target else { return Ok(()) };
        let at = self.at(target);
        let node = NodeRef { num: target.node, generation: 0 };
        let (lease, attempt) = (intent.lease, intent.attempt);
        let release = Release { node, lease, attempt, request: request(r) };
        self.state.apply(self.now, &Op::Release(release));
        self.nodes[at].leases.remove(&lease);
        Ok(())
    }
}
