//! Consistent hashing with bounded load.

use std::collections::BTreeMap;

use super::score::{Weight, lot};
use crate::InstanceId;

/// Keys (rooms, tenants, or shards of them) and the instances that they are given.
///
/// A key goes to the instance that it prefers most of those below their bound. The bound is
/// `bound_percent` of the instance's fair share, rounded up; it holds after every
/// [`Ring::place`] and every change of instances. [`Ring::remove`] lets loads drift, which
/// [`Ring::settle`] puts right.
///
/// A key is the [`hash`](super::hash) of a name. Of 10^6 names, two share a key with a chance of
/// 3 in 10^8; they then live together.
#[derive(Debug, Clone)]
pub struct Ring {
    bound_percent: u32,
    // Sorted by instance.
    members: Vec<Member>,
    // The sum of their weights.
    weight: u64,
    owners: BTreeMap<u64, InstanceId>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    instance: InstanceId,
    weight: Weight,
    load: usize,
}

/// A key that goes to another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Which key.
    pub key: u64,
    /// Who had it; may be gone.
    pub from: InstanceId,
    /// Who gets it; absent when nobody is left.
    pub to: Option<InstanceId>,
}

/// Why the instances of a ring cannot be changed so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The instance is there already.
    #[error("instance {} is in the ring already: give each its own id", .0.0)]
    Duplicate(InstanceId),
    /// The instance is not there.
    #[error("instance {} is not in the ring", .0.0)]
    Unknown(InstanceId),
    /// There are as many as there may be.
    #[error("the ring has {max} instances, the most there may be", max = Ring::INSTANCES_MAX)]
    Full,
}

impl Ring {
    /// Most instances.
    pub const INSTANCES_MAX: usize = 1 << 12;
    /// The usual bound: a quarter above the fair share.
    pub const BOUND_PERCENT: u32 = 125;
    /// A newcomer takes at most a tenth more than its fair share at once.
    const NEWCOMER_PERCENT: u32 = 110;

    /// A ring without instances.
    ///
    /// # Panics
    /// When the bound does not exceed 100 percent.
    pub fn new(bound_percent: u32) -> Self {
        assert!(bound_percent > 100, "a bound leaves room above the fair share");
        Self { bound_percent, members: Vec::new(), weight: 0, owners: BTreeMap::new() }
    }

