//! One level of a timing wheel: slots that hold lists, and bits that tell which hold any.
//!
//! Lists are chains of blocks, so that a slot itself is one word and those of a level stay in the nearest
//! cache.

/// Slots of a level, as a power of two.
pub(super) const SLOT_BITS: u32 = 12;

const SLOTS: usize = 1 << SLOT_BITS;
const WORDS: usize = SLOTS / 64;

/// Items of a block: with those of the world it fills four cache lines.
const BLOCK: usize = 15;

/// No block.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
#[repr(C, align(64))]
struct Block<T> {
    // Of the last block of a list: the first one.
    next: u32,
    len: u32,
    items: [T; BLOCK],
}

/// The blocks of all lists. One freed last is used first: it is still in the cache. An item alone in its
/// slot takes a block as well, and memory that was needed once is kept.
#[derive(Debug)]
pub(super) struct Blocks<T> {
    blocks: Vec<Block<T>>,
    free: u32,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), free: NONE }
    }
}

/// A list, named by its last block.
#[derive(Debug, Clone, Copy)]
pub(super) struct List(u32);

impl<T: Copy> Blocks<T> {
    /// A block with one item. Its `next` is for the caller to set.
    #[inline]
    fn block(&mut self, item: T) -> u32 {
        let at = self.free;
        let Some(block) = self.blocks.get_mut(at as usize) else { return self.grow(item) };
        self.free = block.next;
        block.len = 1;
        block.items[0] = item;
        at
    }

    #[cold]
    fn grow(&mut self, item: T) -> u32 {
        let at = self.blocks.len() as u32;
        assert!(at < NONE, "2^32 blocks of events are pending");
        self.blocks.push(Block { next: at, len: 1, items: [item; BLOCK] });
        at
    }

    #[inline]
    fn list(&mut self, item: T) -> u32 {
        let at = self.block(item);
        self.blocks[at as usize].next = at;
        at
    }

    /// Appends to a list; gives its last block.
    #[inline]
    fn append(&mut self, tail: u32, item: T) -> u32 {
        let last = &mut self.blocks[tail as usize];
        if let Some(place) = last.items.get_mut(last.len as usize) {
            *place = item;
            last.len += 1;
            return tail;
        }
        let at = self.block(item);
        let last = &mut self.blocks[tail as usize];
        let first = std::mem::replace(&mut last.next, at);
        self.blocks[at as usize].next = first;
        at
    }

    /// The only item of a list, if it has but one, as lists of a sparse queue do.
    #[inline]
    pub(super) fn only(&self, list: List) -> Option<T> {
        let last = &self.blocks[list.0 as usize];
        (last.len == 1 && last.next == list.0).then_some(last.items[0])
    }

    /// The blocks of a list in the order in which it was made.
    #[inline]
    pub(super) fn of(&self, list: List) -> impl Iterator<Item = &[T]> {
        let mut left = Some(self.blocks[list.0 as usize].next);
        std::iter::from_fn(move || {
            let at = left?;
            let block = &self.blocks[at as usize];
            left = (at != list.0).then_some(block.next);
            Some(&block.items[..block.len as usize])
        })
    }

    /// Frees a list's blocks.
    #[inline]
    pub(super) fn free(&mut self, list: List) {
        let last = &mut self.blocks[list.0 as usize];
        let first = std::mem::replace(&mut last.next, self.free);
        self.free = first;
    }
}

/// Slots are counted without end; a level tells apart as many as it has.
#[derive(Debug)]
pub(super) struct Level {
    tails: Box<[u32; SLOTS]>,
    bits: [u64; WORDS],
    // Which words of `bits` are not zero.
    summary: u64,
}

impl Default for Level {
    fn default() -> Self {
        Self { tails: Box::new([NONE; SLOTS]), bits: [0; WORDS], summary: 0 }
    }
}

impl Level {
    /// Slots of the level.
    pub(super) const SLOTS: u64 = SLOTS as u64;

    /// Appends to a slot's list.
    // As a call it would take the item through memory.
    #[inline(always)]
    pub(super) fn push<T: Copy>(&mut self, slot: u64, item: T, blocks: &mut Blocks<T>) {
        let slot = slot as usize % SLOTS;
        let tail = &mut self.tails[slot];
        if *tail == NONE {
            self.bits[slot / 64] |= 1 << (slot % 64);
            self.summary |= 1 << (slot / 64);
            *tail = blocks.list(item);
        } else {
            *tail = blocks.append(*tail, item);
        }
    }

    /// The list of a slot that holds one.
    #[inline]
    pub(super) fn list(&self, slot: u64) -> Option<List> {
        let tail = self.tails[slot as usize % SLOTS];
        (tail != NONE).then_some(List(tail))
    }

    /// Empties a slot. Its list is to be freed when it has been read.
    #[inline]
    pub(super) fn take(&mut self, slot: u64) -> Option<List> {
        let list = self.list(slot)?;
        let slot = slot as usize % SLOTS;
        self.tails[slot] = NONE;
        let word = slot / 64;
        self.bits[word] &= !(1 << (slot % 64));
        if self.bits[word] == 0 {
            self.summary &= !(1 << word);
        }
        Some(list)
    }

    /// The first slot from `from` on, less than all slots away, that holds a list.
    #[inline]
    pub(super) fn first(&self, from: u64) -> Option<u64> {
        let at = from % Self::SLOTS;
        let round = from - at;
        let here = self.first_of_round(at).map(|slot| round + slot);
        here.or_else(|| self.first_of_round(0).map(|slot| round + Self::SLOTS + slot))
    }

    fn first_of_round(&self, from: u64) -> Option<u64> {
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
