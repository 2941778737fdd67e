//! One file per command.

pub(crate) mod calibrate;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod claim_plan;
pub(crate) mod compare;
pub(crate) mod engine_bench;
pub(crate) mod import;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod pools;
pub(crate) mod probe;
pub(crate) mod publish;
pub(crate) mod redis;
pub(crate) mod report;
pub(crate) mod serve;
pub(crate) mod sim;
pub(crate) mod target;
pub(crate) mod theory;
