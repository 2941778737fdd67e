//! I5: affinity is honoured where the node is online, in the pool and free; else it is a fallback
//! with its cause.

use lingua_core::{
    AffinityOutcome, CapacityCheck, Dispatch, Dispatched, Micros, MissCause, NodeRef, State,
};

use super::Broken;

pub(super) fn check(now: Micros, state: &State, d: &Dispatch, got: &Dispatched) -> Option<Broken> {
    let AffinityOutcome::Missed(cause) = got.affinity else { return None };
    check_miss(now, state, d, state.affinity_node(d.request.session)?, cause)
}

/// Whether a node refused an affinity for the cause it gave.
pub(super) fn check_miss(
    now: Micros,
    state: &State,
    d: &Dispatch,
    node: NodeRef,
    cause: MissCause,
) -> Option<Broken> {
    let online = state.is_live(node);
    let truth = match cause {
        MissCause::Offline => !online,
        // The job has gone elsewhere, so the node is as full as it was.
        MissCause::Full => {
            state.config().capacity != CapacityCheck::Lease || !state.has_room(node.num)
        }
        MissCause::Unavailable | MissCause::LeftPool => {
            !state.directory().fits(node.num, &d.needs) || d.needs.model.is_some()
        }
        MissCause::Excluded => d.excluded.contains(node.num),
    };
    let presence_over = !truth && cause == MissCause::Offline && state.presence_is_over(now, node);
    (!truth && !presence_over).then(|| {
        let message = format!("{:?} missed {node:?} as {cause:?}, which is not so", d.request);
        Broken::new("I5", now, message)
    })
}
