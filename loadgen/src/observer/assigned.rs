//! The nodes' side of the accounts: which chunks came as which job.

use super::{Cut, Observer};
use crate::pacer::Nanos;
use crate::tag::Span;

/// A job as a node got it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assigned {
    pub(crate) span: Span,
    pub(crate) index: u64,
    pub(crate) attempt: u32,
    pub(crate) manual: bool,
    pub(crate) at: Nanos,
}

impl Observer {
    /// A job has reached a node; the uniform number that decides how long it works, if planned.
    pub(crate) fn assigned(&mut self, job: &Assigned) -> f64 {
        let Assigned { span, index, attempt, at, .. } = *job;
        let session = span.session as usize;
        let Some(speaker) = self.speakers.get_mut(session) else {
            self.findings.foreign_jobs += 1;
            return -1.0;
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
            return if attempt == 1 { work } else { -1.0 };
        }
        let fresh = speaker
            .units
            .iter()
            .position(|unit| unit.index.is_none() && (span.first..=span.last).contains(&unit.last));
        let over =
            speaker.ended.iter().any(|&(ended, first, _)| (ended, first) == (index, span.first));
        let place = match fresh {
            Some(place) => place,
            None if over => {
                self.findings.assigned_twice += u64::from(attempt <= 1);
                return -1.0;
            }
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
        work
    }

    /// Each chunk is in one job.
    fn cover(&mut self, session: usize, span: Span) {
        let covered = &mut self.speakers[session].covered;
        self.chunks.in_jobs += u64::from(span.last - span.first + 1);
        self.findings.chunks_twice += u64::from(covered.saturating_sub(span.first));
        *covered = (*covered).max(span.last + 1);
    }

    /// A node has sent its answer.
    pub(crate) fn answered(&mut self, session: u32, first: u32) {
        let Some(speaker) = self.speakers.get_mut(session as usize) else { return };
        if let Some(unit) = speaker.units.iter_mut().find(|unit| unit.first == first) {
            unit.answered = true;
        }
    }
}
