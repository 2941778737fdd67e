//! JSON that is handed on unread.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::ValueError;
use crate::limits::{JSON_BYTES, JSON_DEPTH};
use crate::shown::shown;

/// Any JSON value, byte for byte as it came, within bounds of length and depth.
///
/// Borrows from the frame; [`Json::into_owned`] frees it from there.
#[derive(Clone)]
pub struct Json<'a>(Cow<'a, RawValue>);

impl Json<'_> {
    /// The value of this text.
    ///
    /// # Errors
    /// Not one JSON value, too long, or too deep.
    pub fn new(text: &str) -> Result<Json<'static>, ValueError> {
        let value = serde_json::from_str::<Box<RawValue>>(text).ok();
        let value = value.filter(|value| fits(value.get()));
        let Some(value) = value else {
            return Err(ValueError { value: shown(text), mend: Rule.to_string() });
        };
        Ok(Json(Cow::Owned(value)))
    }

    /// A value as JSON.
    ///
    /// # Errors
    /// Not representable as JSON, too long, or too deep.
    pub fn of<T: Serialize>(value: &T) -> Result<Json<'static>, ValueError> {
        let refused = |error: serde_json::Error| ValueError {
            value: shown(&error.to_string()),
            mend: Rule.to_string(),
        };
        Json::new(&serde_json::to_string(value).map_err(refused)?)
    }

    /// The JSON as a value, if it is one.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_str(self.as_str()).ok()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The same value with its own copy of the text.
    pub fn into_owned(self) -> Json<'static> {
        Json(Cow::Owned(self.0.into_owned()))
    }
}

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self.as_str()))
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(json)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        let value = <&RawValue>::deserialize(json)?;
        if fits(value.get()) {
            Ok(Self(Cow::Borrowed(value)))
        } else {
            Err(D::Error::custom(format_args!("expected {Rule}")))
        }
    }
}

struct Rule;

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JSON of at most {JSON_BYTES} bytes, nested at most {JSON_DEPTH} deep")
    }
}

/// Whether valid JSON is short and flat enough for whoever reads it in the end.
fn fits(text: &str) -> bool {
    if text.len() > JSON_BYTES {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
        if depth > JSON_DEPTH {
            return false;
        }
    }
    true
}
