//! Spans in which the scheduler said nothing although it owed something.

use lingua_reports::load::Freezes;

use super::{Cut, Observer};
use crate::pacer::Nanos;

/// Shortest silence that counts.
const FREEZE: Nanos = 1_000_000_000;

/// A generator that did not look for so long has slept.
const ASLEEP: Nanos = 250_000_000;

impl Observer {
    /// The generator is awake. Where it has slept itself, silence says nothing.
    pub(crate) fn awake(&mut self, now: Nanos) {
        let before = std::mem::replace(&mut self.last_awake, now);
        if now.saturating_sub(before) > ASLEEP {
            self.last_came = now;
        }
    }

    /// Something has come from the scheduler.
    pub(crate) fn came(&mut self, at: Nanos) {
        let before = std::mem::replace(&mut self.last_came, at);
        if at.saturating_sub(before) < FREEZE || before < self.window.0 || !self.was_owed(at) {
            return;
        }
        let Freezes { count, longest_s } = &mut self.freezes;
        *count += 1;
        *longest_s = longest_s.max((at - before) as f64 / 1e9);
    }

    /// Whether a job or an answer has been due for all that time. What no node of this shard has
    /// may be at work at another's.
    fn was_owed(&self, at: Nanos) -> bool {
        let overdue = |since: Nanos| since + FREEZE < at;
        self.speakers.iter().any(|speaker| {
            let Some(first) = speaker.units.first() else { return false };
            let unseen = speaker.units.iter().find(|unit| unit.attempt == 0);
            // What the scheduler must end itself waits for that first.
            let wait = |cut| if cut == Cut::Scheduler { self.timeout } else { self.hangover };
            let unseen = unseen.and_then(|unit| Some(unit.sent? + wait(unit.cut)));
            first.answered.is_some_and(overdue)
                || !self.may_wait && !self.shard.is_part() && unseen.is_some_and(overdue)
        })
    }
}
