//! The load generator and the probe against schedulers that do right, and that do wrong.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bench;
mod faulty;
mod judge;
mod known_answer;
mod probe;
mod scripted;
