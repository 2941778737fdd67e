//! Which chunks an utterance has, where only its number is known.

use super::spoken::Speaker;
use crate::pacer::Nanos;

impl Speaker {
    /// Whether an answer is awaited for some of these chunks.
    pub(super) fn owes(&self, first: u32, last: u32) -> bool {
        let meets = |from: u32, to: u32| from <= last && first <= to;
        self.units.iter().any(|unit| unit.index.is_none() && meets(unit.first, unit.last))
            || self.silent.iter().any(|(segment, end, ..)| meets(segment.first, *end))
            || self.speaking.is_some_and(|segment| segment.first <= last)
    }

    /// The chunks of an utterance that no node has been seen to have, by its index: those after
    /// the one before it, up to where the client ended it or fell silent for longer than `pause`.
    pub(super) fn span_of(&self, life: u32, index: u64, pause: Nanos) -> Option<(u32, u32)> {
        let own = || self.units.iter().filter(|unit| unit.life == life);
        let later = own().filter(|unit| unit.index.is_some_and(|other| other > index));
        let bound = later.map(|unit| unit.first).min().unwrap_or(self.sent);
        let bound = bound.checked_sub(1)?;
        let seen = own().filter_map(|unit| Some((unit.index?, unit.last)));
        let ended = self.ended.iter().filter(|ended| ended.life == life);
        let ended = ended.map(|ended| (ended.index, ended.last));
        // A former socket has nothing but units left.
        let base = match life == self.life {
            true => self.base,
            false => own().map(|unit| unit.first).min()?,
        };
        let before = seen.chain(ended).filter(|&(other, _)| other < index).max();
        let (mut at, mut start) = before.map_or((0, base), |(at, last)| (at + 1, last + 1));
        // Those in between are at nodes of other shards.
        loop {
            let last = self.end_of(life, start, pause).unwrap_or(bound).min(bound);
            if start > last {
                return None;
            }
            if at == index {
                return Some((start, last));
            }
            (at, start) = (at + 1, last + 1);
        }
    }

    /// Last chunk of the utterance that begins with this one, as far as it has been spoken.
    pub(super) fn end_of(&self, life: u32, first: u32, pause: Nanos) -> Option<u32> {
        let own = || self.units.iter().filter(|unit| unit.life == life);
        let mut at = first;
        loop {
            let unit = own().find(|unit| (unit.first..=unit.last).contains(&at));
            if let Some(unit) = unit {
                return Some(unit.last);
            }
            let silent =
                self.silent.iter().find(|(segment, end, ..)| (segment.first..=*end).contains(&at));
            let &(_, end, _, sent) = silent?;
            match self.begins(end + 1) {
                Some(next) if next.saturating_sub(sent) < pause => at = end + 1,
                _ => return Some(end),
            }
        }
    }

    /// When this chunk, the first of its utterance, was to be sent: a pause lasts until then.
    fn begins(&self, chunk: u32) -> Option<Nanos> {
        let unit = self.units.iter().find(|unit| unit.first == chunk);
        let unit = unit.map(|unit| unit.begins + unit.pace);
        let silent = self.silent.iter().find(|(segment, ..)| segment.first == chunk);
        let speaking = self.speaking.filter(|segment| segment.first == chunk);
        let silent = silent.map(|(segment, ..)| segment.intended(chunk));
        let speaking = speaking.map(|segment| segment.intended(chunk));
        unit.or(silent).or(speaking)
    }
}
