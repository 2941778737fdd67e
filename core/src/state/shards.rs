//! A pair's members in shards of bounded size.
//!
//! Shards bound the size of a key. They carry no meaning for choice; the policies that do choose
//! by shard exist to be measured.

use crate::NodeNum;

/// The shards of one pair. A shard may be empty (a hole) after members left.
#[derive(Debug, Clone, Default)]
pub struct Shards {
    // Each shard sorted by node number, so that all executions see one order.
    shards: Vec<Vec<NodeNum>>,
    len: u32,
}

impl Shards {
    /// Most shards of one pair.
    pub const MAX: usize = 1_000;

    /// How many members.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All shards, holes included.
    pub fn all(&self) -> &[Vec<NodeNum>] {
        &self.shards
    }

    /// The shard that the next member would join; none: the pair is full.
    pub fn room(&self, size: usize) -> Option<u16> {
        let first = self.shards.iter().position(|shard| shard.len() < size);
        let shard = first.unwrap_or(self.shards.len());
        (shard < Self::MAX).then_some(shard as u16)
    }

    /// Adds a member to the first shard with room.
    ///
    /// # Panics
    /// When the pair is full: callers ask [`Self::room`] first.
    pub(crate) fn insert(&mut self, node: NodeNum, size: usize) -> u16 {
        let shard = self.room(size).expect("room was checked");
        self.insert_at(node, shard);
        shard
    }

    /// Adds a member to a shard of the caller's choice.
    pub(crate) fn insert_at(&mut self, node: NodeNum, shard: u16) {
        let at = usize::from(shard);
        if at >= self.shards.len() {
            self.shards.resize(at + 1, Vec::new());
        }
        let members = &mut self.shards[at];
        if let Err(pos) = members.binary_search(&node) {
            members.insert(pos, node);
            self.len += 1;
        }
    }

    /// Removes a member from its shard.
    pub(crate) fn remove(&mut self, node: NodeNum, shard: u16) {
        let Some(members) = self.shards.get_mut(usize::from(shard)) else { return };
        if let Ok(pos) = members.binary_search(&node) {
            members.remove(pos);
            self.len -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_and_fifty_members_make_three_shards() {
        let mut shards = Shards::default();
        for n in 0..250 {
            shards.insert(NodeNum(n), 100);
        }
        let sizes: Vec<_> = shards.all().iter().map(Vec::len).collect();
        assert_eq!(sizes, [100, 100, 50]);
    }

    #[test]
    fn a_hole_is_filled_first() {
        let mut shards = Shards::default();
        for n in 0..4 {
            shards.insert(NodeNum(n), 2);
        }
        shards.remove(NodeNum(0), 0);
        shards.remove(NodeNum(1), 0);
        assert_eq!(shards.len(), 2);
        assert_eq!(shards.insert(NodeNum(9), 2), 0);
    }

    #[test]
    fn a_full_pair_has_no_room() {
        let mut shards = Shards::default();
        for n in 0..Shards::MAX as u32 {
            shards.insert(NodeNum(n), 1);
        }
        assert_eq!(shards.room(1), None);
    }
}
