//! Who is there and what they can do: pairs, capability classes and their members.
//!
//! A *class* is the set of nodes with equal capabilities; a pair lists its classes. Filters decide
//! on classes, so their cost does not grow with the number of nodes.
//! An instance on Redis holds a copy of this as its snapshot; the copy ranks, the State decides.

use std::collections::BTreeMap;

use crate::lookup::LookupMap;
use crate::rank_set::RankSet;
use crate::state::shards::Shards;
use crate::{Languages, ModelId, NodeNum, Pair, PoolRule, RegionId};

/// Feature bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Features(pub u64);

impl Features {
    /// Whether all bits of `needed` are here.
    pub fn cover(self, needed: Self) -> bool {
        self.0 & needed.0 == needed.0
    }
}

/// What a node can do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Capabilities {
    /// Its languages.
    pub languages: Languages,
    /// Features offered, capability types that are ready among them.
    pub features: Features,
    /// Models present, sorted.
    pub models: Vec<ModelId>,
    /// Where it stands.
    pub region: Option<RegionId>,
}

/// What a job needs of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Needs {
    /// The directed pair.
    pub pair: Pair,
    /// Features.
    pub features: Features,
    /// A model.
    pub model: Option<ModelId>,
    /// Region preferred; any other will do when it is full.
    pub region: Option<RegionId>,
}

impl Needs {
    /// A pair and nothing else.
    pub fn pair(pair: Pair) -> Self {
        Self { pair, features: Features::default(), model: None, region: None }
    }
}

/// Index of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub(crate) u32);

impl ClassId {
    /// The class of a number.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number, from zero in order of first registration.
    pub fn number(self) -> u32 {
        self.0
    }
}

#[derive(Debug, Clone, Default)]
struct PairEntry {
    // Classes with members, by id.
    classes: Vec<ClassId>,
    by_model: BTreeMap<ModelId, Vec<ClassId>>,
    shards: Shards,
}

/// Nodes with equal capabilities.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) caps: Capabilities,
    pairs: Vec<Pair>,
    /// Nodes that may be given jobs now: online, not draining, under the resource threshold.
    pub(crate) members: RankSet,
    listed: u32,
}

#[derive(Debug, Clone)]
struct Listing {
    class: ClassId,
    // Shard per pair, in the order of the class's pairs.
    shards: Vec<u16>,
}

/// The index of nodes by what they can do.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    rule: PoolRule,
    shard_size: usize,
    pairs: LookupMap<Pair, PairEntry>,
    // Every pair ever listed, sorted: the only way to walk them.
    pair_names: Vec<Pair>,
    classes: Vec<Class>,
    class_of: BTreeMap<Capabilities, ClassId>,
    listings: Vec<Option<Listing>>,
}

/// A pair that cannot take another member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("pair {0} is full: {max} shards", max = Shards::MAX)]
pub struct PairFull(pub Pair);

impl Directory {
    /// An empty index.
    pub fn new(rule: PoolRule, shard_size: usize) -> Self {
        assert!((1..=100).contains(&shard_size), "a shard has 1 to 100 members");
        Self { rule, shard_size, ..Self::default() }
    }

    /// Lists a node; it becomes a member of its class when made available.
    ///
    /// # Errors
    /// One of its pairs is full. Nothing is listed then.
    pub(crate) fn list(&mut self, node: NodeNum, caps: &Capabilities) -> Result<(), PairFull> {
        self.unlist(node);
        let class = self.class_for(caps);
        let pairs = self.classes[class.0 as usize].pairs.clone();
        for pair in &pairs {
            let entry = self.pairs.get(pair);
            if entry.is_some_and(|entry| entry.shards.room(self.shard_size).is_none()) {
                return Err(PairFull(*pair));
            }
        }
        let mut shards = Vec::with_capacity(pairs.len());
        for pair in &pairs {
            if !self.pairs.contains(pair) {
                let at = self.pair_names.binary_search(pair).unwrap_or_else(|at| at);
                self.pair_names.insert(at, *pair);
            }
            let entry = self.pairs.entry_or_default(*pair);
            shards.push(entry.shards.insert(node, self.shard_size));
        }
        self.enter_class(class);
        self.remember(node, Listing { class, shards });
        Ok(())
    }

