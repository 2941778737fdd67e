//! Intents of requests on a Cluster. Home: the session.

use std::collections::VecDeque;

use crate::lookup::LookupMap;
use crate::state::State;
use crate::state::op::Via;
use crate::state::steps::{Former, Intended, Intent, Move, Open, Target};
use crate::{LeaseId, Micros, RequestId};

/// Old intents dropped per step: more than one, so that the queue shrinks. An intent counts by its
/// stored time; when it is dropped changes nothing but memory.
const DROPS_PER_STEP: usize = 2;

/// All intents, and when they may be dropped.
#[derive(Debug, Clone, Default)]
pub(super) struct Intents {
    pub(super) by_request: LookupMap<RequestId, Kept>,
    drops: VecDeque<(Micros, RequestId, LeaseId)>,
}

/// An intent and until when it is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) intent: Intent,
    pub(super) until: Micros,
}

impl Intents {
    fn standing(&mut self, now: Micros, request: RequestId) -> Option<&mut Intent> {
        let kept = self.by_request.get_mut(&request).filter(|kept| kept.until > now)?;
        Some(&mut kept.intent)
    }
}

impl State {
    /// Writes an intent, or finds the one that stands.
    pub(super) fn open(&mut self, now: Micros, open: &Open) -> Intended {
        assert!(open.attempt > 0, "attempts count from one");
        self.drop_old_intents(now);
        let standing = self.intents.standing(now, open.request).copied();
        if let Some(intent) = standing.filter(|intent| intent.attempt >= open.attempt) {
            let same = intent.attempt == open.attempt;
            return if same { Intended::Stands(intent) } else { Intended::Superseded };
        }
        let former = standing.filter(|intent| !intent.ended).and_then(|intent| {
            let node = intent.target?.node;
            Some(Former { node, lease: intent.lease, attempt: intent.attempt })
        });
        let target = self.affinity_target(now, open).or(open.target);
        let (attempt, lease) = (open.attempt, open.lease);
        let intent = Intent { attempt, lease, target, former, ended: false };
        let until = open.deadline + self.config.answer_life;
        self.intents.by_request.insert(open.request, Kept { intent, until });
        self.intents.drops.push_back((until, open.request, lease));
        Intended::Stands(intent)
    }

    fn affinity_target(&self, now: Micros, open: &Open) -> Option<Target> {
        let node = self.affinity_of(now, open.request, open.affinity)?;
        // The deployed scheduler pins by name: it does not see that a node came back anew.
        let generation = (!self.config.pin_sessions).then_some(node.generation);
        Some(Target { node: node.num, generation, via: Via::Affinity })
    }

    /// Compares and moves. Whoever comes second finds the intent that stands.
    pub(super) fn move_intent(&mut self, now: Micros, m: &Move) -> Intended {
        let Some(intent) = self.intents.standing(now, m.request) else {
            return Intended::Gone;
        };
        if intent.attempt != m.attempt {
            let later = intent.attempt > m.attempt;
            return if later { Intended::Superseded } else { Intended::Gone };
        }
        if intent.is_refused() && intent.lease == m.lease {
            return Intended::Stands(Intent { ended: false, ..*intent });
        }
        let seen = intent.target.map(|target| target.node) == m.from && intent.lease == m.lease;
        if !seen || intent.ended {
            return Intended::Stands(*intent);
        }
        intent.target = m.to;
        let told = *intent;
        match m.to {
            Some(_) => {}
            // Refusals are not stored; that there was a later attempt is, or an earlier one would
            // be answered anew.
            None if told.attempt > 1 => intent.ended = true,
            None => drop(self.intents.by_request.remove(&m.request)),
        }
        Intended::Stands(told)
    }

    /// The session is told that a lease has ended.
    pub(super) fn end_intent(&mut self, now: Micros, request: RequestId, lease: LeaseId) {
        let intent = self.intents.standing(now, request);
        if let Some(intent) = intent.filter(|intent| intent.lease == lease) {
            intent.ended = true;
        }
    }

    fn drop_old_intents(&mut self, now: Micros) {
        for _ in 0..DROPS_PER_STEP {
            match self.intents.drops.front() {
                Some(&(at, request, lease)) if at <= now => {
                    self.intents.drops.pop_front();
                    let kept = self.intents.by_request.get(&request);
                    if kept.is_some_and(|kept| kept.intent.lease == lease) {
                        self.intents.by_request.remove(&request);
                    }
                }
                _ => break,
            }
        }
    }

    /// The intent of a request.
    pub fn intent(&self, request: RequestId) -> Option<Intent> {
        self.intents.by_request.get(&request).map(|kept| kept.intent)
    }
}
