//! I2: every reservation ends exactly once, by result, cancel, expiry or removal.
//!
//! A second end is refused by the state itself (a lease is in the set or it is not). What is left
//! to check is that every one does end: after the last job is over and one lease life has passed,
//! none may be left.

use lingua_core::{Micros, State};

use super::Broken;

pub(super) fn check_end(now: Micros, state: &mut State) -> Option<Broken> {
    state.sweep_all(now);
    let (node, lease, expires) = state.leases().next()?;
    let message = format!("{lease:?} on {node:?} is still held, expires {expires:?}");
    Some(Broken::new("I2", now, message))
}
