//! The evidence: frames as they went and came, shortened, with their times.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

/// Lines kept from the start of a behaviour, and from its end.
const FIRST: usize = 40;
const LAST: usize = 80;
/// Longest text of a line, in characters.
const WIDTH: usize = 240;
/// Longest text value within a frame; audio is longer.
const VALUE: usize = 40;

/// One frame, or one event of a socket.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// Since the behaviour began, in milliseconds.
    pub ms: u64,
    /// The probe's peer.
    pub peer: String,
    /// Whether the peer sent it or heard it.
    pub way: Way,
    /// The frame, shortened.
    pub frame: String,
}

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the peer to the scheduler.
    Sent,
    /// From the scheduler to the peer.
    Heard,
    /// Neither: the socket itself.
    Socket,
}

impl Way {
    /// An arrow that points at who got it.
    pub fn arrow(self) -> &'static str {
        match self {
            Self::Sent => "→",
            Self::Heard => "←",
            Self::Socket => "·",
        }
    }
}

/// What was kept of a behaviour's frames.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Evidence {
    /// In the order of their times.
    pub lines: Vec<Line>,
    /// Lines left out in the middle.
    pub left_out: u64,
}

/// Where the peers of one behaviour write.
#[derive(Debug, Clone)]
pub(super) struct Log {
    began: Instant,
    kept: Arc<Mutex<Evidence>>,
}

impl Log {
    pub(super) fn begin() -> Self {
        Self { began: Instant::now(), kept: Arc::default() }
    }

    pub(super) fn note(&self, peer: &str, way: Way, frame: &Value) {
        let frame = match frame {
            Value::String(text) => cut(text, WIDTH),
            frame => cut(&shorten(frame).to_string(), WIDTH),
        };
        let ms = self.began.elapsed().as_millis() as u64;
        let line = Line { ms, peer: peer.to_owned(), way, frame };
        // A writer that panicked left whole lines.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.lines.len() == FIRST + LAST {
            kept.lines.remove(FIRST);
            kept.left_out += 1;
        }
        kept.lines.push(line);
    }

    pub(super) fn evidence(&self) -> Evidence {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The frame with its long texts cut.
fn shorten(frame: &Value) -> Value {
    match frame {
        Value::String(text) if text.chars().nth(VALUE).is_some() => {
            format!("{} ({} characters)", cut(text, 12), text.chars().count()).into()
        }
        Value::Array(items) => items.iter().map(shorten).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), shorten(value))).collect()
        }
        value => value.clone(),
    }
}

fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
