//! One file per command.

pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod claim_plan;
pub(crate) mod compare;
pub(crate) mod engine_bench;
pub(crate) mod import;
#[cfg(feature = "live")]
pub(crate) mod live;
pub(crate) mod merge;
pub(crate) mod pools;
pub(crate) mod publish;
pub(crate) mod report;
pub(crate) mod sim;
pub(crate) mod theory;
