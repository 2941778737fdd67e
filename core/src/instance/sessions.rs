//! Sessions: audio in, jobs made, final messages out in their turn.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::affinity::AffinityStep;
use crate::finalize::{Chunk, Cut, Reason};
use crate::instance::jobs::NewJob;
use crate::instance::link::Then;
use crate::instance::slab::Key;
use crate::instance::{
    Cx, Final, Instance, Opened, Output, Request, Setup, TARGETS_MAX, WholeUtterance,
};
use crate::{Excluded, Lang, Micros, NodeNum, Op, RecordAffinity, RequestId, SessionId};

/// Utterances in their hangover: more than this cannot be spoken in so short a time.
const CUTS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Session {
    id: SessionId,
    setup: Setup,
    // Cuts in their hangover, in order, each with the languages it was spoken for.
    cuts: VecDeque<(Cut, Setup)>,
    lanes: Vec<Lane>,
    open_jobs: Vec<Key>,
    // Nodes that have seen an utterance: they would reject it if it came again.
    seen: VecDeque<(u32, Excluded)>,
    // Shard the session is pinned to, and until when.
    pinned: Option<(u16, Micros)>,
    // An affinity may stand: most sessions have none to clear.
    tied: bool,
    // A clear of the affinity went unanswered.
    unclear: bool,
    closed: bool,
    // Utterances from here on are refused: they began after the drain.
    admits: u32,
}

/// Final messages of one language leave in the order of their utterances.
#[derive(Debug)]
struct Lane {
    tgt: Lang,
    turns: VecDeque<(u32, Option<Final>)>,
}

impl Session {
    fn new(id: SessionId, setup: Setup) -> Self {
        Self {
            id,
            setup,
            cuts: VecDeque::new(),
            lanes: Vec::new(),
            open_jobs: Vec::new(),
            seen: VecDeque::new(),
            pinned: None,
            tied: false,
            unclear: false,
            closed: false,
            admits: u32::MAX,
        }
    }

    /// Admits what has begun, and no more.
    pub(super) fn drain(&mut self, begun: u32) {
        self.admits = begun;
    }

    /// Utterances that have ended and are not yet jobs.
    pub(super) fn spoken(&self) -> usize {
        self.cuts.len()
    }

    pub(super) fn open_jobs(&self) -> &[Key] {
        &self.open_jobs
    }

    /// Reads what a new job of it, or the end of one, will look at.
    pub(super) fn foresee(&self) -> u32 {
        let turn = self.lanes.first().and_then(|lane| lane.turns.front());
        let setup = self.setup.targets().len() as u32;
        let seen = self.seen.front().map_or(0, |&(index, _)| index);
        let cut = self.cuts.front().map_or(0, |(cut, _)| cut.index);
        let job = self.open_jobs.first().map_or(0, |job| job.slot);
        turn.map_or(0, |&(index, _)| index) ^ setup ^ seen ^ cut ^ job ^ self.admits
    }

    fn expect(&mut self, tgt: Lang, index: u32) {
        let turn = (index, None);
        match self.lanes.iter_mut().find(|lane| lane.tgt == tgt) {
            Some(lane) => lane.turns.push_back(turn),
            None => self.lanes.push(Lane { tgt, turns: VecDeque::from([turn]) }),
        }
    }

    fn is_over(&self) -> bool {
        self.closed && self.open_jobs.is_empty() && self.cuts.is_empty()
    }
}

impl Instance {
    pub(super) fn open_session(&mut self, id: SessionId, setup: Setup) {
        if !self.session_keys.contains(&id) {
            let mut session = Session::new(id, setup);
            if self.draining {
                session.drain(0);
            }
            let key = self.sessions.insert(session);
            self.ears.reset(key, id);
            self.session_keys.insert(id, key);
        }
    }

    pub(super) fn change_setup(&mut self, id: SessionId, setup: Setup) {
        if let Some(session) = self.session_mut(id) {
            session.setup = setup;
        }
    }

