//! Real input from CSV files, read line by line in constant memory.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use csv::StringRecord;

use crate::pair::is_language;
use crate::{Dist, Dur, Error, NodeGroup, Pair};

/// Nodes of one file.
const NODES_MAX: usize = 1_000_000;
/// Values of one empirical distribution.
const VALUES_MAX: usize = 1_000_000;

/// Bytes of one record, what the reader takes in advance included.
const RECORD_MAX: usize = 1 << 18;

/// One recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it was made, from the start.
    pub at: Dur,
    /// Name of the session.
    pub session: String,
    /// Directed pair.
    pub pair: Pair,
    /// Length of the speech.
    pub speech: Dur,
    /// Whether the speaker ended it.
    pub manual: bool,
}

/// Columns of a file of calls.
const CALLS: [&str; 6] = ["time", "session", "src", "tgt", "speech_ms", "manual"];

/// Calls in the order of the file, one at a time.
pub struct Calls {
    rows: Rows,
    last: Dur,
}

impl Calls {
    /// Opens a file with the columns `time, session, src, tgt, speech_ms, manual`.
    ///
    /// # Errors
    /// The file cannot be read, or a column is missing.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { rows: Rows::open(path, &CALLS)?, last: Dur::ZERO })
    }

    fn call(&mut self) -> Result<Call, Error> {
        let rows = &self.rows;
        let at = rows.seconds("time", 0)?;
        if at < self.last {
            let (at, last) = (at.secs_f64(), self.last.secs_f64());
            return Err(rows.wrong(format!("time {at} comes after {last}: sort the file by time")));
        }
        self.last = at;
        let manual = match rows.field(5) {
            "1" | "true" | "yes" => true,
            "0" | "false" | "no" => false,
            _ => {
                return Err(rows.wrong(format!("manual is `{}`: write 0 or 1", rows.shown(5))));
            }
        };
        Ok(Call {
            at,
            session: rows.field(1).to_owned(),
            pair: Pair { src: rows.language("src", 2)?, tgt: rows.language("tgt", 3)? },
            speech: Dur::from_nanos_f64(rows.number("speech_ms", 4)? * 1e6),
            manual,
        })
    }
}

impl Iterator for Calls {
    type Item = Result<Call, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows.advance() {
            Ok(true) => Some(self.call()),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Columns of a file of nodes.
const NODES: [&str; 7] = ["name", "asr", "semantic", "tts", "max_jobs", "region", "service_ms"];

/// Reads nodes; lists of languages are separated by `+`. Empty fields keep the group's value.
pub(crate) fn nodes(path: &Path, group: &NodeGroup) -> Result<Vec<NodeGroup>, Error> {
    let mut rows = Rows::open(path, &NODES)?;
    let mut nodes = Vec::new();
    while rows.advance()? {
        let mut node = NodeGroup { count: 1, from: None, ..group.clone() };
        node.name = Some(rows.field(0).to_owned());
        if let Some(asr) = rows.languages("asr", 1)? {
            node.asr = asr;
        }
        if let Some(semantic) = rows.languages("semantic", 2)? {
            node.semantic = Some(semantic);
        }
        if let Some(tts) = rows.languages("tts", 3)? {
            node.tts = tts;
        }
        if !rows.field(4).is_empty() {
            let max_jobs = rows.number("max_jobs", 4)?;
            if max_jobs.fract() != 0.0 || !(1.0..=1_024.0).contains(&max_jobs) {
                return Err(rows.wrong(format!("max_jobs is {max_jobs}: 1 to 1024 are allowed")));
            }
            node.max_jobs = max_jobs as u32;
        }
        if !rows.field(5).is_empty() {
            node.region = Some(rows.field(5).to_owned());
        }
        if !rows.field(6).is_empty() {
            let mean = Dur::from_nanos_f64(rows.number("service_ms", 6)? * 1e6);
            node.service_time = Dist::Exponential(mean);
        }
        nodes.push(node);
        if nodes.len() > NODES_MAX {
            return Err(rows.wrong(format!("more than {NODES_MAX} nodes")));
        }
    }
    Ok(nodes)
}

/// Reads the values of an empirical distribution: seconds in the first column, sorted.
pub(crate) fn durations(path: &Path) -> Result<Vec<Dur>, Error> {
    let mut rows = Rows::open(path, &[])?;
    let mut values = Vec::new();
    while rows.advance()? {
        values.push(rows.seconds("the first column", 0)?);
        if values.len() > VALUES_MAX {
            return Err(rows.wrong(format!("more than {VALUES_MAX} values")));
        }
    }
    if values.is_empty() {
        return Err(Error::file(path, "there is no value in it"));
    }
    values.sort_unstable();
    Ok(values)
}

/// A file of which one record at a time may be read, and no endless one.
///
/// An opening quote without an end makes the rest of the file one field; without this bound it
/// would be held in memory.
struct Bounded {
    file: File,
    // Bytes that may still be read before the record at hand must have ended.
    left: Arc<AtomicUsize>,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            let what = format!("one line has more than {RECORD_MAX} bytes: is a quote left open?");
            return Err(std::io::Error::other(what));
        }
        let end = buffer.len().min(left);
        let read = self.file.read(&mut buffer[..end])?;
        self.left.store(left - read, Ordering::Relaxed);
        Ok(read)
    }
}

