//! The place that every step on shared state passes.

use lingua_core::{
    Directory, Dispatch, Dispatched, Home, Micros, NodeRef, Op, Promises, Release, Released, Reply,
    SharedState, State, StateConfig,
};

use crate::plant::{Planted, Tamper};

use super::across::Across;
use super::{
    Broken, i2_ends_once, i3_same_answer, i4_one_live_lease, i5_affinity, i9_no_needless_refusal,
};

/// A [`State`] and those who watch it.
#[derive(Debug)]
pub struct Watch {
    state: State,
    promises: Promises,
    planted: Planted,
    i3: i3_same_answer::Answers,
    across: Across,
    found: Vec<(bool, Broken)>,
}

impl Watch {
    /// An empty state and its watch.
    pub(crate) fn new(mut config: StateConfig, promises: Promises, planted: Planted) -> Self {
        planted.bend(&mut config);
        Self {
            planted,
            state: State::new(config),
            promises,
            i3: i3_same_answer::Answers::default(),
            across: Across::default(),
            found: Vec::new(),
        }
    }

    /// The state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Leases that are held.
    pub fn lease_total(&self) -> u64 {
        self.state.lease_total()
    }

    /// What was found broken since the last call, each with whether it was promised.
    pub fn take_found(&mut self) -> Vec<(bool, Broken)> {
        std::mem::take(&mut self.found)
    }

    /// Whether anything was found.
    pub fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// The state starts anew, empty: its process died.
    pub fn restart(&mut self) {
        self.state = State::new(self.state.config().clone());
        self.i3 = i3_same_answer::Answers::default();
    }

    /// An older copy takes over: what was written since is lost, and answers with it.
    pub fn fail_over(&mut self, replica: State) {
        self.state = replica;
        self.i3 = i3_same_answer::Answers::default();
    }

    /// Some slots of a Cluster fail over to an older copy.
    pub fn fail_over_slots(&mut self, replica: State, lost: impl Fn(Home) -> bool) {
        self.state.fail_over(replica, lost);
        self.across = Across::default();
    }

    /// After everything has ended: every reservation must have ended too.
    pub fn check_end(&mut self, now: Micros) {
        let broken = i2_ends_once::check_end(now, &mut self.state);
        self.found.extend(broken.map(|broken| (true, broken)));
    }
}

impl Watch {
    fn check(&mut self, now: Micros, d: &Dispatch, got: &Dispatched) {
        let promises = self.promises;
        let state = &self.state;
        let found = [
            (true, self.i3.check(now, d, got)),
            (promises.lease_kept, i4_one_live_lease::check(now, state, d, got)),
            (promises.affinity, i5_affinity::check(now, state, d, got)),
            (promises.no_needless_refusal, i9_no_needless_refusal::check(now, state, d, got)),
        ];
        for (promised, broken) in found {
            self.found.extend(broken.map(|broken| (promised, broken)));
        }
    }

    /// A step of a dispatch on a Cluster.
    fn apply_across(&mut self, now: Micros, op: &Op) -> Reply {
        if let Op::Open(open) = op
            && self.planted.forgets_answer(open.attempt)
        {
            self.state.forget(open.request);
        }
        let repeated =
            matches!(op, Op::Reserve(r) if self.state.has_verdict(r.target.node, r.lease));
        let reply = self.state.apply(now, op);
        let found = self.across.check(now, &self.state, self.promises, (op, &reply), repeated);
        self.found.extend(found);
        reply
    }

    /// Ends the lease of a grant behind the back of everybody who holds it.
    fn drop_lease(&mut self, now: Micros, d: &Dispatch) {
        let held = self.state.leases().find(|&(_, lease, _)| lease == d.lease);
        if let Some((num, lease, _)) = held {
            let node = NodeRef { num, generation: 0 };
            let release = Release { node, lease, attempt: d.attempt, request: d.request };
            self.state.apply(now, &Op::Release(release));
        }
    }
}

impl SharedState for Watch {
    fn apply(&mut self, now: Micros, op: &Op) -> Reply {
        match op {
            Op::Release(_) if self.planted.on_release() == Tamper::Swallow => {
                Reply::Released(Released::Freed { was_full: false })
            }
            Op::Dispatch(d) => {
                if self.planted.before_dispatch(d) == Tamper::ForgetAnswer {
                    self.state.forget(d.request);
                }
                let mut reply = if self.planted.is_endless() {
                    let endless = Dispatch { deadline: Micros::NEVER, ..d.clone() };
                    self.state.apply(now, &Op::Dispatch(endless))
                } else {
                    self.state.apply(now, op)
                };
                if let Reply::Dispatched(got) = &mut reply {
                    if self.planted.on_dispatched(got) == Tamper::DropLease {
                        self.drop_lease(now, d);
                    }
                    let got = *got;
                    self.check(now, d, &got);
                }
                reply
            }
            Op::Open(_) | Op::Reserve(_) | Op::Move(_) => self.apply_across(now, op),
            _ => self.state.apply(now, op),
        }
    }

    fn directory(&self) -> &Directory {
        self.state.directory()
    }

    fn loads(&self) -> &[u32] {
        self.state.loads()
    }
}
