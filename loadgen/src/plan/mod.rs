//! What is said when: an absolute plan from the seed, deaf to all answers.
//!
//! The simulator draws the same numbers for the same things, so both meet the same talk.

mod arrivals;
mod comers;
mod digest;
mod talker;

pub(crate) use arrivals::{Arrival, Arrivals, rate_of};
pub(crate) use comers::Comers;
pub(crate) use digest::digest;
pub(crate) use talker::{Group, Step, Talker};
