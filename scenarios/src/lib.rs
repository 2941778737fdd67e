//! The scenario format: what a deployment is, what it must carry, what goes wrong.
//!
//! [`Scenario::load`] turns a TOML file into checked values or says what is wrong, where, and how
//! to mend it. Nothing here knows the rules of scheduling.

mod csv_input;
mod defaults;
mod dist;
mod document;
mod dur;
mod error;
mod fault;
mod import;
mod load;
mod model;
mod pair;
mod preset;
mod rate;
mod sampler;
mod schema;
mod shape;
pub mod streams;
mod validate;

pub use csv_input::{Call, Calls};
pub use dist::{Dist, Empirical};
pub use dur::{Dur, DurError};
pub use error::{Error, Place, nearest};
pub use import::{Imported, import};
pub use load::{Loaded, costs_of};
pub use model::*;
pub use pair::{Pair, PairError};
pub use rate::{Rate, RateError};
pub use sampler::Sampler;
pub use schema::schema;