    fn remember(&mut self, node: NodeNum, listing: Listing) {
        if node.index() >= self.listings.len() {
            self.listings.resize(node.index() + 1, None);
        }
        self.listings[node.index()] = Some(listing);
    }

    /// Adds a class under the next number; tells whether it is new and the number is right.
    pub(crate) fn add_class(&mut self, caps: &Capabilities, id: ClassId) -> bool {
        self.class_for(caps) == id && self.classes.len() == id.0 as usize + 1
    }

    /// Lists a node where another execution has listed it; tells whether that can be.
    pub(crate) fn list_as(&mut self, node: NodeNum, class: ClassId, shards: Vec<u16>) -> bool {
        self.unlist(node);
        let Some(of_class) = self.classes.get(class.0 as usize) else { return false };
        let in_range = shards.iter().all(|&shard| usize::from(shard) < Shards::MAX);
        if shards.len() != of_class.pairs.len() || !in_range {
            return false;
        }
        for (pair, &shard) in of_class.pairs.iter().zip(&shards) {
            if let Err(at) = self.pair_names.binary_search(pair) {
                self.pair_names.insert(at, *pair);
            }
            self.pairs.entry_or_default(*pair).shards.insert_at(node, shard);
        }
        self.enter_class(class);
        self.remember(node, Listing { class, shards });
        true
    }

    /// The class of a listed node and its shard in each pair of the class.
    pub(crate) fn listing(&self, node: NodeNum) -> Option<(ClassId, &[u16])> {
        let listing = self.listings.get(node.index())?.as_ref()?;
        Some((listing.class, &listing.shards))
    }

    /// Takes a node out of the index, if it is there.
    pub(crate) fn unlist(&mut self, node: NodeNum) {
        self.set_available(node, false);
        let Some(listing) = self.listings.get_mut(node.index()).and_then(Option::take) else {
            return;
        };
        let pairs = std::mem::take(&mut self.classes[listing.class.0 as usize].pairs);
        for (pair, shard) in pairs.iter().zip(&listing.shards) {
            if let Some(entry) = self.pairs.get_mut(pair) {
                entry.shards.remove(node, *shard);
            }
        }
        self.classes[listing.class.0 as usize].pairs = pairs;
        self.leave_class(listing.class);
    }

    /// Says whether a listed node may be given jobs.
    pub(crate) fn set_available(&mut self, node: NodeNum, available: bool) {
        let Some(class) = self.class_of_node(node) else { return };
        let members = &mut self.classes[class.0 as usize].members;
        if available {
            members.insert(node.0);
        } else {
            members.remove(node.0);
        }
    }

    /// The class of a listed node.
    pub(crate) fn class_of_node(&self, node: NodeNum) -> Option<ClassId> {
        self.listing(node).map(|(class, _)| class)
    }

    /// What a listed node can do.
    pub fn capabilities(&self, node: NodeNum) -> Option<&Capabilities> {
        Some(&self.class(self.class_of_node(node)?).caps)
    }

    pub(crate) fn class(&self, class: ClassId) -> &Class {
        &self.classes[class.0 as usize]
    }

    pub(crate) fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Whether a listed node may be given a job with these needs.
    pub fn fits(&self, node: NodeNum, needs: &Needs) -> bool {
        self.class_of_node(node).is_some_and(|class| {
            let class = self.class(class);
            class.members.contains(node.0)
                && class.pairs.binary_search(&needs.pair).is_ok()
                && class.meets(needs)
        })
    }

