//! A snapshot put together from what another execution of the state has stored.

use crate::state::Snapshot;
use crate::{Capabilities, ClassId, Directory, NodeNum, StateConfig};

/// What is stored of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNode {
    /// Its number.
    pub num: NodeNum,
    /// Its generation, where it is registered.
    pub live: Option<u32>,
    /// Jobs at the node, leased or reported.
    pub load: u32,
    /// Whether it may be given jobs.
    pub available: bool,
    /// Its class, and its shard in each pair of the class.
    pub listing: Option<(u32, Vec<u16>)>,
}

/// What is stored does not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// Two classes have the same capabilities.
    #[error("class {0} has the capabilities of an earlier one")]
    SameClass(u32),
    /// A node's number is too large.
    #[error("node {} is beyond the largest number", .0.0)]
    Number(NodeNum),
    /// A node is listed in a class or shards that cannot be.
    #[error("node {} is listed in a class or shard that is not there", .0.0)]
    Listing(NodeNum),
}

impl Snapshot {
    /// Puts a snapshot together: classes in order of their numbers, nodes in any order.
    ///
    /// # Errors
    /// The parts contradict each other.
    pub fn restore(
        config: &StateConfig,
        classes: &[Capabilities],
        nodes: impl IntoIterator<Item = StoredNode>,
    ) -> Result<Self, RestoreError> {
        let mut directory = Directory::new(config.pool_rule, config.shard_size);
        for (id, caps) in classes.iter().enumerate() {
            if !directory.add_class(caps, ClassId(id as u32)) {
                return Err(RestoreError::SameClass(id as u32));
            }
        }
        let mut this = Self { directory, ..Self::default() };
        for node in nodes {
            let at = node.num.index();
            if node.num.0 >= crate::State::NODES_MAX {
                return Err(RestoreError::Number(node.num));
            }
            if at >= this.live.len() {
                this.live.resize(at + 1, None);
                this.loads.resize(at + 1, 0);
            }
            this.live[at] = node.live;
            this.loads[at] = node.load;
            if let Some((class, shards)) = node.listing {
                if !this.directory.list_as(node.num, ClassId(class), shards) {
                    return Err(RestoreError::Listing(node.num));
                }
                this.directory.set_available(node.num, node.available);
            }
        }
        Ok(this)
    }
}
