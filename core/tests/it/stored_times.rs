//! What is kept for a while counts by its stored time, never by when it happens to be dropped.

use lingua_core::*;

use crate::fixture::{caps, pair, register};

struct World {
    state: State,
    now: Micros,
    leases: u64,
}

impl World {
    fn new(max_jobs: u32) -> Self {
        let mut this =
            Self { state: State::new(StateConfig::default()), now: Micros::secs(1), leases: 0 };
        this.node("zh", max_jobs);
        this
    }

    fn node(&mut self, asr: &str, max_jobs: u32) {
        let op = Op::Register(Box::new(register("a", &caps(asr, "en"), max_jobs)));
        let Reply::Registered(Ok(node)) = self.state.apply(self.now, &op) else { panic!() };
        self.state.apply(self.now, &Op::Heartbeat(node, Report::default()));
    }

    fn request(index: u32) -> RequestId {
        RequestId { session: SessionId(1), index, tgt: "en".parse().unwrap() }
    }

    fn dispatch(&mut self, index: u32, attempt: u32) -> Outcome {
        self.leases += 1;
        let d = Dispatch {
            request: Self::request(index),
            attempt,
            lease: LeaseId(self.leases),
            needs: Needs::pair(pair("zh:en")),
            affinity: false,
            preferred: None,
            excluded: Excluded::default(),
            candidates: Candidates::default(),
            scan: Some(0),
            deadline: self.now + Micros::secs(60),
        };
        match self.state.apply(self.now, &Op::Dispatch(d)) {
            Reply::Dispatched(dispatched) => dispatched.outcome,
            reply => panic!("{reply:?}"),
        }
    }

    fn release(&mut self, index: u32, grant: Grant) {
        let request = Self::request(index);
        let release = Release { node: grant.node, lease: grant.lease, attempt: 1, request };
        self.state.apply(self.now, &Op::Release(release));
    }

    fn open(&mut self, index: u32) -> Intended {
        self.leases += 1;
        let open = Open {
            request: Self::request(index),
            attempt: 1,
            lease: LeaseId(self.leases),
            affinity: false,
            target: Some(Target { node: NodeNum(0), generation: None, via: Via::Candidate }),
            deadline: self.now + Micros::secs(60),
        };
        match self.state.apply(self.now, &Op::Open(open)) {
            Reply::Intended(intended) => intended,
            reply => panic!("{reply:?}"),
        }
    }

    fn reserve(&mut self, lease: u64) -> Reserved {
        let reserve = Reserve {
            target: Target { node: NodeNum(0), generation: None, via: Via::Candidate },
            request: Self::request(lease as u32),
            attempt: 1,
            lease: LeaseId(lease),
            needs: Needs::pair(pair("zh:en")),
            excluded: Excluded::default(),
            deadline: self.now + Micros::secs(60),
        };
        match self.state.apply(self.now, &Op::Reserve(reserve)) {
            Reply::Reserved(reserved) => reserved,
            reply => panic!("{reply:?}"),
        }
    }
}

#[test]
fn an_old_answer_is_over_however_many_ended_before_it() {
    let mut world = World::new(20);
    for index in 0..12 {
        let Outcome::Granted(grant) = world.dispatch(index, 1) else { panic!("refused") };
        world.release(index, grant);
    }
    world.now = world.now + world.state.config().answer_life;
    world.node("zh", 20);
    assert!(matches!(world.dispatch(11, 1), Outcome::Granted(_)));
}

#[test]
fn an_old_intent_is_over_however_many_were_opened_before_it() {
    let mut world = World::new(1);
    for index in 0..12 {
        world.open(index);
    }
    world.now = world.now + Micros::secs(60) + world.state.config().answer_life;
    let next = LeaseId(world.leases + 1);
    let Intended::Stands(intent) = world.open(11) else { panic!("superseded") };
    assert_eq!(intent.lease, next);
}

#[test]
fn an_old_verdict_is_over_however_many_were_given_before_it() {
    let mut world = World::new(1);
    for lease in 1..=12 {
        world.reserve(lease);
    }
    let granted = |reserved| matches!(reserved, Reserved::Granted { .. });
    assert!(!granted(world.reserve(12)));
    world.now = world.now + Micros::secs(40);
    world.node("zh", 1);
    assert!(granted(world.reserve(12)));
}

#[test]
fn an_answer_whose_lease_was_fenced_is_over_after_its_life() {
    let mut world = World::new(1);
    assert!(matches!(world.dispatch(0, 1), Outcome::Granted(_)));
    // Full: the former attempt's slot is freed, then this node is drained away.
    let node = NodeRef { num: NodeNum(0), generation: 1 };
    world.state.apply(world.now, &Op::Drain(node, true));
    assert!(matches!(world.dispatch(0, 2), Outcome::Refused(_)));
    world.now = world.now + world.state.config().answer_life;
    world.node("zh", 1);
    assert!(matches!(world.dispatch(0, 1), Outcome::Granted(_)));
}

#[test]
fn a_node_that_registers_anew_leaves_the_free_index_of_its_former_class() {
    let mut world = World::new(1);
    world.node("de zh", 1);
    let dump = world.state.dump(world.now);
    let free: Vec<_> = dump.iter().filter(|line| line.starts_with("free")).collect();
    assert_eq!(free, ["free 1 [0]"]);
}
