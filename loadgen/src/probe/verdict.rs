//! How a behaviour comes out.

use std::fmt;

use serde::Serialize;

use crate::probe::log::Evidence;
use crate::socket::ConnectError;

/// What the probe says of a behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The scheduler shows it.
    Pass,
    /// It does not.
    Fail,
    /// The scheduler says that it has no such thing.
    Unsupported,
    /// The probe was not told how to bring it about.
    NotRun,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Unsupported => "unsupported",
            Self::NotRun => "not run",
        })
    }
}

/// A behaviour, its verdict and why.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The behaviour's name.
    pub name: &'static str,
    /// What a scheduler must do.
    pub explains: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found, in a sentence.
    pub found: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The frames.
    pub evidence: Evidence,
}

/// Why a behaviour was not seen.
#[derive(Debug)]
pub(super) enum Trouble {
    Failed(String),
    Unsupported(String),
    NotRun(String),
}

impl From<ConnectError> for Trouble {
    fn from(error: ConnectError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What was found, or why not.
pub(super) type Outcome = Result<String, Trouble>;

/// Ends a behaviour as failed.
macro_rules! fail {
    ($($text:tt)*) => {
        return Err($crate::probe::verdict::Trouble::Failed(format!($($text)*)))
    };
}
pub(super) use fail;
