//! Duties among instances, for real: `lingua_core::claim` decides, a [`Coordinator`] that all
//! instances share carries out its steps, and a [`Keeper`] runs what is held here.
//!
//! Whoever stands still for longer than its lease, or cannot reach the coordinator, stops all its
//! duties by its own clock, before they can be held by another. What a run writes carries its
//! token, so that a run that wakes too late is refused.
//!
//! The board is in this process ([`Embedded`]), on the store, or, with the feature `zookeeper`, at
//! ZooKeeper; without it [`zookeeper`] has the same names, of which nothing can be made.

#![forbid(unsafe_code)]

mod coordinator;
mod embedded;
mod keeper;
mod on_store;
mod surplus;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;
#[cfg(not(feature = "zookeeper"))]
#[path = "no_zookeeper.rs"]
pub mod zookeeper;

pub use coordinator::{Coordinator, Work};
pub use embedded::Embedded;
pub use keeper::{Keeper, Order, Rules, Status};
