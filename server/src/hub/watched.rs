//! The state, watched for what operators want to read of it.

use lingua_core::{Directory, Micros, Op, Reply, SharedState, State};

use crate::hub::log::Log;
use crate::hub::nodes::Nodes;

pub(super) struct Watched<'a> {
    pub(super) state: &'a mut State,
    pub(super) nodes: &'a Nodes,
    pub(super) log: &'a mut Log,
}

impl SharedState for Watched<'_> {
    fn apply(&mut self, now: Micros, op: &Op) -> Reply {
        match op {
            Op::RecordAffinity(record) => {
                self.log.affinity_set(now, record.session, self.nodes.name(record.node));
            }
            // Most sessions have none to clear.
            Op::ClearAffinity(session) => {
                if let Some(node) = self.state.affinity(now, *session) {
                    self.log.affinity_cleared(now, *session, self.nodes.name(node));
                }
            }
            _ => {}
        }
        self.state.apply(now, op)
    }

    fn directory(&self) -> &Directory {
        self.state.directory()
    }

    fn loads(&self) -> &[u32] {
        self.state.loads()
    }
}