/// Lines of a CSV file and the one at hand.
struct Rows {
    path: PathBuf,
    reader: csv::Reader<Bounded>,
    left: Arc<AtomicUsize>,
    record: StringRecord,
}

impl Rows {
    fn open(path: &Path, columns: &[&str]) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::unreadable(path, &error))?;
        if path.is_dir() {
            return Err(Error::file(path, "is a folder: name a CSV file"));
        }
        let mut builder = csv::ReaderBuilder::new();
        builder.trim(csv::Trim::All).flexible(true);
        let left = Arc::new(AtomicUsize::new(RECORD_MAX));
        let mut reader = builder.from_reader(Bounded { file, left: left.clone() });
        let header = reader.headers().map_err(|error| Error::file(path, error.to_string()))?;
        let found: Vec<&str> = header.iter().take(columns.len()).collect();
        if found != columns {
            let want = columns.join(",");
            let what = format!("the first line must be `{want}`, it is `{}`", found.join(","));
            return Err(Error::Line { path: path.to_owned(), line: 1, what });
        }
        Ok(Self { path: path.to_owned(), reader, left, record: StringRecord::new() })
    }

    fn advance(&mut self) -> Result<bool, Error> {
        self.left.store(RECORD_MAX, Ordering::Relaxed);
        let more = self.reader.read_record(&mut self.record);
        more.map_err(|error| Error::Line {
            path: self.path.clone(),
            line: error.position().map_or(0, csv::Position::line),
            what: match error.kind() {
                csv::ErrorKind::Utf8 { .. } => "is not UTF-8 text".to_owned(),
                _ => error.to_string(),
            },
        })
    }

    fn field(&self, at: usize) -> &str {
        self.record.get(at).unwrap_or("")
    }

    fn wrong(&self, what: String) -> Error {
        let line = self.record.position().map_or(0, csv::Position::line);
        Error::Line { path: self.path.clone(), line, what }
    }

    /// A field as it is shown in a message.
    fn shown(&self, at: usize) -> String {
        self.field(at).chars().take(40).flat_map(char::escape_debug).collect()
    }

    fn number(&self, name: &str, at: usize) -> Result<f64, Error> {
        let text = self.field(at);
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => {
                let text = self.shown(at);
                Err(self.wrong(format!("{name} is `{text}`: write a number that is not negative")))
            }
        }
    }

    fn seconds(&self, name: &str, at: usize) -> Result<Dur, Error> {
        Ok(Dur::from_nanos_f64(self.number(name, at)? * 1e9))
    }

    fn language(&self, name: &str, at: usize) -> Result<String, Error> {
        let tag = self.field(at);
        if is_language(tag) {
            return Ok(tag.to_owned());
        }
        let tag = self.shown(at);
        Err(self.wrong(format!("{name} is `{tag}`: write a language tag such as zh")))
    }

    fn languages(&self, name: &str, at: usize) -> Result<Option<Vec<String>>, Error> {
        let text = self.field(at);
        if text.is_empty() {
            return Ok(None);
        }
        let tags: Vec<String> = text.split(['+', '|', ' ']).map(str::to_owned).collect();
        match tags.iter().find(|tag| !is_language(tag)) {
            Some(_) => {
                Err(self.wrong(format!("{name} is `{}`: write tags such as zh+en", self.shown(at))))
            }
            None => Ok(Some(tags)),
        }
    }
}
