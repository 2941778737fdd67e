//! Integration tests of the core.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod affinity_table;
mod claim_script;
mod claim_situations;
mod claim_swarm;
mod cluster_steps;
mod crash_points;
mod drain_and_lag;
mod finalize_and_answers;
mod fixture;
mod ring;
mod segmenter;
mod state_model;
mod stored_times;
