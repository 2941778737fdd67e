//! The store against real servers.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_contents;
mod bad_servers;
mod conformance;
mod drive;
mod dump;
mod members;
mod mutants;
mod servers;
mod size;
mod steps;
mod story;
