//! The gate on numbers alone, and the subjects without valgrind.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod gate;
mod subjects;