    /// How many keys are placed.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The instances with their weights and how many keys each has, sorted.
    pub fn loads(&self) -> impl ExactSizeIterator<Item = (InstanceId, Weight, usize)> + '_ {
        self.members.iter().map(|member| (member.instance, member.weight, member.load))
    }

    /// Whose a key is.
    pub fn owner(&self, key: u64) -> Option<InstanceId> {
        self.owners.get(&key).copied()
    }

    /// Places a key, or tells where it is; absent when there is no instance.
    pub fn place(&mut self, key: u64) -> Option<InstanceId> {
        if let Some(owner) = self.owner(key) {
            return Some(owner);
        }
        let at = self.preferred(key, self.owners.len() + 1)?;
        self.members[at].load += 1;
        let instance = self.members[at].instance;
        self.owners.insert(key, instance);
        Some(instance)
    }

    /// Forgets a key; tells whose it was.
    pub fn remove(&mut self, key: u64) -> Option<InstanceId> {
        let owner = self.owners.remove(&key)?;
        if let Ok(at) = self.find(owner) {
            self.members[at].load -= 1;
        }
        Some(owner)
    }

    /// Adds an instance. It gets the keys that prefer it to where they are.
    ///
    /// # Errors
    /// When it is there already, or there are too many.
    pub fn join(&mut self, instance: InstanceId, weight: Weight) -> Result<Vec<Move>, RingError> {
        let at = match self.find(instance) {
            Ok(_) => return Err(RingError::Duplicate(instance)),
            Err(_) if self.members.len() >= Self::INSTANCES_MAX => return Err(RingError::Full),
            Err(at) => at,
        };
        self.members.insert(at, Member { instance, weight, load: 0 });
        self.weight += u64::from(weight.get());
        Ok(self.attract(at))
    }

    /// Removes an instance. Its keys go to the next that they prefer.
    ///
    /// # Errors
    /// When it is not there.
    pub fn leave(&mut self, instance: InstanceId) -> Result<Vec<Move>, RingError> {
        let at = self.find(instance).map_err(|_| RingError::Unknown(instance))?;
        let gone = self.members.remove(at);
        self.weight -= u64::from(gone.weight.get());
        let mut moves = self.rehome(|owner, _| owner.is_none());
        moves.extend(self.settle());
        Ok(moves)
    }

    /// Changes an instance's weight.
    ///
    /// # Errors
    /// When it is not there.
    pub fn reweigh(
        &mut self,
        instance: InstanceId,
        weight: Weight,
    ) -> Result<Vec<Move>, RingError> {
        let at = self.find(instance).map_err(|_| RingError::Unknown(instance))?;
        let former = std::mem::replace(&mut self.members[at].weight, weight);
        self.weight = self.weight - u64::from(former.get()) + u64::from(weight.get());
        if weight >= former {
            return Ok(self.attract(at));
        }
        Ok(self.settle())
    }

    /// Moves keys off the instances that are above their bound.
    pub fn settle(&mut self) -> Vec<Move> {
        let keys = self.owners.len();
        let bounds: Vec<usize> = self.members.iter().map(|m| self.bound(m, keys)).collect();
        if self.members.iter().zip(&bounds).all(|(member, &bound)| member.load <= bound) {
            return Vec::new();
        }
        self.rehome(|owner, members| owner.is_none_or(|at: usize| members[at].load > bounds[at]))
    }

    /// Gives an instance the keys that prefer it to where they are.
    fn attract(&mut self, at: usize) -> Vec<Move> {
        let percent = self.bound_percent.min(Self::NEWCOMER_PERCENT);
        let room = self.share(&self.members[at], self.owners.len(), percent);
        let Member { instance, weight, .. } = self.members[at];
        let mut moves = Vec::new();
        for (&key, owner) in &mut self.owners {
            if self.members[at].load >= room {
                break;
            }
            let from = *owner;
            let Ok(was) = self.members.binary_search_by_key(&from, |m| m.instance) else {
                continue;
            };
            if was != at && lot(key, instance, weight) < lot(key, from, self.members[was].weight) {
                self.members[was].load -= 1;
                self.members[at].load += 1;
                *owner = instance;
                moves.push(Move { key, from, to: Some(instance) });
            }
        }
        moves.extend(self.settle());
        moves
    }

    /// Places anew the keys that `must_go` from where they are.
    fn rehome(&mut self, must_go: impl Fn(Option<usize>, &[Member]) -> bool) -> Vec<Move> {
        let keys = self.owners.len();
        let mut owners = std::mem::take(&mut self.owners);
        let mut moves = Vec::new();
        for (&key, owner) in &mut owners {
            let was = self.find(*owner).ok();
            if !must_go(was, &self.members) {
                continue;
            }
            if let Some(was) = was {
                self.members[was].load -= 1;
            }
            let to = self.preferred(key, keys).map(|at| {
                self.members[at].load += 1;
                self.members[at].instance
            });
            moves.push(Move { key, from: *owner, to });
            if let Some(to) = to {
                *owner = to;
            }
        }
        if self.members.is_empty() {
            owners.clear();
        }
        self.owners = owners;
        moves
    }

    /// Where a key goes: the smallest lot among those that have room, of `keys` in all.
    fn preferred(&self, key: u64, keys: usize) -> Option<usize> {
        let with_room =
            self.members.iter().enumerate().filter(|(_, m)| m.load < self.bound(m, keys));
        let best = with_room.min_by_key(|(_, m)| (lot(key, m.instance, m.weight), m.instance));
        best.map(|(at, _)| at)
    }

    fn bound(&self, member: &Member, keys: usize) -> usize {
        self.share(member, keys, self.bound_percent)
    }

    /// So many percent of an instance's fair share of `keys`, rounded up.
    fn share(&self, member: &Member, keys: usize, percent: u32) -> usize {
        let part = keys as u64 * u64::from(member.weight.get()) * u64::from(percent);
        part.div_ceil(100 * self.weight) as usize
    }

    fn find(&self, instance: InstanceId) -> Result<usize, usize> {
        self.members.binary_search_by_key(&instance, |member| member.instance)
    }
}
