//! The judges of a dispatch on a Cluster, where its steps are seen one by one.
//!
//! I3: a request and attempt holds one slot and no other. I4: no second slot of a request while a
//! former one is held. I5: a refused affinity has its cause. I9, counted: a refusal while a
//! fitting node is free. A failover with lost writes ends what was known before it.

use std::collections::VecDeque;

use lingua_core::{
    Intended, LeaseId, LookupMap, Micros, Move, NodeNum, NodeRef, Op, Promises, Reply, RequestId,
    Reserve, Reserved, State, Via,
};

use super::{Broken, i5_affinity};

/// Slots remembered: a request is asked again within seconds or not at all.
const REMEMBERED: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    attempt: u32,
    node: NodeNum,
    lease: LeaseId,
}

/// What is known of the dispatches under way.
#[derive(Debug, Default)]
pub(super) struct Across {
    slots: LookupMap<RequestId, Slot>,
    order: VecDeque<RequestId>,
    // The last reserve of a dispatch: what a refusal was asked for.
    asked: LookupMap<RequestId, Reserve>,
}

impl Across {
    /// A step has been carried out; `repeated`: its reserve had been answered before.
    pub(super) fn check(
        &mut self,
        now: Micros,
        state: &State,
        promises: Promises,
        (op, reply): (&Op, &Reply),
        repeated: bool,
    ) -> Vec<(bool, Broken)> {
        match (op, reply) {
            (Op::Reserve(r), Reply::Reserved(Reserved::Granted { .. })) => {
                self.asked.remove(&r.request);
                self.granted(now, state, promises, r)
            }
            (Op::Reserve(r), Reply::Reserved(Reserved::Refused(cause))) => {
                self.asked.insert(r.request, *r);
                let node = r.target.generation.filter(|_| r.target.via == Via::Affinity);
                let node = node.map(|generation| NodeRef { num: r.target.node, generation });
                let d = r.as_dispatch();
                let broken = node
                    .filter(|_| !repeated)
                    .and_then(|node| i5_affinity::check_miss(now, state, &d, node, *cause));
                broken.map(|broken| (promises.affinity, broken)).into_iter().collect()
            }
            (Op::Move(m), Reply::Intended(Intended::Stands(intent))) if intent.target.is_none() => {
                let broken = self.refused(now, state, m);
                broken.map(|broken| (promises.no_needless_refusal, broken)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn granted(
        &mut self,
        now: Micros,
        state: &State,
        promises: Promises,
        r: &Reserve,
    ) -> Vec<(bool, Broken)> {
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.slots.remove(&oldest);
        }
        self.order.push_back(r.request);
        let slot = Slot { attempt: r.attempt, node: r.target.node, lease: r.lease };
        let Some(before) = self.slots.insert(r.request, slot).filter(|before| *before != slot)
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let told = || format!("{:?} holds {before:?}, then {slot:?}", r.request);
        if before.attempt == slot.attempt {
            found.push((true, Broken::new("I3", now, told())));
        }
        if state.holds(before.node, before.lease) {
            found.push((promises.lease_kept, Broken::new("I4", now, told())));
        }
        found
    }

    fn refused(&mut self, now: Micros, state: &State, m: &Move) -> Option<Broken> {
        let asked = self.asked.remove(&m.request)?;
        let node = state.free_for(now, &asked.as_dispatch())?;
        let message = format!("{:?} was refused while {node:?} is free", m.request);
        Some(Broken::new("I9", now, message))
    }
}
