//! Free text with a longest length.

use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::limits::{NOTE_BYTES, SHORT_TEXT_BYTES, TRANSCRIPT_BYTES};

/// A name, a version, a platform.
pub type ShortText = Text<SHORT_TEXT_BYTES>;
/// What a message says to a reader.
pub type Note = Text<NOTE_BYTES>;
/// What was said in one utterance, or its translation.
pub type Transcript = Text<TRANSCRIPT_BYTES>;

/// Any text of at most `MAX` bytes. May be empty, and may hold control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text<const MAX: usize>(Box<str>);

impl<const MAX: usize> Text<MAX> {
    /// The text, or as much of its beginning as fits.
    pub fn cut(text: &str) -> Self {
        Self(text[..text.floor_char_boundary(MAX)].into())
    }
}

impl<const MAX: usize> Deref for Text<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<const MAX: usize> Serialize for Text<MAX> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.serialize_str(self)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_str(AtMost::<MAX>)
    }
}

struct AtMost<const MAX: usize>;

impl<const MAX: usize> Visitor<'_> for AtMost<MAX> {
    type Value = Text<MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text of at most {MAX} bytes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text<MAX>, E> {
        if text.len() <= MAX {
            Ok(Text(text.into()))
        } else {
            Err(E::custom(format_args!("expected a text of at most {MAX} bytes")))
        }
    }
}
