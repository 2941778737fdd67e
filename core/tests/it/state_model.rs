//! The state against a naive model, with random operations.

use std::collections::BTreeMap;

use lingua_core::select::{self, Choice, Policy, ShardQuirks, View};
use lingua_core::*;
use proptest::prelude::*;

use crate::cluster_steps;
use crate::fixture::{Counting, caps, pair, register};

#[derive(Debug, Clone)]
enum Step {
    Register(u8, u8, u32),
    Heartbeat(u8, u32),
    Drain(u8, bool),
    Remove(u8),
    Dispatch(u8, u8),
    Again(u8),
    Release(u8),
    Confirm(u8),
    Wait(u64),
    Cluster(cluster_steps::Step),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let node = 0u8..6;
    let step = prop_oneof![
        2 => (node.clone(), 0u8..3, 1u32..4).prop_map(|(n, c, m)| Step::Register(n, c, m)),
        3 => (node.clone(), 0u32..5).prop_map(|(n, r)| Step::Heartbeat(n, r)),
        1 => (node.clone(), any::<bool>()).prop_map(|(n, on)| Step::Drain(n, on)),
        1 => node.prop_map(Step::Remove),
        8 => (0u8..3, 0u8..40).prop_map(|(p, s)| Step::Dispatch(p, s)),
        1 => any::<u8>().prop_map(Step::Again),
        4 => any::<u8>().prop_map(Step::Release),
        2 => any::<u8>().prop_map(Step::Confirm),
        3 => (0u64..20_000).prop_map(Step::Wait),
        8 => cluster_steps::steps().prop_map(Step::Cluster),
    ];
    prop::collection::vec(step, 1..160)
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ModelNode {
    pub(crate) node: Option<NodeRef>,
    live: bool,
    reported: bool,
    draining: bool,
    languages: u8,
    max_jobs: u32,
    // Expiry, deadline, order of grant, whether confirmed.
    pub(crate) leases: BTreeMap<LeaseId, (Micros, Micros, u64, bool)>,
    beyond: [u32; 2],
    last_seen: Micros,
    interval: Micros,
    until: Micros,
}

impl ModelNode {
    fn busy(&self) -> u32 {
        self.leases.len() as u32 + self.beyond[0].min(self.beyond[1])
    }

    pub(crate) fn is_free(&self, now: Micros, asked: u8) -> bool {
        self.live
            && self.reported
            && !self.draining
            && self.until > now
            && speaks(self.languages, asked)
            && self.busy() < self.max_jobs
    }

