//! Instruction counts, compared with the committed ones.
//!
//! Unlike time, the number of instructions is the same on a busy machine, so a small change tells.

pub mod callgrind;
mod figures;
mod verdict;

pub use figures::Figures;
pub use verdict::{Comparison, DISPATCH_GROWTH_MAX, Row, TOLERANCE, Verdict};

/// Why nothing can be compared.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// There is no valgrind.
    #[error(
        "valgrind is not installed: install its package (`apt-get install valgrind`) and retry"
    )]
    NoValgrind,
    /// A subject did not run to its end, or nothing of it was counted.
    #[error("{subject}: valgrind counted nothing; its last words:\n{told}")]
    NotCounted {
        /// Which subject.
        subject: &'static str,
        /// The end of what valgrind printed.
        told: String,
    },
    /// The program cannot run itself, or valgrind.
    #[error("cannot run {what}: {source}")]
    Run {
        /// What was to be run.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The baseline cannot be read.
    #[error("{path}: {source}: name the committed baseline, or write one with --update")]
    Read {
        /// Its path.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The baseline cannot be written.
    #[error("{path}: {source}: name a file that can be written")]
    Write {
        /// Its path.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The baseline is not in its format.
    #[error("{path} is no baseline: restore it, or write one with --update\n{source}")]
    Format {
        /// Its path.
        path: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// The baseline belongs to another compiler or target.
    #[error(
        "the baseline was counted with {baseline}, this program is built with {built}: counts of \
         different compilers cannot be compared. Build with the baseline's compiler, or renew \
         the baseline on an unchanged tree with --update and commit it"
    )]
    OtherCompiler {
        /// Compiler and target of the baseline.
        baseline: String,
        /// Compiler and target of this program.
        built: String,
    },
    /// Baseline and subjects differ.
    #[error("{0} stands in one of baseline and subjects only: renew the baseline with --update")]
    Unpaired(String),
    /// A planted slowdown went unnoticed in some subject.
    #[error("the gate is blind: a planted slowdown of 10 % was found in {found} of {of} subjects")]
    Blind {
        /// Where it was found.
        found: usize,
        /// How many subjects there are.
        of: usize,
    },
}
