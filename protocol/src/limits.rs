//! How much a peer may send.
//!
//! Each is a ceiling of the format. A server may be stricter, and says so at its socket.

/// Longest frame in bytes: 20 s of 48 kHz PCM16 speech in base64, and its texts.
pub const FRAME_BYTES: usize = 4 << 20;

/// Longest id or label in bytes.
pub const ID_BYTES: usize = 128;

/// Longest group id in bytes: a session id with a prefix and a time.
pub const GROUP_ID_BYTES: usize = 192;

/// Longest language tag in bytes, as RFC 5646 advises.
pub const LANGUAGE_BYTES: usize = 35;

/// Longest name of an open set (an error code, an audio format) in bytes.
pub const NAME_BYTES: usize = 64;

/// Longest short text (a name, a version, a platform) in bytes.
pub const SHORT_TEXT_BYTES: usize = 256;

/// Longest note to a reader (an error's message, a hint, a reason) in bytes.
pub const NOTE_BYTES: usize = 4_096;

/// Longest transcript or translation of one utterance in bytes.
pub const TRANSCRIPT_BYTES: usize = 65_536;

/// Longest JSON value that is passed on unread, in bytes.
pub const JSON_BYTES: usize = 65_536;

/// Deepest nesting of a JSON value that is passed on unread.
pub const JSON_DEPTH: usize = 32;

/// Most languages in one list.
pub const LANGUAGES: usize = 256;

/// Most services of one node.
pub const SERVICES: usize = 256;

/// Most models of one node.
pub const MODELS: usize = 4_096;

/// Most entries in any other list or map.
pub const ENTRIES: usize = 1_024;

/// Most jobs at once that a node may offer.
pub const MAX_JOBS: u16 = 1_024;
