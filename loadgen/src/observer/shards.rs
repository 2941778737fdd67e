//! Jobs between shards: a session of one, a node of another. Either side tells its own part, and
//! the merge holds them together.

use lingua_scenarios::AffinityRule;

use super::spoken::Ended;
use super::{Cut, Hearing, Observer};
use crate::pacer::Nanos;
use crate::tag::Answer;

/// How long after the last job of another shard's session a node is still there for the next.
const STAY: Nanos = 5_000_000_000;

impl Observer {
    /// A node of this shard has got a job of another's session.
    pub(super) fn host(&mut self, at: Nanos) {
        self.across.hosted += 1;
        self.jobs.dispatched += u64::from(self.is_counted(at));
        self.hosted_at = at;
    }

    /// Whether sessions of other shards may still need the nodes of this one.
    pub(crate) fn is_hosting(&self, now: Nanos) -> bool {
        let last = self.hosted_at.max(self.window.1);
        let busy = || self.nodes.iter().any(|node| node.held > 0);
        self.shard.is_part() && (now < last.saturating_add(STAY) || busy())
    }

    /// An answer has come: where no node of this shard had its job, it tells what one would have
    /// told. False: it is too late for anybody to wait.
    pub(super) fn awaits(&mut self, hearing: Hearing<'_>, index: u64, answer: Answer<'_>) -> bool {
        let Answer { first, last, attempt, .. } = answer;
        let session = hearing.session as usize;
        let speaker = &mut self.speakers[session];
        let mut seen = speaker.units.iter_mut().filter(|unit| unit.index.is_some());
        if let Some(unit) = seen.find(|unit| unit.first == first) {
            self.across.heard += u64::from(unit.attempt < attempt);
            unit.attempt = unit.attempt.max(attempt);
            return true;
        }
        let current = speaker.life == hearing.life;
        let over = |ended: &Ended| (ended.life, ended.index) == (hearing.life, index);
        let over = speaker.ended.iter().any(over);
        if over || !speaker.owes(first, last) {
            return over;
        }
        self.across.heard += 1;
        let placed = self.place(session, index, attempt, (first, last), hearing.at);
        if let Some(place) = placed.filter(|_| current) {
            let unit = &self.speakers[session].units[place];
            let (cut, counted) = (unit.cut, unit.counted);
            self.note_elsewhere(session, index, cut, counted, hearing.at);
        }
        true
    }

    /// A session's job went to a node of another shard: what a node of this one keeps of the job
    /// before is lost, and nobody here knows why.
    fn note_elsewhere(&mut self, session: usize, index: u64, cut: Cut, counted: bool, now: Nanos) {
        let speaker = &mut self.speakers[session];
        let Some(before) = speaker.last_job.filter(|&before| before < index) else { return };
        let (bound, tail) = (speaker.bound.take(), speaker.tail.take());
        if before + 1 != index || !counted {
            return;
        }
        if let Some(tail) = tail {
            self.lose_tail(tail);
        }
        let cleared = self.affinity_rule == AffinityRule::AsDocumented && cut == Cut::Manual;
        if bound.is_some_and(|bound| now < bound.at + self.affinity_life) && !cleared {
            self.affinity.expected += 1;
            self.fell_back("another shard");
        }
    }
}
