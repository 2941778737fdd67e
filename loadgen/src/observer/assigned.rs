//! The nodes' side of the accounts: which chunks came as which job.

use super::spoken::Ended;
use super::{Cut, Observer};
use crate::pacer::Nanos;
use crate::tag::Span;

/// A job as a node got it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assigned<'a> {
    pub(crate) span: Span,
    /// The language that it is to be translated into.
    pub(crate) tgt: &'a str,
    pub(crate) index: u64,
    pub(crate) attempt: u32,
    pub(crate) node: u32,
    // Flags of the cut.
    pub(crate) manual: bool,
    pub(crate) timeout: bool,
    pub(crate) duration: bool,
    pub(crate) at: Nanos,
}

/// What a node makes of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Duty {
    /// The uniform number that decides how long it works; absent: by the key of the job.
    pub(crate) work: Option<f64>,
    /// Which of the session's languages it is for, from 0.
    pub(crate) lane: u32,
    /// It keeps the speech for the session's next job and does not answer.
    pub(crate) buffered: bool,
}

impl Duty {
    fn of(work: f64) -> Self {
        Self { work: (work >= 0.0).then_some(work), lane: 0, buffered: false }
    }
}

impl Observer {
    /// A job has reached a node.
    pub(crate) fn assigned(&mut self, job: &Assigned<'_>) -> Duty {
        self.came(job.at);
        let Assigned { span, at, .. } = *job;
        let Some(session) = self.shard.nth(span.session) else {
            self.host(at);
            return Duty::of(-1.0);
        };
        if self.speakers.len() <= session as usize {
            self.findings.foreign_jobs += 1;
            return Duty::of(-1.0);
        }
        let Some(lane) = self.lane_into(session, job.tgt) else {
            self.findings.wrong_language += 1;
            return Duty::of(-1.0);
        };
        let duty = self.assigned_in(lane, job);
        Duty { lane: lane as u32 - session, ..duty }
    }

    fn assigned_in(&mut self, session: usize, job: &Assigned<'_>) -> Duty {
        let Assigned { span, index, attempt, at, .. } = *job;
        let speaker = &mut self.speakers[session];
        let again = speaker
            .units
            .iter()
            .position(|unit| unit.index == Some(index) && unit.first == span.first);
        if let Some(place) = again {
            let unit = &mut speaker.units[place];
            if attempt <= unit.attempt {
                self.findings.assigned_twice += 1;
            }
            unit.attempt = unit.attempt.max(attempt);
            let counted = unit.counted;
            self.jobs.dispatched += u64::from(counted);
            return Duty::of(unit.take_work());
        }
        let is_it = |ended: &Ended| (ended.index, ended.first) == (index, span.first);
        if speaker.ended.iter().any(is_it) {
            self.findings.assigned_twice += u64::from(attempt <= 1);
            return Duty::of(-1.0);
        }
        let Some(place) = self.place(session, index, attempt, (span.first, span.last), at) else {
            return Duty::of(-1.0);
        };
        let unit = &mut self.speakers[session].units[place];
        let (counted, work, cut, sent) = (unit.counted, unit.take_work(), unit.cut, unit.sent);
        self.jobs.dispatched += u64::from(counted);
        if let Some(sent) = sent.filter(|_| counted) {
            let hangover = match cut {
                Cut::Whole => Some(0),
                Cut::Manual if job.manual => Some(self.hangover),
                Cut::Manual | Cut::Scheduler => None,
            };
            if let Some(hangover) = hangover {
                let span = at.saturating_sub(sent);
                self.latencies.dispatched(span, hangover);
                self.series.dispatched(span);
            }
        }
        // Only the first language of a room is kept at one node.
        let kept = cut != Cut::Whole && self.speakers[session].leads;
        let buffered = kept && self.note_affinity(session, job, counted);
        Duty { buffered, ..Duty::of(work) }
    }

    /// The unit of a job that no node had before; absent: nobody waits for it.
    pub(super) fn place(
        &mut self,
        session: usize,
        index: u64,
        attempt: u32,
        (first, last): (u32, u32),
        at: Nanos,
    ) -> Option<usize> {
        let speaker = &self.speakers[session];
        let fresh = speaker
            .units
            .iter()
            .position(|unit| unit.index.is_none() && (first..=last).contains(&unit.last));
        let place = match fresh {
            Some(place) => place,
            // Of a socket that is gone.
            None if last < speaker.base => return None,
            None => self.cut_off(session, first, last, at),
        };
        let speaker = &mut self.speakers[session];
        speaker.absorb_silent(last);
        let unit = &mut speaker.units[place];
        (unit.index, unit.attempt) = (Some(index), attempt);
        (unit.first, unit.last) = (first, last);
        // Each chunk is in one job.
        let fresh = speaker.cover(first, last);
        if speaker.leads {
            self.chunks.in_jobs += u64::from(fresh);
        }
        self.findings.chunks_twice += u64::from(last - first + 1 - fresh);
        Some(place)
    }

    /// A node has sent its answer.
    pub(crate) fn answered(&mut self, session: u32, tgt: &str, first: u32, now: Nanos) {
        let Some(session) = self.shard.nth(session) else {
            self.across.answered += 1;
            return;
        };
        if self.speakers.len() <= session as usize {
            return;
        }
        let Some(lane) = self.lane_into(session, tgt) else { return };
        let units = &mut self.speakers[lane].units;
        if let Some(unit) = units.iter_mut().find(|unit| unit.first == first) {
            unit.answered = Some(now);
        }
    }
}
