//! The fake nodes: one task per node socket.

mod messages;
mod node;
mod upsets;
mod work;

use std::sync::Arc;

use lingua_scenarios::Scenario;

use crate::context::Context;
use messages::Identity;
use node::Node;

pub(crate) use upsets::strikes_nodes;

/// Starts all nodes of a scenario.
pub(crate) fn start(context: &Arc<Context>, scenario: &Scenario) {
    let mut upsets = upsets::of_nodes(scenario, &context.streams).into_iter().zip(0..);
    for (index, group) in scenario.nodes.iter().enumerate() {
        let prefix = group.name_at(index);
        let group = Arc::new(group.clone());
        for n in 0..group.count {
            let identity = Identity {
                group: group.clone(),
                name: format!("{prefix}-{n}"),
                tells_max_jobs: context.profile.tells_max_jobs(),
                run: context.run,
            };
            let (own, number) = upsets.next().unwrap_or_default();
            if context.shard.has(number) {
                let node = Node::new(context.clone(), identity, (index as u32, number), own);
                tokio::spawn(node.live());
            }
        }
    }
}
