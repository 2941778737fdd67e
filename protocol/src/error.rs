//! Why a frame was refused.

/// A frame that is no message of its socket. Each says where, what stood there, and the mend.
///
/// Values are cut to 64 characters and escaped, so an error may be logged and sent back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than any message may be. Nothing of it was read.
    #[error("the frame has {bytes} bytes: send at most {max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        max: usize,
    },
    /// Not text.
    #[error("the frame is not UTF-8 from byte {at} on: send JSON as UTF-8 text")]
    NotUtf8 {
        /// Index of the first wrong byte.
        at: usize,
    },
    /// Not JSON.
    #[error("the frame is not JSON at line {line} column {column}, {what}: send one JSON object")]
    NotJson {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1. Zero where the line is empty.
        column: usize,
        /// What the parser met.
        what: String,
    },
    /// JSON, but not an object.
    #[error("the frame is `{value}`: send one JSON object")]
    NotObject {
        /// Its beginning.
        value: String,
    },
    /// An object that does not say which message it is.
    #[error("`type` is missing: send one of {}", listed(.known))]
    NoType {
        /// The messages of this socket and direction.
        known: &'static [&'static str],
    },
    /// A message that this socket does not take.
    #[error("`type` is `{value}`: send one of {}", listed(.known))]
    UnknownType {
        /// What stood there.
        value: String,
        /// The messages of this socket and direction.
        known: &'static [&'static str],
    },
    /// A required field is absent.
    #[error("`{message}.{field}` is missing: add it")]
    Missing {
        /// The message's type.
        message: &'static str,
        /// Path of the field.
        field: String,
    },
    /// A field stands twice in one object.
    #[error("`{message}.{field}` stands twice: send it once")]
    Twice {
        /// The message's type.
        message: &'static str,
        /// Path of the field.
        field: String,
    },
    /// A field holds what it may not hold.
    #[error("`{message}.{field}` is `{value}`: send {mend}")]
    Value {
        /// The message's type.
        message: &'static str,
        /// Path of the field.
        field: String,
        /// What stood there, as JSON.
        value: String,
        /// What may stand there.
        mend: String,
    },
}

fn listed(names: &[&str]) -> String {
    names.join(", ")
}

/// A value that the wire does not carry, met on the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not sent: use {mend}")]
pub struct ValueError {
    /// The value, cut and escaped.
    pub value: String,
    /// What may stand there.
    pub mend: String,
}
