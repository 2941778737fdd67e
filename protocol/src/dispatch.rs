//! From bytes to the right struct.
//!
//! An internally tagged serde enum would first copy every value of a frame into a tree, audio
//! included. So the type is read first and the frame is then parsed straight into its struct.
//! Every known peer writes `type` first, which [`leading_type`] reads without parsing anything.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::FrameError;
use crate::limits::FRAME_BYTES;
use crate::locate;
use crate::shown::shown;

/// The frame as text.
pub(crate) fn text(frame: &[u8]) -> Result<&str, FrameError> {
    fits(frame)?;
    std::str::from_utf8(frame).map_err(|error| FrameError::NotUtf8 { at: error.valid_up_to() })
}

/// Whether the frame is short enough.
pub(crate) fn fits(frame: &[u8]) -> Result<(), FrameError> {
    let (bytes, max) = (frame.len(), FRAME_BYTES);
    if bytes <= max { Ok(()) } else { Err(FrameError::TooLong { bytes, max }) }
}

/// The message's type, as it stands in the frame.
pub(crate) fn message_type<'a>(
    frame: &'a str,
    known: &'static [&'static str],
) -> Result<Cow<'a, str>, FrameError> {
    if let Some(name) = leading_type(frame) {
        return Ok(Cow::Borrowed(name));
    }
    if frame.trim_start_matches(JSON_SPACE).starts_with(|first| first != '{') {
        return Err(match serde_json::from_str::<&RawValue>(frame) {
            Ok(value) => FrameError::NotObject { value: shown(value.get()) },
            Err(error) => locate::not_json(&error),
        });
    }
    let head: Head<'_> = match serde_json::from_str(frame) {
        Ok(head) => head,
        Err(error) => return Err(locate::head(&error)),
    };
    let value = head.name.ok_or(FrameError::NoType { known })?.get();
    serde_json::from_str::<String>(value)
        .map(Cow::Owned)
        .map_err(|_| FrameError::UnknownType { value: shown(value), known })
}

/// The frame as one message. `T` must be the struct of the type `message`.
pub(crate) fn body<'a, T: Deserialize<'a>>(
    message: &'static str,
    frame: &'a str,
) -> Result<T, FrameError> {
    serde_json::from_str(frame).map_err(|error| locate::error::<T>(message, frame, &error))
}

const JSON_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    name: Option<&'a RawValue>,
}

/// The type where it is the first field and holds no escape.
fn leading_type(frame: &str) -> Option<&str> {
    let after = |text, mark: &str| -> Option<&str> {
        str::strip_prefix(text, mark).map(|rest: &str| rest.trim_start_matches(JSON_SPACE))
    };
    let frame = frame.trim_start_matches(JSON_SPACE);
    let value = after(after(after(frame, "{")?, "\"type\"")?, ":")?.strip_prefix('"')?;
    let end = value.bytes().position(|byte| byte == b'"' || byte == b'\\')?;
    (value.as_bytes()[end] == b'"').then(|| &value[..end])
}

/// The type of a frame that is only checked to be JSON.
pub(crate) fn ignored(message: &'static str, frame: &str) -> Result<&'static str, FrameError> {
    body::<serde::de::IgnoredAny>(message, frame).map(|_| message)
}

/// A message without fields.
#[derive(Serialize)]
pub(crate) struct Bare {
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
}

/// Appends a message as JSON.
pub(crate) fn write<T: Serialize>(message: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, message).expect("string keys into memory");
}

/// A message as JSON.
pub(crate) fn print<T: Serialize>(message: &T) -> String {
    serde_json::to_string(message).expect("string keys into memory")
}

/// Declares one direction of one socket: the enum, its parser and its writer.
macro_rules! direction {
    (
        $(#[$meta:meta])*
        pub enum $name:ident<'a> {
            $($(#[$variant_meta:meta])* $type:literal => $variant:ident($body:ty),)*
        }
        $(accepts $ignored:ident { $($ignored_type:literal,)* })?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(
            clippy::large_enum_variant,
            reason = "the large messages are the frequent ones, and none is kept"
        )]
        pub enum $name<'a> {
            $($(#[$variant_meta])* $variant($body),)*
            $(
                /// A message of the other direction, by its type. To be ignored.
                $ignored(&'static str),
            )?
        }

        impl<'a> $name<'a> {
            /// The types of this direction.
            pub const TYPES: &'static [&'static str] = &[$($type,)*];

            /// Parses one text frame.
            ///
            /// # Errors
            /// The first thing in the frame that this direction does not allow.
            pub fn parse<F: AsRef<[u8]> + ?Sized>(frame: &'a F) -> Result<Self, FrameError> {
                Self::parse_text(dispatch::text(frame.as_ref())?)
            }

            /// Parses one frame that is known to be text.
            ///
            /// # Errors
            /// As [`Self::parse`].
            pub fn parse_text(frame: &'a str) -> Result<Self, FrameError> {
                dispatch::fits(frame.as_bytes())?;
                let name = dispatch::message_type(frame, Self::TYPES)?;
                match &*name {
                    $($type => dispatch::body($type, frame).map(Self::$variant),)*
                    $($($ignored_type => {
                        dispatch::ignored($ignored_type, frame).map(Self::$ignored)
                    })*)?
                    other => Err(FrameError::UnknownType {
                        value: shown(other),
                        known: Self::TYPES,
                    }),
                }
            }

            /// The message's type.
            pub fn type_name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $type,)*
                    $(Self::$ignored(name) => name,)?
                }
            }

            /// The message as JSON.
            pub fn to_text(&self) -> String {
                match self {
                    $(Self::$variant(message) => dispatch::print(message),)*
                    $(Self::$ignored(name) => dispatch::print(&dispatch::Bare { name }),)?
                }
            }

            /// Appends the message as JSON. Into a buffer with room it allocates nothing.
            pub fn to_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(message) => dispatch::write(message, out),)*
                    $(Self::$ignored(name) => dispatch::write(&dispatch::Bare { name }, out),)?
                }
            }
        }

        $(
            impl<'a> From<$body> for $name<'a> {
                fn from(message: $body) -> Self {
                    Self::$variant(message)
                }
            }
        )*
    };
}
pub(crate) use direction;
