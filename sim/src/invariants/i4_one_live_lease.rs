//! I4: a live lease is not overwritten: a request has one live attempt at a time.
//!
//! A first attempt cannot have a forerunner, so only later ones are looked at.

use lingua_core::{Dispatch, Dispatched, Micros, Outcome, State};

use super::Broken;

pub(super) fn check(now: Micros, state: &State, d: &Dispatch, got: &Dispatched) -> Option<Broken> {
    let granted = matches!(got.outcome, Outcome::Granted(_));
    if d.attempt == 1 || !granted {
        return None;
    }
    let live = state.leases_of(d.request).count();
    (live != 1).then(|| {
        let message = format!("{:?} has {live} live leases", d.request);
        Broken::new("I4", now, message)
    })
}
