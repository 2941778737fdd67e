//! The nodes' side of the accounts: which chunks came as which job.

use super::spoken::Ended;
use super::{Cut, Observer};
use crate::pacer::Nanos;
use crate::tag::Span;

/// A job as a node got it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assigned {
    pub(crate) span: Span,
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
    /// It keeps the speech for the session's next job and does not answer.
    pub(crate) buffered: bool,
}

impl Duty {
    fn of(work: f64) -> Self {
        Self { work: (work >= 0.0).then_some(work), buffered: false }
    }
}

impl Observer {
    /// A job has reached a node.
    pub(crate) fn assigned(&mut self, job: &Assigned) -> Duty {
        self.came(job.at);
        let Assigned { span, index, attempt, at, .. } = *job;
        let session = span.session as usize;
        let Some(speaker) = self.speakers.get_mut(session) else {
            self.findings.foreign_jobs += 1;
            return Duty::of(-1.0);
        };
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
            let work = unit.work;
            self.jobs.dispatched += u64::from(counted);
            // Another attempt is other work.
            return Duty::of(if attempt == 1 { work } else { -1.0 });
        }
        let fresh = speaker
            .units
            .iter()
            .position(|unit| unit.index.is_none() && (span.first..=span.last).contains(&unit.last));
        let is_it = |ended: &Ended| (ended.index, ended.first) == (index, span.first);
        let over = speaker.ended.iter().any(is_it);
        let place = match fresh {
            Some(place) => place,
            None if over => {
                self.findings.assigned_twice += u64::from(attempt <= 1);
                return Duty::of(-1.0);
            }
            // Of a socket that is gone: nobody waits for it.
            None if span.last < speaker.base => return Duty::of(-1.0),
            None => self.cut_off(session, span.first, span.last, at),
        };
        self.speakers[session].absorb_silent(span.last);
        self.cover(session, span);
        let unit = &mut self.speakers[session].units[place];
        (unit.index, unit.attempt) = (Some(index), attempt);
        (unit.first, unit.last) = (span.first, span.last);
        let (counted, work, cut, sent) = (unit.counted, unit.work, unit.cut, unit.sent);
        self.jobs.dispatched += u64::from(counted);
        if let Some(sent) = sent.filter(|_| counted && attempt == 1) {
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
        let buffered = cut != Cut::Whole && self.note_affinity(session, job, counted);
        Duty { buffered, ..Duty::of(work) }
    }

    /// Each chunk is in one job.
    fn cover(&mut self, session: usize, span: Span) {
        let fresh = self.speakers[session].cover(span.first, span.last);
        self.chunks.in_jobs += u64::from(fresh);
        self.findings.chunks_twice += u64::from(span.last - span.first + 1 - fresh);
    }

    /// A node has sent its answer.
    pub(crate) fn answered(&mut self, session: u32, first: u32, now: Nanos) {
        let Some(speaker) = self.speakers.get_mut(session as usize) else { return };
        if let Some(unit) = speaker.units.iter_mut().find(|unit| unit.first == first) {
            unit.answered = Some(now);
        }
    }
}
