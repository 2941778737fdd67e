//! One turn of a timing wheel: slots that hold lists, and bits that tell which hold any.

/// Slots of a level, as a power of two.
pub(super) const SLOT_BITS: u32 = 12;

/// End of a list.
pub(super) const NONE: u32 = u32::MAX;

const WORDS: usize = 1 << (SLOT_BITS - 6);

/// The heads of the lists. Slots are counted without end; a level tells apart those of one turn.
#[derive(Debug)]
pub(super) struct Level {
    heads: Box<[u32; 1 << SLOT_BITS]>,
    bits: [u64; WORDS],
    // Which words of `bits` are not zero.
    summary: u64,
}

impl Default for Level {
    fn default() -> Self {
        Self { heads: Box::new([NONE; 1 << SLOT_BITS]), bits: [0; WORDS], summary: 0 }
    }
}

impl Level {
    /// Slots of one turn.
    pub(super) const SLOTS: u64 = 1 << SLOT_BITS;

    /// Puts a link at the head of a slot's list; gives the link that follows it.
    pub(super) fn hang(&mut self, slot: u64, link: u32) -> u32 {
        let slot = (slot % Self::SLOTS) as usize;
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64);
        std::mem::replace(&mut self.heads[slot], link)
    }

    /// Empties a slot; gives the head of its list.
    pub(super) fn take(&mut self, slot: u64) -> u32 {
        let slot = (slot % Self::SLOTS) as usize;
        let word = slot / 64;
        self.bits[word] &= !(1 << (slot % 64));
        if self.bits[word] == 0 {
            self.summary &= !(1 << word);
        }
        std::mem::replace(&mut self.heads[slot], NONE)
    }

    /// The first slot of this turn, from `from` on, that holds a list.
    pub(super) fn first(&self, from: u64) -> Option<u64> {
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

    /// The first slot after `slot`, less than a turn away, that holds a list.
    pub(super) fn first_after(&self, slot: u64) -> Option<u64> {
        let from = slot + 1;
        let turn = from - from % Self::SLOTS;
        let here = self.first(from % Self::SLOTS).map(|slot| turn + slot);
        here.or_else(|| self.first(0).map(|slot| turn + Self::SLOTS + slot))
    }
}
