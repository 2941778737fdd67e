//! The rules of Lingua scheduling.
//!
//! Pure, synchronous and deterministic: no clock, no input or output, no threads, no global
//! randomness. Time and random words are arguments, so the same calls give the same results in a
//! server, in a simulator, and in a script of the shared store.
//!
//! - [`State`] is what all schedulers share. [`State::apply`] is its only way to change: one
//!   [`Op`], one atomic step, one [`Reply`].
//! - [`instance::Instance`] is one scheduler process without input and output of its own.
//! - [`ring`] says where rooms and tenants live.
//! - [`claim`] shares the duties that one instance at a time must do.
//! - [`select`] holds the policies: which nodes to try, from what an instance knows.

pub mod affinity;
pub mod claim;
pub mod draws;
pub mod finalize;
mod ids;
pub mod instance;
mod lang;
mod lookup;
mod presence;
mod promises;
mod rank_set;
pub mod ring;
pub mod select;
mod state;
mod time;

pub use draws::{Draws, Words};
pub use ids::{InstanceId, LeaseId, ModelId, NodeNum, NodeRef, RegionId, RequestId, SessionId};
pub use lang::{Lang, LangError, Languages, LanguagesError, Pair, PoolRule};
pub use lookup::LookupMap;
pub use promises::Promises;
pub use rank_set::RankSet;
pub use state::directory::{Capabilities, ClassId, Directory, Features, Needs, PairFull};
pub use state::homes::Home;
pub use state::nodes::{NodeState, NodeStatus};
pub use state::op::*;
pub use state::restore::{RestoreError, StoredNode};
pub use state::shards::Shards;
pub use state::steps::*;
pub use state::{CapacityCheck, SharedState, Snapshot, State, StateConfig};
pub use time::Micros;
