//! A directed pair of languages, `zh:en`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A directed pair.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(
    with = "String",
    description = "A directed pair such as zh:en: the language heard, the language spoken.",
    extend("pattern" = "^[A-Za-z0-9-]{1,11}:[A-Za-z0-9-]{1,11}$")
)]
pub struct Pair {
    /// Language heard.
    pub src: String,
    /// Language spoken.
    pub tgt: String,
}

/// Text that is no pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no directed pair: write two language tags, such as zh:en")]
pub struct PairError(String);

/// Whether a tag may name a language: 1 to 11 letters, digits or hyphens.
pub(crate) fn is_language(tag: &str) -> bool {
    (1..=11).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl FromStr for Pair {
    type Err = PairError;

    fn from_str(text: &str) -> Result<Self, PairError> {
        match text.split_once(':') {
            Some((src, tgt)) if is_language(src) && is_language(tgt) => {
                Ok(Self { src: src.to_owned(), tgt: tgt.to_owned() })
            }
            _ => Err(PairError(text.chars().take(40).collect())),
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.src, self.tgt)
    }
}

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Pair {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
