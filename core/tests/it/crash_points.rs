//! A dispatch on a Cluster, cut at every step: whatever happens there, a request has one answer
//! and holds one slot.

use std::collections::VecDeque;

use lingua_core::instance::{
    Answer, AnswerOutcome, Assign, Cx, Ending, Input, Instance, InstanceConfig, Output, Request,
    Routed, Store, Token,
};
use lingua_core::*;

use crate::fixture::{Counting, caps, pair, register};

/// More steps than a dispatch takes here.
const STEPS: usize = 10;
const NODES: u32 = 3;

/// One instance whose steps lie in a queue until they are let through.
struct Side {
    instance: Instance,
    draws: Counting,
    steps: VecDeque<(Token, Box<Op>)>,
    assigns: Vec<Assign>,
    endings: Vec<Ending>,
}

impl Side {
    fn new(id: u16, world: &World) -> Self {
        let config =
            InstanceConfig { id: InstanceId(id), cluster: true, sample: 2, ..Default::default() };
        let mut side = Self {
            instance: Instance::new(config),
            draws: Counting(u32::from(id) * 77),
            steps: VecDeque::new(),
            assigns: Vec::new(),
            endings: Vec::new(),
        };
        side.take(world.now, Input::Snapshot(Box::new(world.state.snapshot())));
        side
    }

    fn take(&mut self, now: Micros, input: Input) {
        let mut out = Vec::new();
        let draws = &mut self.draws;
        let mut cx = Cx { now, draws, store: Store::Remote, out: &mut out };
        self.instance.handle(&mut cx, input);
        for output in out {
            match output {
                Output::Store(token, op) => self.steps.push_back((token, op)),
                Output::Route(_, Routed::Assign(assign)) => self.assigns.push(assign),
                Output::Final(last) => self.endings.push(last.ending),
                _ => {}
            }
        }
    }

    /// Lets one step through; without its reply, it is sent again later.
    fn step(&mut self, world: &mut World, reply_comes: bool) -> bool {
        let Some((token, op)) = self.steps.pop_front() else { return false };
        let reply = world.state.apply(world.now, &op);
        if reply_comes {
            self.take(world.now, Input::Store(token, reply));
        } else {
            self.steps.push_front((token, op));
        }
        true
    }

    fn finish(&mut self, world: &mut World) {
        while self.step(world, true) {}
    }

    fn answer(&self) -> (NodeNum, LeaseId, u32) {
        let assign = self.assigns.last().expect("the request is answered");
        (assign.node.num, assign.lease, assign.attempt)
    }
}

struct World {
    state: State,
    now: Micros,
    // Takes the only slot of all nodes but the last.
    blockers: Vec<Release>,
}

impl World {
    fn new(blocked: bool) -> Self {
        let mut world = Self {
            state: State::new(StateConfig::default()),
            now: Micros::secs(1),
            blockers: vec![],
        };
        for n in 0..NODES {
            let mut node = register(&format!("n{n}"), &caps("zh", "en"), 1);
            node.owner = InstanceId(9);
            let reply = world.state.apply(world.now, &Op::Register(Box::new(node)));
            let Reply::Registered(Ok(node)) = reply else { panic!("{reply:?}") };
            world.state.apply(world.now, &Op::Heartbeat(node, Report::default()));
            world.state.apply(world.now, &Op::Hint(node.num, true));
            if blocked && n + 1 < NODES {
                world.block(node);
            }
        }
        world
    }

    fn block(&mut self, node: NodeRef) {
        let mut request = request();
        request.id.session = SessionId(100 + u64::from(node.num.0));
        let lease = LeaseId::new(InstanceId(9), u64::from(node.num.0));
        let target = Target { node: node.num, generation: None, via: Via::Candidate };
        let reserve = Reserve {
            target,
            request: request.id,
            attempt: 1,
            lease,
            needs: request.needs,
            excluded: Excluded::default(),
            deadline: Micros::secs(60),
        };
        let reply = self.state.apply(self.now, &Op::Reserve(reserve));
        assert!(matches!(reply, Reply::Reserved(Reserved::Granted { .. })), "{reply:?}");
        self.blockers.push(Release { node, lease, attempt: 1, request: request.id });
    }

    fn unblock(&mut self) {
        for release in std::mem::take(&mut self.blockers) {
            self.state.apply(self.now, &Op::Release(release));
        }
    }

    fn slots(&self) -> usize {
        self.state.leases_of(request().id).count()
    }
}

fn request() -> Request {
    let needs = Needs::pair(pair("zh:en"));
    let id = RequestId { session: SessionId(7), index: 0, tgt: needs.pair.tgt };
    Request { id, needs, speech: Micros::ZERO, bytes: 0, sent: Micros::ZERO }
}