    pub(crate) fn sweep(&mut self, now: Micros) {
        self.leases.retain(|_, (expires, ..)| *expires > now);
    }
}

/// Languages of the three kinds of node, and the three pairs asked for.
const LANGUAGES: [(&str, &str); 3] = [("zh", "en"), ("en zh", "en zh"), ("de", "en")];
pub(crate) const PAIRS: [&str; 3] = ["zh:en", "en:zh", "de:en"];

fn speaks(languages: u8, asked: u8) -> bool {
    let (asr, tts) = LANGUAGES[usize::from(languages)];
    let (src, tgt) = PAIRS[usize::from(asked)].split_once(':').unwrap();
    asr.contains(src) && tts.contains(tgt)
}

pub(crate) struct Both {
    pub(crate) state: State,
    pub(crate) nodes: Vec<ModelNode>,
    granted: Vec<(usize, Grant, Dispatch)>,
    pub(crate) now: Micros,
    pub(crate) next: u64,
    draws: Counting,
    pub(crate) cluster: cluster_steps::Model,
}

impl Both {
    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Register(n, languages, max_jobs) => self.register(n, languages, max_jobs),
            Step::Heartbeat(n, running) => self.heartbeat(n, running)?,
            Step::Drain(n, on) => {
                let node = &mut self.nodes[usize::from(n)];
                if let Some(node_ref) = node.node {
                    self.state.apply(self.now, &Op::Drain(node_ref, on));
                    node.draining = if node.live { on } else { node.draining };
                }
            }
            Step::Remove(n) => {
                let node = &mut self.nodes[usize::from(n)];
                if let Some(node_ref) = node.node {
                    self.state.apply(self.now, &Op::Remove(node_ref));
                    node.live = false;
                }
            }
            Step::Dispatch(asked, session) => self.dispatch(asked, session)?,
            Step::Again(which) => self.again(which)?,
            Step::Release(which) => self.release(which)?,
            Step::Confirm(which) => self.confirm(which)?,
            Step::Cluster(ref step) => self.cluster_step(step)?,
            Step::Wait(ms) => self.now = self.now + Micros::millis(ms),
        }
        self.compare()
    }

    fn register(&mut self, n: u8, languages: u8, max_jobs: u32) {
        let (asr, tts) = LANGUAGES[usize::from(languages)];
        let op = Op::Register(Box::new(register(&format!("n{n}"), &caps(asr, tts), max_jobs)));
        let Reply::Registered(Ok(node)) = self.state.apply(self.now, &op) else {
            panic!("registration refused");
        };
        let model = &mut self.nodes[usize::from(n)];
        model.sweep(self.now);
        *model = ModelNode {
            node: Some(node),
            live: true,
            languages,
            max_jobs,
            leases: std::mem::take(&mut model.leases),
            last_seen: self.now,
            until: self.now + Micros::secs(45),
            ..ModelNode::default()
        };
    }

    fn heartbeat(&mut self, n: u8, running: u32) -> Result<(), TestCaseError> {
        let model = &mut self.nodes[usize::from(n)];
        let Some(node) = model.node else { return Ok(()) };
        let report = Report { running, ..Report::default() };
        let reply = self.state.apply(self.now, &Op::Heartbeat(node, report));
        let Reply::Node(result) = reply else { panic!("{reply:?}") };
        prop_assert_eq!(result.is_ok(), model.live);
        if !model.live {
            return Ok(());
        }
        model.sweep(self.now);
        model.until = self.now + Micros::secs(45);
        if model.reported {
            let usual = Micros(model.interval.0 / 4 * 3).max(Micros::secs(1));
            let least = if model.interval == Micros::ZERO { Micros::secs(8) } else { usual };
            model.interval = (self.now - model.last_seen).max(least);
            model.until = self.now + Micros(model.interval.0 * 3);
        }
        model.reported = true;
        model.last_seen = self.now;
        let now = self.now;
        let confirmed = model.leases.values().filter(|(.., confirmed)| *confirmed).count();
        let old = confirmed.saturating_sub(running as usize);
        // Oldest first.
        let mut leases: Vec<_> = model.leases.iter_mut().collect();
        leases.sort_by_key(|(_, (_, _, order, _))| *order);
        let renewed = leases.into_iter().filter(|(_, (.., confirmed))| *confirmed).skip(old);
        for (_, (expires, deadline, ..)) in renewed {
            *expires = (now + Micros::secs(30)).min(*deadline);
        }
        let beyond = running.saturating_sub(model.leases.len() as u32);
        model.beyond = [model.beyond[1], beyond];
        Ok(())
    }

    fn dispatch(&mut self, asked: u8, session: u8) -> Result<(), TestCaseError> {
        let needs = Needs::pair(pair(PAIRS[usize::from(asked)]));
        let request = RequestId {
            session: SessionId(u64::from(session)),
            index: self.next as u32,
            tgt: needs.pair.tgt,
        };
        let words = self.draws.words(request, 1);
        let excluded = Excluded::default();
        let choice =
            Choice { needs, excluded: &excluded, sample: 2, quirks: ShardQuirks::NONE, turn: 0 };
        let view = View { directory: self.state.directory(), loads: self.state.loads() };
        let chosen = select::choose(Policy::SampleScan, view, &choice, &words);
        self.next += 1;
        let d = Dispatch {
            request,
            attempt: 1,
            lease: LeaseId::new(InstanceId(u16::from(session % 2)), self.next),
            needs,
            affinity: true,
            preferred: None,
            excluded,
            candidates: chosen.candidates,
            scan: Some(words.scan()),
            deadline: self.now + Micros::secs(60),
        };
        let reply = self.state.apply(self.now, &Op::Dispatch(d.clone()));
        let Reply::Dispatched(dispatched) = reply else { panic!("{reply:?}") };
        let now = self.now;
        self.nodes.iter_mut().for_each(|node| node.sweep(now));
        let free = |node: &ModelNode| node.is_free(now, asked);
        let Outcome::Granted(grant) = dispatched.outcome else {
            prop_assert!(!self.nodes.iter().any(free), "refused while a node is free");
            return Ok(());
        };
        let at = self.nodes.iter().position(|node| node.node == Some(grant.node));
        let at = at.expect("granted on a known generation");
        prop_assert!(free(&self.nodes[at]), "granted on a node that is not free");
        let confirmed = d.lease.instance() == InstanceId(0);
        let life = Micros::secs(if confirmed { 30 } else { 5 });
        self.nodes[at].leases.insert(d.lease, (now + life, d.deadline, self.next, confirmed));
        self.granted.push((at, grant, d));
        Ok(())
    }

    /// The same attempt asked again gets the same answer, and takes no second slot.
    fn again(&mut self, which: u8) -> Result<(), TestCaseError> {
        if self.granted.is_empty() {
            return Ok(());
        }
        let (_, grant, d) = &self.granted[usize::from(which) % self.granted.len()];
        let reply = self.state.apply(self.now, &Op::Dispatch(d.clone()));
        let Reply::Dispatched(dispatched) = reply else { panic!("{reply:?}") };
        prop_assert_eq!(dispatched.outcome, Outcome::Repeated(*grant));
        let now = self.now;
        self.nodes.iter_mut().for_each(|node| node.sweep(now));
        Ok(())
    }

    fn release(&mut self, which: u8) -> Result<(), TestCaseError> {
        if self.granted.is_empty() {
            return Ok(());
        }
        let (at, grant, d) = &self.granted[usize::from(which) % self.granted.len()];
        let release = Release {
            node: grant.node,
            lease: grant.lease,
            attempt: d.attempt,
            request: d.request,
        };
        let stale = Release { attempt: 2, ..release };
        let held = self.nodes[*at].leases.contains_key(&grant.lease);
        let mut apply = |release| match self.state.apply(self.now, &Op::Release(release)) {
            Reply::Released(released) => released,
            reply => panic!("{reply:?}"),
        };
        // Expired leases may or may not have been swept by now.
        let refused = apply(stale);
        let freed = |released| matches!(released, Released::Freed { .. });
        prop_assert!(!freed(refused));
        let released = apply(release);
        if held && refused == Released::StaleAttempt {
            prop_assert!(freed(released));
        }
        prop_assert_eq!(apply(release), Released::NoLease);
        self.nodes[*at].leases.remove(&grant.lease);
        Ok(())
    }

    fn confirm(&mut self, which: u8) -> Result<(), TestCaseError> {
        if self.granted.is_empty() {
            return Ok(());
        }
        let (at, grant, _) = &self.granted[usize::from(which) % self.granted.len()];
        let reply = self.state.apply(self.now, &Op::Confirm(grant.node, grant.lease));
        let Reply::Confirmed(lives) = reply else { panic!("{reply:?}") };
        let node = &mut self.nodes[*at];
        node.sweep(self.now);
        let current = node.live && node.node == Some(grant.node);
        let lease = node.leases.get_mut(&grant.lease);
        prop_assert_eq!(lives, lease.is_some() && current);
        if let Some((expires, deadline, _, confirmed)) = lease.filter(|_| current) {
            *confirmed = true;
            *expires = (self.now + Micros::secs(30)).min(*deadline);
        }
        Ok(())
    }

    /// Every lease the model holds is held, within its maximum, and no other.
    fn compare(&mut self) -> Result<(), TestCaseError> {
        let mut state = self.state.clone();
        state.sweep_all(self.now);
        let mut held: Vec<LeaseId> = state.leases().map(|(_, lease, _)| lease).collect();
        held.sort_unstable();
        let now = self.now;
        let live = |node: &ModelNode| -> Vec<LeaseId> {
            let unexpired = node.leases.iter().filter(|(_, (expires, ..))| *expires > now);
            unexpired.map(|(&lease, _)| lease).collect()
        };
        let mut expected: Vec<LeaseId> = self.nodes.iter().flat_map(live).collect();
        expected.sort_unstable();
        prop_assert_eq!(&held, &expected);
        prop_assert_eq!(state.lease_total(), held.len() as u64);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_state_agrees_with_a_naive_model(steps in steps()) {
        let mut both = Both {
            state: State::new(StateConfig::default()),
            nodes: vec![ModelNode::default(); 6],
            granted: Vec::new(),
            now: Micros::secs(1),
            next: 0,
            draws: Counting(7),
            cluster: cluster_steps::Model::default(),
        };
        for step in &steps {
            both.step(step)?;
        }
    }
}