    fn session_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        let key = *self.session_keys.get(&id)?;
        self.sessions.get_mut(key)
    }

    /// What was spoken before the socket went is still translated.
    pub(super) fn close_session(&mut self, cx: &mut Cx<'_>, id: SessionId) {
        let Some(&key) = self.session_keys.get(&id) else { return };
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.closed = true;
        let last = Chunk { bytes: 0, audio: Micros::ZERO, is_final: true, sent: cx.now };
        let cuts = self.ears.of(key).chunk(cx.now, last, &self.finalize);
        for cut in cuts.into_iter().flatten() {
            self.hang_over(cx, key, cut);
        }
        self.drop_if_over(key);
    }

    pub(super) fn hang_over(&mut self, cx: &mut Cx<'_>, key: Key, cut: Cut) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.cuts.push_back((cut, session.setup.clone()));
        if cut.ready <= cx.now || session.cuts.len() > CUTS_MAX {
            self.end_hangover(cx, key);
        } else {
            self.timers.hangovers.push(Reverse((cut.ready, key)));
        }
    }

    /// The hangover is over.
    pub(super) fn end_hangover(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let Some((cut, setup)) = take_first(&mut session.cuts) else { return };
        let id = session.id;
        let clears = self.config.affinity_rule.step(cut.reason) == AffinityStep::ClearBefore;
        if (clears && session.tied) || session.unclear {
            (session.tied, session.unclear) = (false, false);
            self.step(cx, Op::ClearAffinity(id), Then::Cleared(id));
        }
        let whole = WholeUtterance {
            index: cut.index,
            setup,
            speech: cut.audio,
            bytes: cut.bytes,
            sent: cut.last_sent,
        };
        self.open_utterance(cx, key, &whole, Some(cut.reason));
    }

    pub(super) fn take_utterance(&mut self, cx: &mut Cx<'_>, id: SessionId, whole: WholeUtterance) {
        let Some(&key) = self.session_keys.get(&id) else { return };
        if self.sessions.get(key).is_some_and(|session| !session.closed) {
            self.open_utterance(cx, key, &whole, None);
        }
    }

    /// One job per distinct target language, one after the other: each goes to another node.
    fn open_utterance(
        &mut self,
        cx: &mut Cx<'_>,
        key: Key,
        utterance: &WholeUtterance,
        reason: Option<Reason>,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let id = session.id;
        let &WholeUtterance { index, ref setup, speech, bytes, sent } = utterance;
        session.seen.push_back((index, Excluded::default()));
        // A client may count its own utterances as it likes.
        let admitted = !self.draining || (reason.is_some() && index < session.admits);
        for &needs in setup.targets() {
            session.expect(needs.pair.tgt, index);
        }
        let mut first = None;
        let mut before: Option<Key> = None;
        for &needs in setup.targets() {
            let id = RequestId { session: id, index, tgt: needs.pair.tgt };
            let request = Request { id, needs, speech, bytes, sent };
            let first_language = before.is_none();
            let new = NewJob { request, session: Some(key), reason, first_language, admitted };
            let job = self.create_job(cx, new);
            cx.send(Output::Opened(Opened {
                request: id,
                needs,
                speech,
                bytes,
                reason,
                first: first_language,
            }));
            if let Some(session) = self.sessions.get_mut(key) {
                session.open_jobs.push(job);
            }
            if let Some(before) = before.and_then(|before| self.jobs.get_mut(before)) {
                before.next_language = Some(job);
            }
            first = first.or(Some(job));
            before = Some(job);
        }
        if let Some(first) = first {
            self.start(cx, first);
        }
    }

    /// A final message takes its turn among those of its language.
    pub(super) fn deliver(&mut self, cx: &mut Cx<'_>, key: Key, job: Key, last: Final) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.open_jobs.retain(|&open| open != job);
        let lane = session.lanes.iter_mut().find(|lane| lane.tgt == last.request.tgt);
        if let Some(lane) = lane {
            let turn = lane.turns.iter_mut().find(|(index, _)| *index == last.request.index);
            if let Some(turn) = turn {
                turn.1 = Some(last);
            }
            while let Some(&(_, Some(ready))) = lane.turns.front() {
                take_first(&mut lane.turns);
                cx.send(Output::Final(ready));
            }
        }
        if session.lanes.len() > TARGETS_MAX {
            session.lanes.retain(|lane| !lane.turns.is_empty());
        }
        let jobs = &self.jobs;
        let oldest = session.open_jobs.iter().filter_map(|&key| Some(jobs.get(key)?.request.index));
        let oldest = oldest.min().unwrap_or(u32::MAX);
        while session.seen.front().is_some_and(|&(index, _)| index < oldest) {
            take_first(&mut session.seen);
        }
        self.drop_if_over(key);
    }

    fn drop_if_over(&mut self, key: Key) {
        if self.sessions.get(key).is_some_and(Session::is_over)
            && let Some(session) = self.sessions.remove(key)
        {
            self.session_keys.remove(&session.id);
            self.ears.reset(key, session.id);
        }
    }

    /// Ties the session's next job to a node.
    pub(super) fn tie(&mut self, cx: &mut Cx<'_>, record: RecordAffinity) {
        if let Some(session) = self.session_mut(record.session) {
            session.tied = true;
        }
        self.step(cx, Op::RecordAffinity(record), Then::Rest);
    }

    /// Whether the session's next job may be tied to a node.
    pub(super) fn is_tied(&self, session: Option<Key>) -> bool {
        session.and_then(|key| self.sessions.get(key)).is_some_and(|session| session.tied)
    }

    /// A clear got no reply: it is repeated before the next job.
    pub(super) fn clear_again(&mut self, id: SessionId) {
        if let Some(session) = self.session_mut(id) {
            session.unclear = true;
        }
    }

    pub(super) fn note_seen(&mut self, session: Key, index: u32, node: NodeNum) {
        let Some(session) = self.sessions.get_mut(session) else { return };
        if let Some((_, seen)) = session.seen.iter_mut().find(|(i, _)| *i == index) {
            seen.push(node);
        }
    }

    /// Keeps a job away from the nodes that have seen its utterance.
    pub(super) fn exclude_seen(&mut self, job: Key) {
        let Some(job) = self.jobs.get_mut(job) else { return };
        let Some(session) = job.session.and_then(|session| self.sessions.get(session)) else {
            return;
        };
        let index = job.request.index;
        if let Some((_, seen)) = session.seen.iter().find(|(i, _)| *i == index) {
            for &node in seen.as_slice() {
                if !job.excluded.contains(node) {
                    job.excluded.push(node);
                }
            }
        }
    }

    pub(super) fn pinned_shard(&self, now: Micros, session: Key) -> Option<u16> {
        let (shard, until) = self.sessions.get(session)?.pinned?;
        (until > now).then_some(shard)
    }

    /// Pins a session to the shard of its first node, where `preferred_pool` says so.
    pub(super) fn pin_shard(&mut self, cx: &Cx<'_>, session: Key, job: Key, node: NodeNum) {
        if self.config.preferred_pool == Micros::ZERO
            || self.pinned_shard(cx.now, session).is_some()
        {
            return;
        }
        let Some(pair) = self.jobs.get(job).map(|job| job.needs.pair) else { return };
        let shard = self.view(&cx.store).directory.shard_of(node, pair);
        let until = cx.now + self.config.preferred_pool;
        if let Some(session) = self.sessions.get_mut(session) {
            session.pinned = shard.map(|shard| (shard, until));
        }
    }
}

/// Takes the first of a queue that is mostly short. One that is empty then begins at its first place
/// again, so that the same lines of the cache serve it for good. (`VecDeque::clear` does so today; on its
/// doing so hangs speed alone.)
fn take_first<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        queue.clear();
    }
    first
}
