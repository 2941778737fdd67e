//! Exit codes that scripts can use, and errors as people read them.

use std::process::ExitCode;

use lingua_reports::run::Verdict;

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Fine.
    Fine = 0,
    /// Bad input or usage.
    BadInput = 2,
    /// An expectation of the scenario failed, or a comparison found a regression.
    ExpectationFailed = 3,
    /// The measurement cannot be trusted.
    Void = 4,
    /// A promised invariant broke.
    InvariantBroken = 5,
}

impl From<Verdict> for Code {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Fine,
            Verdict::ExpectationFailed => Self::ExpectationFailed,
            Verdict::Void => Self::Void,
            Verdict::InvariantBroken => Self::InvariantBroken,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A scenario or an input file of it is wrong.
    #[error("{0}")]
    Scenario(#[from] lingua_scenarios::Error),
    /// A scenario asks for what does not go together.
    #[error("error: {0}")]
    Sim(lingua_sim::SimError),
    /// Results cannot be written.
    #[error("error: {0}")]
    Write(#[from] lingua_reports::files::WriteError),
    /// Results cannot be read.
    #[error("error: {0}")]
    Read(#[from] lingua_reports::files::ReadError),
    /// Runs that cannot be compared.
    #[error("error: {0}")]
    Compare(#[from] lingua_reports::compare::CompareError),
    /// Duties that cannot be planned.
    #[error("error: {0}")]
    Plan(#[from] lingua_core::claim::PlanError),
    #[cfg(feature = "live")]
    /// A run over real sockets could not begin.
    #[error("error: {0}")]
    Load(lingua_loadgen::LoadError),
    /// Shards that do not belong together.
    #[error("error: {0}")]
    Merge(#[from] lingua_reports::merge::MergeError),
    /// A prediction that cannot be held against a measurement.
    #[error("error: {0}")]
    Prediction(#[from] lingua_reports::prediction::PredictionError),
    #[cfg(feature = "live")]
    /// A scheduler that cannot be measured.
    #[error("error: {0}")]
    Calibrate(#[from] lingua_loadgen::calibrate::CalibrateError),
    #[cfg(feature = "live")]
    /// The server ended.
    #[error("error: {0}")]
    Serve(#[from] lingua_server::ServeError),
    #[cfg(feature = "live")]
    /// An operator got no answer from the store.
    #[error("error: {0}")]
    Operator(#[from] lingua_server::operator::OperatorError),
    #[cfg(feature = "live")]
    /// An address that names no scheduler.
    #[error("error: {0}")]
    Target(#[from] lingua_loadgen::TargetError),
    #[cfg(feature = "live")]
    /// No scheduler of our own could be started.
    #[error("error: {0}")]
    Child(#[from] lingua_loadgen::ChildError),
    #[cfg(feature = "live")]
    /// There is no scheduler to measure.
    #[error("error: {0}")]
    Unreachable(#[from] lingua_loadgen::probe::Unreachable),
    /// Anything else that the user can mend.
    #[error("error: {0}")]
    Usage(String),
    /// The reader of our output has gone.
    #[error("broken pipe")]
    BrokenPipe,
}

#[cfg(feature = "live")]
impl From<lingua_loadgen::LoadError> for Failure {
    fn from(error: lingua_loadgen::LoadError) -> Self {
        match error {
            // It names its place itself.
            lingua_loadgen::LoadError::Scenario(error) => Self::Scenario(error),
            error => Self::Load(error),
        }
    }
}

impl From<lingua_sim::SimError> for Failure {
    fn from(error: lingua_sim::SimError) -> Self {
        match error {
            // It names its place itself.
            lingua_sim::SimError::Input(error) => Self::Scenario(error),
            error => Self::Sim(error),
        }
    }
}

impl Failure {
    pub(crate) fn code(&self) -> Code {
        match self {
            #[cfg(feature = "live")]
            Self::Unreachable(_) => Code::Void,
            _ => Code::BadInput,
        }
    }
}

/// A line for the person beside the output; whoever has closed standard error wants none.
pub(crate) fn tell(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints, and ends quietly when nobody reads any more.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    std::io::stdout().write_all(text.as_bytes()).map_err(|_| Failure::BrokenPipe)
}
