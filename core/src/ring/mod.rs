//! Where rooms and tenants live: consistent hashing with bounded load, and the choice between
//! pools of nodes.
//!
//! - [`Ring`] gives each room an instance. Adding or removing an instance moves little more than
//!   that instance's share, and none carries more than its bound.
//! - [`choose_in_pools`] chooses in two levels: by load and locality a pool, and within it, by the
//!   policy, a node.
//!
//! A ring proposes; who owns a room is decided by an atomic claim.

mod bounded;
mod hash;
mod pools;
mod score;

pub use bounded::{Move, Ring, RingError};
pub use hash::{hash, hash_pair};
pub use pools::{PoolLoad, PoolSet, Pools, choose_in_pools, choose_pool};
pub use score::Weight;
