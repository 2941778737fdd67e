//! What the hot paths cost: time for people, instruction counts for a gate.
//!
//! [`subjects`] prepares the work; `benches/speed.rs` times it, [`gate`] counts its instructions
//! and compares them with the committed baseline.

pub mod gate;
pub mod subjects;
