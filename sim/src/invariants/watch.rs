//! The place that every step on shared state passes.

use lingua_core::{
    Directory, Dispatch, Dispatched, Micros, NodeRef, Op, Promises, Release, Released, Reply,
    SharedState, State, StateConfig,
};

use crate::plant::{Planted, Tamper};

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
                Reply::Released(Released::Freed)
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
