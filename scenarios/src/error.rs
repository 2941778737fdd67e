//! What can be wrong with an input, and how to mend it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Files of a folder among which a near name is looked for.
const NEIGHBOURS_MAX: usize = 1_000;

/// A scenario or one of its input files that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("error: {path}: {what}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and the mend.
        what: String,
    },
    /// The text is no scenario, at one place.
    #[error("{0}")]
    Place(Box<Place>),
    /// Values out of range, all of them.
    #[error("{}", join(.0))]
    Many(Vec<Place>),
    /// A change from the command line that fits nothing.
    #[error("error: --set {text}: {what}")]
    Override {
        /// As given.
        text: String,
        /// What is wrong, and the mend.
        what: String,
    },
    /// A line of a CSV that cannot be read.
    #[error("error: {path}:{line}: {what}")]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from one.
        line: u64,
        /// What is wrong, and the mend.
        what: String,
    },
}

impl Error {
    pub(crate) fn file(path: &Path, what: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), what: what.into() }
    }

    /// A file that the system does not let us read.
    pub fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::file(path, why_unreadable(path, error))
    }
}

/// Why the system does not let us read a file, and a file that may be meant.
pub(crate) fn why_unreadable(path: &Path, error: &std::io::Error) -> String {
    let near = match error.kind() {
        std::io::ErrorKind::NotFound => neighbour(path),
        _ => None,
    };
    let mend = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    format!("{}{mend}", plain_io(error))
}

fn plain_io(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::InvalidData => "is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}

/// A file in the same folder whose name is near.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let name = path.file_name()?.to_str()?;
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .take(NEIGHBOURS_MAX)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    let near = nearest(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// One thing that is wrong at one place of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    at: At,
    what: String,
}

/// Where a fault lies.
#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    /// On the command line.
    Set(String),
    /// In a file, at no place that could be shown.
    File(PathBuf),
    /// In a line of a text, both counted from one.
    Line { path: PathBuf, line: usize, column: usize, source: String, width: usize },
}

/// Most characters of a line that are shown.
const SHOWN_MAX: usize = 100;

impl Place {
    /// Finds line and column of a byte range in a text.
    pub fn new(
        path: &Path,
        text: &str,
        span: std::ops::Range<usize>,
        what: impl Into<String>,
    ) -> Self {
        let start = floor(text, span.start.min(text.len()));
        let end = floor(text, span.end.min(text.len())).max(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let width = text[start..end.min(line_end)].chars().count().max(1);
        let column = text[line_start..start].chars().count() + 1;
        let at = At::Line {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column,
            // A control character would break the picture.
            source: text[line_start..line_end]
                .chars()
                .take(SHOWN_MAX)
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect(),
            width: width.min((SHOWN_MAX + 1).saturating_sub(column).max(1)),
        };
        Self { at, what: what.into() }
    }

    /// A fault of a value that was given on the command line.
    pub(crate) fn set(text: &str, what: impl Into<String>) -> Self {
        Self { at: At::Set(text.to_owned()), what: what.into() }
    }

    /// A fault of a file as a whole, or of a value that is not written out in it.
    pub(crate) fn nowhere(path: &Path, what: impl Into<String>) -> Self {
        Self { at: At::File(path.to_owned()), what: what.into() }
    }

    /// The order in which places are told: as in the file, the command line first.
    pub(crate) fn order(&self) -> (usize, usize) {
        match &self.at {
            At::Set(_) | At::File(_) => (0, 0),
            At::Line { line, column, .. } => (*line, *column),
        }
    }
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = &self.what;
        let (path, line, column, source, width) = match &self.at {
            At::Set(text) => return write!(f, "error: --set {text}: {what}"),
            At::File(path) => return write!(f, "error: {}: {what}", path.display()),
            At::Line { path, line, column, source, width } => (path, line, column, source, width),
        };
        writeln!(f, "error: {}:{line}:{column}: {what}", path.display())?;
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {source}")?;
        let indent = " ".repeat(column.saturating_sub(1).min(SHOWN_MAX));
        write!(f, "{gutter} | {indent}{}", "^".repeat(*width))
    }
}

fn join(places: &[Place]) -> String {
    let mut all = String::new();
    for place in places {
        if !all.is_empty() {
            all.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = write!(all, "{place}");
    }
    all
}

/// The candidate nearest to a misspelt name, if one is near.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = candidates.into_iter().map(|candidate| (distance(name, candidate), candidate));
    let (distance, candidate) = near.min_by_key(|&(distance, _)| distance)?;
    (distance <= (name.len() / 3).clamp(1, 3)).then_some(candidate)
}

/// Levenshtein distance, with names cut to a length that matters.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        assert_eq!(nearest("sampel", ["sample", "policy"]), Some("sample"));
        assert_eq!(nearest("colour", ["sample", "policy"]), None);
    }
}
