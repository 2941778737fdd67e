//! From serde's words to the field, its value and the mend.
//!
//! Only a refused frame comes here, so it may be read again, field by field.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_path_to_error::{Path, Segment};

use crate::FrameError;
use crate::shown::shown;

/// The error of a frame that is not JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> FrameError {
    let what = shown(words(&error.to_string()));
    FrameError::NotJson { line: error.line(), column: error.column(), what }
}

/// The error of a frame whose `type` cannot be read.
pub(crate) fn head(error: &serde_json::Error) -> FrameError {
    match error.classify() {
        Category::Data => FrameError::Twice { message: "frame", field: "type".to_owned() },
        _ => not_json(error),
    }
}

/// The error of a frame that is no `T`.
pub(crate) fn error<'a, T: serde::Deserialize<'a>>(
    message: &'static str,
    frame: &'a str,
    error: &serde_json::Error,
) -> FrameError {
    if error.classify() != Category::Data {
        return not_json(error);
    }
    let mut json = serde_json::Deserializer::from_str(frame);
    let Err(located) = serde_path_to_error::deserialize::<_, T>(&mut json) else {
        return not_json(error);
    };
    let text = located.inner().to_string();
    let text = words(&text);
    let path = located.path();
    if let Some(name) = quoted(text, "missing field `") {
        return FrameError::Missing { message, field: inside(path, name) };
    }
    if let Some(name) = quoted(text, "duplicate field `") {
        return FrameError::Twice { message, field: inside(path, name) };
    }
    let expected = text.rsplit_once("expected ").map_or(text, |(_, expected)| expected);
    let value = path.iter().try_fold(frame, child).unwrap_or(frame);
    FrameError::Value {
        message,
        field: shown(&path.to_string()),
        value: shown(value.trim()),
        mend: mend(expected),
    }
}

/// A message of serde_json without its position.
fn words(text: &str) -> &str {
    text.rsplit_once(" at line ").map_or(text, |(words, _)| words)
}

/// What stands between `start` and the closing backtick.
fn quoted<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.strip_suffix('`')
}

/// The path of a field of the object at `path`.
fn inside(path: &Path, name: &str) -> String {
    if path.iter().next().is_none() {
        name.to_owned()
    } else {
        format!("{}.{name}", shown(&path.to_string()))
    }
}

/// What may stand where serde expected this.
fn mend(expected: &str) -> String {
    match expected {
        "u32" => format!("an integer from 0 to {}", u32::MAX),
        "u64" => format!("an integer from 0 to {}", u64::MAX),
        "i64" => format!("an integer from {} to {}", i64::MIN, i64::MAX),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        other if other.starts_with("struct ") => "an object".to_owned(),
        other => shown(other),
    }
}

/// The value one step down.
fn child<'a>(value: &'a str, step: &Segment) -> Option<&'a str> {
    Child(step).deserialize(&mut serde_json::Deserializer::from_str(value)).ok()?
}

struct Child<'s>(&'s Segment);

impl<'de> DeserializeSeed<'de> for Child<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Child<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if matches!(self.0, Segment::Map { key: wanted } if *wanted == key) {
                found = Some(map.next_value::<&RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let mut index = 0;
        while let Some(value) = list.next_element::<&RawValue>()? {
            if matches!(self.0, Segment::Seq { index: wanted } if *wanted == index) {
                found = Some(value.get());
            }
            index += 1;
        }
        Ok(found)
    }
}
