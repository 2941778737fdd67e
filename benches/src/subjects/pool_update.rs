//! A node joins the pools of its pairs and leaves them again.

use lingua_core::{Micros, Op, Reply, Report, State, StateConfig};

use super::Subject;
use super::deployment::register;

/// Nodes that come and go in one run.
pub(super) const NODES: u64 = 20;

pub(super) struct PoolUpdate {
    state: State,
    joining: Op,
}

impl PoolUpdate {
    pub(super) fn new(nodes: u32) -> Self {
        let mut state = State::new(StateConfig::default());
        for at in 0..nodes {
            join(&mut state, &Op::Register(Box::new(register(at))));
        }
        // The next one that speaks all six languages.
        let joining = register(nodes.next_multiple_of(3) + 2);
        Self { state, joining: Op::Register(Box::new(joining)) }
    }
}

fn join(state: &mut State, register: &Op) -> lingua_core::NodeRef {
    let Reply::Registered(Ok(node)) = state.apply(Micros::ZERO, register) else {
        unreachable!("there is room for the node");
    };
    state.apply(Micros::ZERO, &Op::Heartbeat(node, Report::default()));
    node
}

impl Subject for PoolUpdate {
    fn run(&mut self) -> u64 {
        let mut sum = 0;
        for _ in 0..NODES {
            let node = join(&mut self.state, &self.joining);
            self.state.apply(Micros::ZERO, &Op::Remove(node));
            sum += u64::from(node.generation);
        }
        sum
    }
}
