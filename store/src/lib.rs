//! The shared state of the Lingua scheduler on Redis.
//!
//! `lingua_core::State` defines every step; here each is a script (`scripts/*.lua`) that computes
//! the same from what is stored. [`Store::apply`] is [`lingua_core::State::apply`] over a network:
//! the conformance tests feed both the same steps and compare every reply and the final state.
//!
//! On one server a dispatch is one step. On a Cluster session, node, class and directory lie in
//! different slots: each script touches one home, and what goes on between them is the caller's.

mod address;
mod call;
mod changes;
mod client;
mod cluster;
mod drive;
mod duties;
mod error;
mod figures;
mod inbox;
pub mod keys;
mod link;
mod members;
mod reply;
mod script;
mod snapshot;
mod text;

pub use address::Address;
pub use client::{Store, StoreClock, StoreConfig, StoreCounts};
pub use drive::{Replied, StoreHandle};
pub use error::StoreError;
pub use figures::Holdings;
pub use inbox::{Acks, Entry, Inbox, Posted};
pub use members::{Member, Roll, SharedSecret};
pub use script::{Scripts, Step};

/// Where the keys lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// All on one server: what a step means at other homes happens in the same step.
    OneServer,
    /// In the slots of a Cluster: a step touches one home.
    Cluster,
}
