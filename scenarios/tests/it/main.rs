//! Every scenario file loads; every bad input gets one clear answer.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
mod duties;
mod files;
mod messages;
