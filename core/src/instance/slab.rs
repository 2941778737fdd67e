//! Places that are used again, with a version that tells the uses apart.

/// Names a value in a [`Slab`]; a stale key finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) slot: u32,
    pub(crate) version: u32,
}

#[derive(Debug)]
struct Place<T> {
    version: u32,
    value: Option<T>,
}

/// A vector of places. The place freed last is used first.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> Key {
        if let Some(slot) = self.free.pop() {
            let place = &mut self.places[slot as usize];
            place.value = Some(value);
            return Key { slot, version: place.version };
        }
        let slot = self.places.len() as u32;
        self.places.push(Place { version: 0, value: Some(value) });
        Key { slot, version: 0 }
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let place = self.places.get(key.slot as usize)?;
        if place.version == key.version { place.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.slot as usize)?;
        if place.version == key.version { place.value.as_mut() } else { None }
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut T)> {
        self.places.iter_mut().zip(0..).filter_map(|(place, slot)| {
            let key = Key { slot, version: place.version };
            Some((key, place.value.as_mut()?))
        })
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.slot as usize)?;
        if place.version != key.version {
            return None;
        }
        let value = place.value.take()?;
        place.version = place.version.wrapping_add(1);
        self.free.push(key.slot);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_finds_nothing() {
        let mut slab = Slab::default();
        let a = slab.insert("a");
        assert_eq!(slab.remove(a), Some("a"));
        let b = slab.insert("b");
        assert_eq!((a.slot, slab.len()), (b.slot, 1));
        assert_eq!(slab.get(a), None);
        assert_eq!(slab.remove(a), None);
        assert_eq!(slab.get(b), Some(&"b"));
    }
}
