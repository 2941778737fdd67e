//! Rooms: an utterance is one job for each language that somebody listens in. Each language of a
//! session has accounts of its own, its lane. Lanes are speakers in a row; the first one counts
//! the chunks, which are the same for all.

use std::ops::Range;

use lingua_scenarios::Pair;

use super::{Ear, Hearing, Observer};
use crate::tag::Answer;

/// One language of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) pair: Pair,
    /// Who hears it: a bit for each listener of the room; none: the session itself does.
    pub(crate) listeners: u64,
}

impl Observer {
    /// A session that is going to speak, with all its languages; its number.
    pub(crate) fn add_session(&mut self, lanes: &[Lane]) -> u32 {
        let number = self.speakers.len() as u32;
        for (at, lane) in lanes.iter().enumerate() {
            let pair = self.pair(&lane.pair);
            self.add_speaker(pair);
            let speaker = &mut self.speakers[number as usize + at];
            speaker.leads = at == 0;
            speaker.lanes = if at == 0 { lanes.len() as u32 } else { 1 };
            speaker.listeners = lane.listeners;
        }
        number
    }

    /// A session speaks or hears other languages from here on, as many as before.
    pub(crate) fn set_lanes(&mut self, session: u32, lanes: &[Lane]) {
        for (speaker, lane) in self.lanes(session).zip(lanes) {
            self.speakers[speaker].pair = self.pair(&lane.pair);
        }
    }

    /// The speakers that are one session.
    pub(super) fn lanes(&self, session: u32) -> Range<usize> {
        let session = session as usize;
        session..session + self.speakers[session].lanes as usize
    }

    /// The lane of a session's job into this language.
    pub(super) fn lane_into(&self, session: u32, tgt: &str) -> Option<usize> {
        if self.speakers[session as usize].listeners == 0 {
            return Some(session as usize);
        }
        let is_it = |pair: u32| self.pairs[pair as usize].pair.tgt.eq_ignore_ascii_case(tgt);
        self.lanes(session).find(|&lane| is_it(self.speakers[lane].pair))
    }

    /// The lane of what was heard, and the listeners who have thereby heard it; absent: it says
    /// nothing about an end here, or was not meant for who heard it.
    pub(super) fn lane_heard(
        &mut self,
        hearing: Hearing<'_>,
        index: u64,
        answer: Option<Answer<'_>>,
    ) -> Option<(usize, u64)> {
        if self.speakers[hearing.session as usize].listeners == 0 {
            return Some((hearing.session as usize, 0));
        }
        let of = answer.map(|answer| self.lane_into(hearing.session, answer.tgt));
        match hearing.ear {
            Ear::Listener(place) => {
                let mut lanes = self.lanes(hearing.session);
                let own = lanes.find(|&lane| self.speakers[lane].listeners >> place & 1 == 1)?;
                if of.is_some_and(|of| of != Some(own)) {
                    self.findings.wrong_language += 1;
                    return None;
                }
                Some((own, 1 << place))
            }
            Ear::Own if self.tells_speaker => {
                // An error names no language: it is for the first that still waits.
                let waits = |&lane: &usize| {
                    let units = &self.speakers[lane].units;
                    units.iter().any(|unit| unit.index == Some(index))
                };
                let lane = of.unwrap_or_else(|| self.lanes(hearing.session).find(waits))?;
                Some((lane, self.speakers[lane].listeners))
            }
            Ear::Own => {
                self.findings.wrong_session += u64::from(answer.is_some());
                None
            }
        }
    }
}
