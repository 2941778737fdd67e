//! Numbers with a range.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::{Serialize, Serializer};

use crate::error::ValueError;
use crate::limits::MAX_JOBS;

macro_rules! integers {
    ($($(#[$meta:meta])* $name:ident($int:ty): $min:expr, $max:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub struct $name($int);

        impl $name {
            /// The least.
            pub const MIN: Self = Self($min);
            /// The most.
            pub const MAX: Self = Self($max);

            /// The number.
            ///
            /// # Errors
            /// Outside [`Self::MIN`] and [`Self::MAX`].
            pub fn new(value: $int) -> Result<Self, ValueError> {
                if ($min..=$max).contains(&value) {
                    Ok(Self(value))
                } else {
                    let mend = format!("an integer from {} to {}", $min, $max);
                    Err(ValueError { value: value.to_string(), mend })
                }
            }

            /// The number.
            pub fn get(self) -> $int {
                self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                let range = Range { min: u64::from($min as $int), max: u64::from($max as $int) };
                // Within the range, so within the type.
                json.deserialize_u64(range).map(|value| Self(value as $int))
            }
        }
    )*};
}

integers! {
    /// How many jobs a node runs at once.
    MaxJobs(u16): 1, MAX_JOBS;
    /// Samples per second.
    SampleRate(u32): 8_000, 192_000;
    /// Channels of audio.
    Channels(u8): 1, 8;
}

struct Range {
    min: u64,
    max: u64,
}

impl Visitor<'_> for Range {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer from {} to {}", self.min, self.max)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        if (self.min..=self.max).contains(&value) {
            Ok(value)
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(value), &self))
        }
    }
}

/// A measured number: a percentage, a score, a ratio. Finite, at most 10¹² either way.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Real(f64);

impl Real {
    const BOUND: f64 = 1e12;

    /// The number, unless it is too large or none.
    pub fn new(value: f64) -> Option<Self> {
        (value.abs() <= Self::BOUND).then_some(Self(value))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_f64(Bounded)
    }
}

struct Bounded;

impl Visitor<'_> for Bounded {
    type Value = Real;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from -1e12 to 1e12")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Real, E> {
        Real::new(value).ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Real, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Real, E> {
        self.visit_f64(value as f64)
    }
}
