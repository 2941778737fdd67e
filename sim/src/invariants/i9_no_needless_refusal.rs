//! I9: no refusal while, at the instant of the step, a fitting node is free.

use lingua_core::{Dispatch, Dispatched, Micros, Outcome, State};

use super::Broken;

pub(super) fn check(now: Micros, state: &State, d: &Dispatch, got: &Dispatched) -> Option<Broken> {
    let Outcome::Refused(refusal) = got.outcome else { return None };
    let node = state.free_for(now, d)?;
    let message =
        format!("{:?} was refused ({}) while {node:?} is free", d.request, refusal.name());
    Some(Broken::new("I9", now, message))
}
