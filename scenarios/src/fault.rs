//! What is wrong with a scenario, by the path of the value: `nodes.0.max_jobs`.

/// Faults told at most; a file that is no scenario at all would fill the screen.
const TOLD_MAX: usize = 50;

/// Which part of an entry is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Its key.
    Key,
    /// What is written behind the key.
    Value,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Keys from the top, indices included.
    pub(crate) path: Vec<String>,
    /// What the caret points at.
    pub(crate) part: Part,
    /// What is wrong, and the mend.
    pub(crate) what: String,
}

/// All that is wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    all: Vec<Fault>,
    left_out: usize,
}

impl Faults {
    pub(crate) fn add(&mut self, path: Vec<String>, part: Part, what: String) {
        if self.all.len() < TOLD_MAX {
            self.all.push(Fault { path, part, what });
        } else {
            self.left_out += 1;
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len() + self.left_out
    }

    /// Those that are told.
    pub(crate) fn told(&self) -> &[Fault] {
        &self.all
    }

    /// How many more there are than told.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether some fault lies in the same group as `path`: what follows from it is not told.
    pub(crate) fn has_group_of(&self, path: &[String]) -> bool {
        let group = |path: &[String]| {
            let keys =
                if path.get(1).is_some_and(|key| key.parse::<usize>().is_ok()) { 2 } else { 1 };
            path.iter().take(keys).cloned().collect::<Vec<_>>()
        };
        let of = group(path);
        self.all.iter().any(|fault| {
            let other = group(&fault.path);
            of.starts_with(&other) || other.starts_with(&of)
        })
    }
}

/// Splits a dotted path; keys in it hold no dots.
pub(crate) fn split(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

/// A path as people write it.
pub(crate) fn joined(path: &[String]) -> String {
    let quoted = |key: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !key.is_empty() && key.chars().all(plain) { key.clone() } else { format!("{key:?}") }
    };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}
