//! The store against real servers.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_contents;
mod bad_servers;
mod clocks;
mod conformance;
mod drive;
mod dump;
mod duties;
mod failover;
mod gate;
mod kill_points;
mod members;
mod mutants;
mod repeats;
mod servers;
mod size;
mod steps;
mod story;
mod turns;
mod world;
