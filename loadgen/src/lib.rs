//! The load generator: thousands of real sockets against a scheduler, judged from outside.
//!
//! It never shares a rule with the scheduler that it judges: it knows the wire contract, the
//! scenario and the report, and relies on nothing that the deployed scheduler does not do.

#![forbid(unsafe_code)]

pub mod probe;
pub mod socket;
