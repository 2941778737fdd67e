//! What the scheduler ends: utterances and parts of them that the plan does not end itself.

use super::{Cut, Observer, Unit};
use crate::pacer::Nanos;

impl Observer {
    /// A part that the scheduler has cut off: the plan does not know it.
    pub(super) fn cut_off(&mut self, session: usize, first: u32, last: u32, now: Nanos) -> usize {
        let speaker = &mut self.speakers[session];
        let part = speaker
            .units
            .iter_mut()
            .find(|unit| unit.index.is_none() && (unit.first..unit.last).contains(&last));
        let part = part.map(|unit| {
            unit.first = last + 1;
            (unit.intended - unit.pace * u64::from(unit.last - last), None, unit.work)
        });
        let of = speaker
            .silent
            .iter()
            .find(|(segment, end, ..)| (segment.first..=*end).contains(&last))
            .map(|&(segment, end, intended, sent)| match end == last {
                true => (intended, Some(sent), segment.work),
                false => (segment.intended(last), None, segment.work),
            });
        speaker.absorb_silent(last);
        let unfinished = speaker.stopped && part.or(of).is_none();
        let spoken = speaker.speaking.filter(|segment| last >= segment.first);
        let spoken = spoken.map(|segment| (segment.intended(last), None, segment.work));
        let (intended, sent, work) = part.or(of).or(spoken).unwrap_or((now, None, -1.0));
        let (life, pair) = (speaker.life, speaker.pair);
        let counted = !unfinished && self.is_counted(intended);
        let unit = Unit {
            first,
            last,
            index: None,
            life,
            cut: Cut::Scheduler,
            begins: intended,
            intended,
            pace: 0,
            sent,
            counted,
            work,
            attempt: 0,
            answered: None,
            heard_by: 0,
        };
        let units = &mut self.speakers[session].units;
        let at = units.partition_point(|other| other.first < first);
        units.insert(at, unit);
        self.offer(pair, counted);
        at
    }

    /// Utterances that the scheduler has not ended although they are so old become open units: one
    /// for all that follow each other without a pause.
    pub(super) fn open_silent(&mut self, session: usize, since: Nanos) {
        while let Some(&(segment, last, intended, _)) = self.speakers[session].silent.first() {
            if intended > since {
                return;
            }
            let speaker = &mut self.speakers[session];
            let mut end = speaker.end_of(speaker.life, last, self.pause).unwrap_or(last);
            let first = segment.first.max(speaker.covered).min(last);
            match speaker.units.iter_mut().find(|unit| unit.last == end) {
                Some(unit) if unit.index.is_none() => {
                    unit.first = first;
                    speaker.absorb_silent(end);
                    continue;
                }
                Some(_) => end = last,
                None => {}
            }
            self.cut_off(session, first, end, intended);
        }
    }

    /// A refused final on a socket of the session names no chunks: its unit is found by its index.
    pub(super) fn unseen(
        &mut self,
        session: usize,
        life: u32,
        index: u64,
        now: Nanos,
    ) -> Option<usize> {
        let speaker = &mut self.speakers[session];
        let (first, last) = speaker.span_of(life, index, self.pause)?;
        let own = speaker
            .units
            .iter()
            .position(|unit| unit.index.is_none() && (first..=last).contains(&unit.last));
        let Some(own) = own else { return Some(self.cut_off(session, first, last, now)) };
        speaker.absorb_silent(last);
        (speaker.units[own].first, speaker.units[own].last) = (first, last);
        Some(own)
    }
}
