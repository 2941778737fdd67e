//! Instructions per operation of every subject, as counted now or as committed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::GateError;

const HEAD: &str = "\
# Instructions per operation. Counted, never edited:
# cargo run --release --locked -p lingua-benches --bin instructions -- --update
";

/// Counts and what they belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The compiler, as `rustc --version` names it.
    pub rustc: String,
    /// The target triple.
    pub target: String,
    /// Instructions per operation by subject.
    pub instructions: BTreeMap<String, f64>,
}

impl Figures {
    /// No counts yet, of this program's compiler and target.
    pub fn of_this_build() -> Self {
        Self {
            rustc: env!("BUILT_BY").to_owned(),
            target: env!("BUILT_FOR").to_owned(),
            instructions: BTreeMap::new(),
        }
    }

    /// Adds a subject, to a hundredth of an instruction.
    pub fn add(&mut self, subject: &str, instructions: u64, operations: u64) {
        let each = instructions as f64 / operations as f64;
        self.instructions.insert(subject.to_owned(), (each * 100.0).round() / 100.0);
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// It cannot be read or is not in this format.
    pub fn read(path: &Path) -> Result<Self, GateError> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text)
                .map_err(|source| GateError::Format { path: name, source: Box::new(source) }),
            Err(source) => Err(GateError::Read { path: name, source }),
        }
    }

    /// Writes a baseline.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), GateError> {
        let body = toml::to_string(self).expect("names and numbers are TOML");
        std::fs::write(path, format!("{HEAD}{body}"))
            .map_err(|source| GateError::Write { path: path.display().to_string(), source })
    }

    /// Tells whether other counts can be compared with these, as a baseline.
    ///
    /// # Errors
    /// They are of another compiler or target.
    pub fn check_compiler(&self, now: &Self) -> Result<(), GateError> {
        let (baseline, built) = (self.compiler(), now.compiler());
        if baseline == built { Ok(()) } else { Err(GateError::OtherCompiler { baseline, built }) }
    }

    fn compiler(&self) -> String {
        format!("{} for {}", self.rustc, self.target)
    }
}
