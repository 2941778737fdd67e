//! The place that every step on shared state passes.

use lingua_core::{Directory, Micros, Op, Promises, Reply, SharedState, State, StateConfig};

use super::{
    Broken, i2_ends_once, i3_same_answer, i4_one_live_lease, i5_affinity, i9_no_needless_refusal,
};

/// A [`State`] and those who watch it.
#[derive(Debug)]
pub struct Watch {
    state: State,
    promises: Promises,
    i3: i3_same_answer::Answers,
    found: Vec<(bool, Broken)>,
}

impl Watch {
    /// An empty state and its watch.
    pub fn new(config: StateConfig, promises: Promises) -> Self {
        Self {
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

impl SharedState for Watch {
    fn apply(&mut self, now: Micros, op: &Op) -> Reply {
        let reply = self.state.apply(now, op);
        if let (Op::Dispatch(d), Reply::Dispatched(dispatched)) = (op, &reply) {
            let promises = self.promises;
            let state = &self.state;
            let found = [
                (true, self.i3.check(now, d, dispatched)),
                (promises.lease_kept, i4_one_live_lease::check(now, state, d, dispatched)),
                (promises.affinity, i5_affinity::check(now, state, d, dispatched)),
                (
                    promises.no_needless_refusal,
                    i9_no_needless_refusal::check(now, state, d, dispatched),
                ),
            ];
            for (promised, broken) in found {
                self.found.extend(broken.map(|broken| (promised, broken)));
            }
        }
        reply
    }

    fn directory(&self) -> &Directory {
        self.state.directory()
    }

    fn loads(&self) -> &[u32] {
        self.state.loads()
    }
}
