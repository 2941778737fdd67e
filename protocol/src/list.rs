//! Lists and maps with a most number of entries.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::ValueError;
use crate::ids::Language;
use crate::limits::{ENTRIES, LANGUAGES};

/// Languages of one kind.
pub type LanguageList = List<Language, LANGUAGES>;

/// A list of at most `MAX` entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct List<T, const MAX: usize = ENTRIES>(Vec<T>);

impl<T, const MAX: usize> List<T, MAX> {
    /// The entries.
    ///
    /// # Errors
    /// More than `MAX`.
    pub fn new(entries: Vec<T>) -> Result<Self, ValueError> {
        if entries.len() <= MAX {
            Ok(Self(entries))
        } else {
            let value = format!("{} entries", entries.len());
            Err(ValueError { value, mend: format!("at most {MAX}") })
        }
    }
}

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> Deref for List<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_seq(Entries(PhantomData))
    }
}

struct Entries<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Entries<T, MAX> {
    type Value = List<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", TooMany::<MAX>("a list"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut json: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while entries.len() < MAX {
            let Some(entry) = json.next_element()? else { return Ok(List(entries)) };
            entries.push(entry);
        }
        match json.next_element::<IgnoredAny>()? {
            None => Ok(List(entries)),
            Some(_) => Err(A::Error::custom(format_args!("expected {}", TooMany::<MAX>("a list")))),
        }
    }
}

struct TooMany<const MAX: usize>(&'static str);

impl<const MAX: usize> fmt::Display for TooMany<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of at most {MAX} entries", self.0)
    }
}

/// An object with keys of the peer's choice, in order of the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Map<K: Ord, V>(BTreeMap<K, V>);

impl<K: Ord, V> Map<K, V> {
    /// The entries.
    ///
    /// # Errors
    /// More than [`ENTRIES`].
    pub fn new(entries: BTreeMap<K, V>) -> Result<Self, ValueError> {
        if entries.len() <= ENTRIES {
            Ok(Self(entries))
        } else {
            let value = format!("{} entries", entries.len());
            Err(ValueError { value, mend: format!("at most {ENTRIES}") })
        }
    }
}

impl<K: Ord, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V> Deref for Map<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.0
    }
}

impl<'de, K, V> Deserialize<'de> for Map<K, V>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(Pairs(PhantomData))
    }
}

struct Pairs<K, V>(PhantomData<(K, V)>);

impl<'de, K, V> Visitor<'de> for Pairs<K, V>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    type Value = Map<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", TooMany::<ENTRIES>("an object"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut json: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = json.next_entry()? {
            entries.insert(key, value);
            if entries.len() > ENTRIES {
                let rule = TooMany::<ENTRIES>("an object");
                return Err(A::Error::custom(format_args!("expected {rule}")));
            }
        }
        Ok(Map(entries))
    }
}
