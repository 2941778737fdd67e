//! What a run leaves behind: the [`run::Run`] record, its files, tables, plots and page.
//!
//! Everything here is a pure function of its input: equal artifacts give equal bytes on every
//! machine. Logarithms and powers come from `libm` for that reason, and nothing here reads a clock.

pub mod capacity;
pub mod compare;
pub mod duties;
pub mod facts;
pub mod files;
pub mod hgrm;
pub mod hlog;
pub mod html;
pub mod junit;
pub mod load;
pub mod markdown;
pub mod merge;
pub mod metrics;
pub mod number;
pub mod plots;
pub mod prediction;
pub mod replications;
pub mod run;
pub mod stats;
pub mod summary;
pub mod table;
pub mod terminal;
pub mod theory;
pub mod timeseries;

#[cfg(test)]
mod fixture;