/// Every cut, with nodes full or free, and freed or not while the request moves on.
fn every_cut(mut check: impl FnMut(usize, &mut World, Side, &str)) {
    for cut in 0..STEPS {
        for (blocked, freed) in [(false, false), (true, false), (true, true)] {
            let mut world = World::new(blocked);
            let mut first = Side::new(0, &world);
            first.take(world.now, Input::Request(request()));
            for _ in 0..cut {
                first.step(&mut world, true);
            }
            if freed {
                world.unblock();
            }
            check(cut, &mut world, first, &format!("cut {cut}, blocked {blocked}, freed {freed}"));
        }
    }
}

fn asks(world: &mut World) -> Side {
    let mut other = Side::new(1, world);
    other.take(world.now, Input::Request(request()));
    other.finish(world);
    other
}

#[test]
fn an_instance_dies_and_another_is_asked() {
    every_cut(|_, world, first, at| {
        let before = first.assigns.last().map(|_| first.answer());
        drop(first);
        let other = asks(world);
        assert_eq!(world.slots(), 1, "{at}");
        if let Some(before) = before {
            assert_eq!(before, other.answer(), "{at}");
        }
    });
}

#[test]
fn a_step_is_carried_out_and_its_instance_never_knows() {
    every_cut(|_, world, mut first, at| {
        first.step(world, false);
        drop(first);
        let other = asks(world);
        assert_eq!((world.slots(), other.endings.len()), (1, 0), "{at}");
    });
}

#[test]
fn a_slow_instance_and_another_come_to_the_same_answer() {
    every_cut(|_, world, mut first, at| {
        let other = asks(world);
        first.finish(world);
        assert_eq!(first.answer(), other.answer(), "{at}");
        assert_eq!(world.slots(), 1, "{at}");
    });
}

#[test]
fn two_instances_take_turns_and_come_to_the_same_answer() {
    every_cut(|_, world, mut first, at| {
        let mut other = Side::new(1, world);
        other.take(world.now, Input::Request(request()));
        while first.step(world, true) | other.step(world, true) {}
        assert_eq!(first.answer(), other.answer(), "{at}");
        assert_eq!(world.slots(), 1, "{at}");
    });
}

#[test]
fn a_lost_reply_changes_nothing() {
    every_cut(|_, world, mut first, at| {
        first.step(world, false);
        first.finish(world);
        assert_eq!((world.slots(), first.assigns.len()), (1, 1), "{at}");
    });
}

#[test]
fn a_late_reserve_takes_nothing_once_its_intent_has_moved_on() {
    let mut world = World::new(true);
    let mut first = Side::new(0, &world);
    first.take(world.now, Input::Request(request()));
    let mut reserves = Vec::new();
    while let Some((_, op)) = first.steps.front() {
        reserves.extend(matches!(**op, Op::Reserve(_)).then(|| op.clone()));
        first.step(&mut world, true);
    }
    assert!(reserves.len() > 1, "some node was full");
    world.unblock();
    for late in reserves {
        world.state.apply(world.now, &late);
    }
    assert_eq!(world.slots(), 1);
}

/// A slot loses all that was written at its homes since the request came.
fn loses(lost: impl Fn(Home) -> bool) {
    every_cut(|cut, world, mut first, at| {
        if first.assigns.is_empty() {
            let replica = World::new(!world.blockers.is_empty()).state;
            world.state.fail_over(replica, &lost);
            first.finish(world);
            let slots = world.slots();
            assert!(slots <= 1, "{at}: {slots} slots");
            assert_eq!(first.assigns.len() + first.endings.len(), 1, "{at}");
        } else {
            assert!(cut > 1, "an answer takes two steps");
        }
    });
}

#[test]
fn the_slot_of_the_session_fails_over() {
    loses(|home| matches!(home, Home::Session(_)));
}

#[test]
fn the_slots_of_the_nodes_fail_over() {
    loses(|home| matches!(home, Home::Node(_)));
}

/// The job is done and its slot given back. Whoever asks again gets a later attempt elsewhere,
/// whether the session was told or not.
#[test]
fn released_but_the_session_is_not_told() {
    for told in [false, true] {
        let mut world = World::new(false);
        let mut first = Side::new(0, &world);
        first.take(world.now, Input::Request(request()));
        first.finish(&mut world);
        let assign = *first.assigns.last().unwrap();
        let answer =
            Answer { job: assign.job, attempt: assign.attempt, outcome: AnswerOutcome::Result };
        first.take(world.now, Input::Routed(Box::new(Routed::Answer(answer, assign.node))));
        assert_eq!(first.endings, [Ending::Answered]);
        first.step(&mut world, true);
        assert_eq!(world.slots(), 0, "released");
        if told {
            first.finish(&mut world);
        }
        let other = asks(&mut world);
        let (node, lease, attempt) = other.answer();
        assert_eq!(attempt, 2);
        assert!(node != assign.node.num && lease != assign.lease);
        assert_eq!(world.slots(), 1);
    }
}
