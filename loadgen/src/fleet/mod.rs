//! The fake nodes: one task per node socket.

mod node;
mod work;

use std::sync::Arc;

use lingua_scenarios::Scenario;

use crate::context::Context;
use node::Node;

/// Starts all nodes of a scenario.
pub(crate) fn start(context: &Arc<Context>, scenario: &Scenario) {
    for (index, group) in scenario.nodes.iter().enumerate() {
        let prefix = group.name_at(index);
        let group = Arc::new(group.clone());
        for n in 0..group.count {
            let name = format!("{prefix}-{n}");
            let node = Node::new(context.clone(), group.clone(), name);
            tokio::spawn(node.live());
        }
    }
}
