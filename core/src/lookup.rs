//! A hash map without iteration in its own order: that order can never reach a result.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Lookup, insertion and removal by key, and nothing else.
#[derive(Debug, Clone)]
pub struct LookupMap<K, V>(FxHashMap<K, V>);

impl<K, V> Default for LookupMap<K, V> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Eq + Hash, V> LookupMap<K, V> {
    /// The value of a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get(key)
    }

    /// The value of a key, to change.
    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get_mut(key)
    }

    /// Whether the key is there.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Sets a value and gives back the former one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    /// The value of a key, made when absent.
    pub fn entry_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.0.entry(key).or_default()
    }

    /// Removes a key and gives back its value.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.remove(key)
    }

    /// All keys and values in order of the keys, which takes a copy and a sort.
    pub fn sorted(&self) -> Vec<(K, &V)>
    where
        K: Clone + Ord,
    {
        let mut all: Vec<(K, &V)> = self.0.iter().map(|(k, v)| (k.clone(), v)).collect();
        all.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        all
    }

    /// Keeps the values whose keys pass.
    pub fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.0.retain(|key, _| keep(key));
    }

    /// Takes the values of some keys from another map; what it lacks is removed here.
    pub fn take_over(&mut self, from: Self, these: impl Fn(&K) -> bool) {
        self.0.retain(|key, _| !these(key));
        self.0.extend(from.0.into_iter().filter(|(key, _)| these(key)));
    }

    /// How many keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
