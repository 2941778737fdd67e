//! Duties among real processes on a real Redis and a real ZooKeeper.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod alike;
mod alone;
mod instance;
mod live;
mod trouble;
mod zookeeper;
