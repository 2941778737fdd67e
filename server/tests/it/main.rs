//! The server over real sockets.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod access;
mod at_zookeeper;
mod browser;
mod closing;
mod dashboard;
mod figures;
mod first;
mod fuzz;
mod hostile;
mod http;
mod instances;
mod logs;
mod nodes;
mod operations;
mod outages;
mod peers;
mod room_moves;
mod rooms;
mod shared;

mod signals;
mod two_way;
mod utterances;
