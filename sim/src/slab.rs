//! Places for what is under way, named by small numbers.

/// A vector of places; the place freed last is used first.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores a value.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.places[slot as usize] = Some(value);
            return slot;
        }
        self.places.push(Some(value));
        self.places.len() as u32 - 1
    }

    /// Looks at a value.
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.places.get(slot as usize)?.as_ref()
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.places.get_mut(slot as usize)?.as_mut()
    }

    /// Takes a value out.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let value = self.places.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(value)
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values, by place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.places
            .iter()
            .enumerate()
            .filter_map(|(slot, value)| Some((slot as u32, value.as_ref()?)))
    }
}

/// Places for plain values, each put in once and taken out once.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Pool<T> {
    /// Puts a value in.
    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.places[slot as usize] = value;
            return slot;
        }
        self.places.push(value);
        self.places.len() as u32 - 1
    }

    /// Takes a value out, which must be there.
    #[inline(always)]
    pub(crate) fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.places[slot as usize]
    }

    /// Looks at a place, whether or not a value is there.
    pub(crate) fn peek(&self, slot: u32) -> Option<&T> {
        self.places.get(slot as usize)
    }

    /// Whether all that was put in has been taken out.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }
}
