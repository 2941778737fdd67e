//! Names that peers give to things, each kind its own type.
//!
//! Ids become parts of store keys and of log lines, so their characters are few.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::error::ValueError;
use crate::limits::{GROUP_ID_BYTES, ID_BYTES, LANGUAGE_BYTES};
use crate::shown::shown;

/// Which characters a kind of id may hold.
#[derive(Clone, Copy)]
enum Alphabet {
    /// Letters, digits, `.`, `_` and `-`.
    Key,
    /// Every visible ASCII character.
    Visible,
}

impl Alphabet {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Key => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'),
            Self::Visible => byte.is_ascii_graphic(),
        }
    }
}

impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "ASCII letters, digits, `.`, `_` or `-`",
            Self::Visible => "visible ASCII characters",
        })
    }
}

struct Rule {
    bytes: usize,
    alphabet: Alphabet,
}

impl Rule {
    fn allows(&self, text: &str) -> bool {
        (1..=self.bytes).contains(&text.len()) && text.bytes().all(|byte| self.alphabet.holds(byte))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1 to {} {}", self.bytes, self.alphabet)
    }
}

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident: $bytes:expr, $alphabet:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            const RULE: Rule = Rule { bytes: $bytes, alphabet: Alphabet::$alphabet };

            /// The id of this text.
            ///
            /// # Errors
            /// Empty, too long, or with a character that such an id may not hold.
            pub fn new(text: &str) -> Result<Self, ValueError> {
                if Self::RULE.allows(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(ValueError { value: shown(text), mend: Self::RULE.to_string() })
                }
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        // A map keyed by ids is asked with a borrowed text.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
                json.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                json.deserialize_str(Allowed(Self::RULE)).map(Self)
            }
        }
    )*};
}

ids! {
    /// A client's session.
    SessionId: ID_BYTES, Key;
    /// A compute node.
    NodeId: ID_BYTES, Key;
    /// One job: an utterance in one target language at one node.
    JobId: ID_BYTES, Key;
    /// A turn of speech: utterances that one cut after another made of it.
    TurnId: ID_BYTES, Key;
    /// A room, as a person types it.
    RoomCode: ID_BYTES, Key;
    /// A room, as programs name it.
    RoomId: ID_BYTES, Key;
    /// A member of a room.
    ParticipantId: ID_BYTES, Key;
    /// A tenant.
    TenantId: ID_BYTES, Key;
    /// A language tag, or `auto` where the message allows it.
    Language: LANGUAGE_BYTES, Key;
    /// A trace, given by a client and handed through.
    TraceId: ID_BYTES, Visible;
    /// Results that are spoken without a pause between them.
    GroupId: GROUP_ID_BYTES, Visible;
    /// A model of a node.
    ModelId: ID_BYTES, Visible;
    /// A service of a node.
    ServiceId: ID_BYTES, Visible;
}

struct Allowed(Rule);

impl Visitor<'_> for Allowed {
    type Value = Box<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if self.0.allows(text) {
            Ok(text.into())
        } else {
            Err(E::custom(format_args!("expected {}", self.0)))
        }
    }
}

/// A job id that is empty where there is no job.
pub(crate) mod job_or_empty {
    use super::{Allowed, Deserializer, Error, JobId, Serializer, Visitor, fmt};

    pub(crate) fn serialize<S: Serializer>(id: &Option<JobId>, json: S) -> Result<S::Ok, S::Error> {
        json.serialize_str(id.as_ref().map_or("", JobId::as_str))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        json: D,
    ) -> Result<Option<JobId>, D::Error> {
        json.deserialize_str(OrEmpty)
    }

    struct OrEmpty;

    impl Visitor<'_> for OrEmpty {
        type Value = Option<JobId>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}, or nothing", JobId::RULE)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            if text.is_empty() {
                return Ok(None);
            }
            Allowed(JobId::RULE).visit_str(text).map(|id| Some(JobId(id)))
        }
    }
}
