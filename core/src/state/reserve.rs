//! Slots taken for intents. Home: the node.
//!
//! The first verdict on a lease stands: a reserve that comes late, after its intent has moved on,
//! is refused again and takes nothing; one that comes after the release finds it over.

use std::collections::VecDeque;

use crate::lookup::LookupMap;
use crate::state::State;
use crate::state::op::{Grant, MissCause};
use crate::state::requests::cause;
use crate::state::steps::{Reserve, Reserved};
use crate::{LeaseId, Micros, NodeNum};

/// How long a verdict is remembered after the last step that could ask for it.
const REMEMBERED: Micros = Micros::secs(10);
/// Old verdicts dropped per step: more than one, so that the queues shrink. A verdict counts by its
/// stored time; when it is dropped changes nothing but memory.
const DROPS_PER_STEP: usize = 4;

type Named = (NodeNum, LeaseId);

/// Verdicts on leases: refused for a cause, or granted (and over, once the lease is gone).
#[derive(Debug, Clone, Default)]
pub(super) struct Verdicts {
    pub(super) given: LookupMap<Named, Verdict>,
    refused: VecDeque<(Micros, Named)>,
    granted: VecDeque<(Micros, Named)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    // Why it was refused; absent: it was granted.
    pub(super) refused: Option<MissCause>,
    pub(super) until: Micros,
}

impl Verdicts {
    fn refuse(&mut self, now: Micros, named: Named, cause: MissCause) {
        let until = now + REMEMBERED;
        self.given.insert(named, Verdict { refused: Some(cause), until });
        self.refused.push_back((until, named));
    }

    fn grant(&mut self, deadline: Micros, named: Named) {
        let until = deadline + REMEMBERED;
        self.given.insert(named, Verdict { refused: None, until });
        self.granted.push_back((until, named));
    }

    fn standing(&self, now: Micros, named: Named) -> Option<Verdict> {
        self.given.get(&named).filter(|verdict| verdict.until > now).copied()
    }

    fn drop_old(&mut self, now: Micros) {
        for queue in [&mut self.refused, &mut self.granted] {
            for _ in 0..DROPS_PER_STEP {
                match queue.front() {
                    Some(&(at, named)) if at <= now => {
                        queue.pop_front();
                        // The same lease may have been judged anew since.
                        if self.given.get(&named).is_some_and(|verdict| verdict.until <= now) {
                            self.given.remove(&named);
                        }
                    }
                    _ => break,
                }
            }
        }
    }

    /// Forgets what one node has said, as its slot does when it loses writes.
    pub(super) fn forget(&mut self, lost: impl Fn(NodeNum) -> bool) {
        self.given.retain(|&(node, _)| !lost(node));
    }
}

impl State {
    /// Takes a slot, once per lease.
    pub(super) fn reserve(&mut self, now: Micros, r: &Reserve) -> Reserved {
        self.verdicts.drop_old(now);
        let num = r.target.node;
        if num.index() >= self.nodes.len() {
            return Reserved::Refused(MissCause::Offline);
        }
        self.sweep_node(now, num);
        let node = &self.nodes[num.index()];
        if node.leases.iter().any(|lease| lease.id == r.lease) {
            return self.held(r);
        }
        match self.verdicts.standing(now, (num, r.lease)) {
            Some(Verdict { refused: Some(cause), .. }) => return Reserved::Refused(cause),
            Some(Verdict { refused: None, .. }) => return Reserved::Over,
            None => {}
        }
        let dispatch = r.as_dispatch();
        let current = r.target.generation.is_none_or(|meant| meant == node.generation);
        let verdict = match self.can_take(now, num, &dispatch) {
            _ if !current => Err(MissCause::Offline),
            verdict => verdict.map_err(cause),
        };
        match verdict {
            Ok(()) => {
                self.grant(now, num, &dispatch);
                self.verdicts.grant(r.deadline, (num, r.lease));
                self.held(r)
            }
            Err(cause) => {
                self.verdicts.refuse(now, (num, r.lease), cause);
                Reserved::Refused(cause)
            }
        }
    }

    fn held(&self, r: &Reserve) -> Reserved {
        let num = r.target.node;
        let node = &self.nodes[num.index()];
        let node_ref = crate::NodeRef { num, generation: node.generation };
        let grant = Grant { node: node_ref, owner: node.owner, lease: r.lease, via: r.target.via };
        Reserved::Granted { grant, filled: node.busy() >= node.max_jobs }
    }

    /// Whether a reserve has been answered before.
    pub fn has_verdict(&self, node: NodeNum, lease: LeaseId) -> bool {
        self.verdicts.given.contains(&(node, lease))
    }
}