    /// Whether a listed node may be given jobs now: it has reported, is not draining and is under the
    /// resource threshold.
    pub fn is_available(&self, node: NodeNum) -> bool {
        self.class_of_node(node).is_some_and(|class| self.class(class).members.contains(node.0))
    }

    /// Whether a listed node speaks the pair at all, available or not.
    pub fn speaks(&self, node: NodeNum, pair: Pair) -> bool {
        self.class_of_node(node)
            .is_some_and(|class| self.class(class).pairs.binary_search(&pair).is_ok())
    }

    /// Classes that meet the needs, region apart, in order of their ids.
    pub(crate) fn fitting(&self, needs: Needs) -> impl Iterator<Item = ClassId> + Clone + '_ {
        let entry = self.pairs.get(&needs.pair);
        let classes: &[ClassId] = match (entry, needs.model) {
            (None, _) => &[],
            (Some(entry), None) => &entry.classes,
            (Some(entry), Some(model)) => entry.by_model.get(&model).map_or(&[][..], Vec::as_slice),
        };
        classes.iter().copied().filter(move |&class| self.class(class).meets(&needs))
    }

    /// Available nodes that meet the needs.
    pub fn fitting_count(&self, needs: Needs) -> u32 {
        self.fitting(needs).map(|class| self.class(class).members.len()).sum()
    }

    /// The shards of a pair.
    pub fn shards(&self, pair: Pair) -> Option<&Shards> {
        self.pairs.get(&pair).map(|entry| &entry.shards)
    }

    /// Every pair ever listed, sorted.
    pub fn pairs(&self) -> &[Pair] {
        &self.pair_names
    }

    /// The shard of a node in a pair.
    pub fn shard_of(&self, node: NodeNum, pair: Pair) -> Option<u16> {
        let listing = self.listings.get(node.index())?.as_ref()?;
        let at = self.class(listing.class).pairs.binary_search(&pair).ok()?;
        listing.shards.get(at).copied()
    }

    fn class_for(&mut self, caps: &Capabilities) -> ClassId {
        if let Some(&class) = self.class_of.get(caps) {
            return class;
        }
        let class = ClassId(self.classes.len() as u32);
        let pairs = caps.languages.pairs(self.rule);
        self.classes.push(Class {
            caps: caps.clone(),
            pairs,
            members: RankSet::default(),
            listed: 0,
        });
        self.class_of.insert(caps.clone(), class);
        class
    }

    /// A class without nodes is not in its pairs' lists, so that dead classes cost nothing.
    fn enter_class(&mut self, id: ClassId) {
        let class = &mut self.classes[id.0 as usize];
        class.listed += 1;
        if class.listed > 1 {
            return;
        }
        for pair in &class.pairs {
            let entry = self.pairs.entry_or_default(*pair);
            insert_sorted(&mut entry.classes, id);
            for model in &class.caps.models {
                insert_sorted(entry.by_model.entry(*model).or_default(), id);
            }
        }
    }

    fn leave_class(&mut self, id: ClassId) {
        let class = &mut self.classes[id.0 as usize];
        class.listed -= 1;
        if class.listed > 0 {
            return;
        }
        for pair in &class.pairs {
            let entry = self.pairs.entry_or_default(*pair);
            remove_sorted(&mut entry.classes, id);
            for list in entry.by_model.values_mut() {
                remove_sorted(list, id);
            }
        }
    }
}

impl Class {
    fn meets(&self, needs: &Needs) -> bool {
        self.caps.features.cover(needs.features)
            && needs.model.is_none_or(|model| self.caps.models.binary_search(&model).is_ok())
    }
}

fn insert_sorted(list: &mut Vec<ClassId>, class: ClassId) {
    if let Err(at) = list.binary_search(&class) {
        list.insert(at, class);
    }
}

fn remove_sorted(list: &mut Vec<ClassId>, class: ClassId) {
    if let Ok(at) = list.binary_search(&class) {
        list.remove(at);
    }
}
