//! A turn of a timing wheel: slots that hold lists, and bits that tell which hold any.

/// Slots of a level, as a power of two.
pub(super) const SLOT_BITS: u32 = 12;

const WORDS: usize = 1 << (SLOT_BITS - 6);

/// Lists longer than this give their memory back.
const KEPT_MAX: usize = 1 << 12;

/// Emptied lists, to be filled again. The one emptied last is used first: it is still in the cache.
#[derive(Debug)]
pub(super) struct Spare<T>(Vec<Vec<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Spare<T> {
    /// Keeps the memory of a list that has been read.
    #[inline]
    pub(super) fn keep(&mut self, mut list: Vec<T>) {
        if (1..=KEPT_MAX).contains(&list.capacity()) {
            list.clear();
            self.0.push(list);
        }
    }
}

/// What a slot held.
pub(super) enum Taken<T> {
    /// One item, as slots of a sparse queue do.
    One(T),
    /// A list in the order in which it was made.
    List(Vec<T>),
}

/// Slots are counted without end; a level tells apart those of one turn.
#[derive(Debug)]
pub(super) struct Level<T> {
    slots: Vec<Vec<T>>,
    bits: [u64; WORDS],
    // Which words of `bits` are not zero.
    summary: u64,
}

impl<T> Default for Level<T> {
    fn default() -> Self {
        Self {
            slots: std::iter::repeat_with(Vec::new).take(1 << SLOT_BITS).collect(),
            bits: [0; WORDS],
            summary: 0,
        }
    }
}

impl<T: Copy> Level<T> {
    /// Slots of one turn.
    pub(super) const SLOTS: u64 = 1 << SLOT_BITS;

    // As a call it would take the entry through memory.
    /// Appends to a slot's list.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: u64, item: T, spare: &mut Spare<T>) {
        let slot = (slot % Self::SLOTS) as usize;
        let list = &mut self.slots[slot];
        if list.is_empty() {
            self.bits[slot / 64] |= 1 << (slot % 64);
            self.summary |= 1 << (slot / 64);
            if let Some(memory) = spare.0.pop() {
                *list = memory;
            }
        }
        list.push(item);
    }

    /// A slot's list.
    #[inline]
    pub(super) fn list(&self, slot: u64) -> &[T] {
        &self.slots[(slot % Self::SLOTS) as usize]
    }

    /// Empties a slot.
    #[inline]
    pub(super) fn take(&mut self, slot: u64, spare: &mut Spare<T>) -> Taken<T> {
        let slot = (slot % Self::SLOTS) as usize;
        let word = slot / 64;
        self.bits[word] &= !(1 << (slot % 64));
        if self.bits[word] == 0 {
            self.summary &= !(1 << word);
        }
        let list = std::mem::take(&mut self.slots[slot]);
        if let [only] = list[..] {
            spare.keep(list);
            return Taken::One(only);
        }
        Taken::List(list)
    }

    /// The first slot from `from` on, less than a turn away, that holds a list.
    #[inline]
    pub(super) fn first(&self, from: u64) -> Option<u64> {
        let at = from % Self::SLOTS;
        let turn = from - at;
        let here = self.first_of_turn(at).map(|slot| turn + slot);
        here.or_else(|| self.first_of_turn(0).map(|slot| turn + Self::SLOTS + slot))
    }

    fn first_of_turn(&self, from: u64) -> Option<u64> {
        let word = (from / 64) as usize;
        let here = self.bits.get(word)? & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word as u64 * 64 + u64::from(here.trailing_zeros()));
        }
        let later = self.summary & (u64::MAX << word) & !(1 << word);
        if later == 0 {
            return None;
        }
        let word = later.trailing_zeros();
        Some(u64::from(word * 64 + self.bits[word as usize].trailing_zeros()))
    }
}
