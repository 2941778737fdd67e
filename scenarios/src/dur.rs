//! Durations as people write them: `10s`, `250ms`, `1h30m`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A duration in whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dur(u64);

/// Units and their nanoseconds, the largest first.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Longest duration: a year, so that sums never overflow.
const MAX: f64 = 365.0 * 24.0 * 3_600.0 * 1e9;

impl Dur {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// From whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// From nanoseconds as a real number; rounded, and held within a year.
    #[inline]
    pub fn from_nanos_f64(ns: f64) -> Self {
        // Signed, because the machine converts to no other; a year fits.
        Self((ns + 0.5).clamp(0.0, MAX) as i64 as u64)
    }

    /// In whole microseconds, rounded down.
    pub const fn micros(self) -> u64 {
        self.0 / 1_000
    }

    /// In nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// In seconds.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no duration: write a number and a unit (ns, us, ms, s, m, h), such as 10s")]
pub struct DurError(String);

impl FromStr for Dur {
    type Err = DurError;

    fn from_str(text: &str) -> Result<Self, DurError> {
        let wrong = || DurError(text.chars().take(40).collect());
        let mut rest = text.trim();
        let mut nanos = 0.0;
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
            let (number, after) = rest.split_at(digits.ok_or_else(wrong)?);
            let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
            let (unit, next) = after.split_at(letters);
            let number: f64 = number.replace('_', "").parse().map_err(|_| wrong())?;
            let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
            nanos += number * unit.1 as f64;
            rest = next;
        }
        if nanos.is_finite() && nanos <= MAX {
            Ok(Self::from_nanos_f64(nanos))
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for Dur {
    /// The shortest exact form, such as `1h30m` or `250ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        if left == 0 {
            return f.write_str("0s");
        }
        for (unit, nanos) in UNITS {
            if left >= nanos {
                write!(f, "{}{unit}", left / nanos)?;
                left %= nanos;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Dur {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Dur;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with its unit, such as \"10s\" or \"250ms\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dur, E> {
                text.parse().map_err(E::custom)
            }

            // The unit of a bare number would be a guess.
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Dur, E> {
                Err(E::custom(DurError(number.to_string())))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Dur, E> {
                Err(E::custom(DurError(number.to_string())))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Dur, E> {
                Err(E::custom(DurError(number.to_string())))
            }
        }
        from.deserialize_any(Text)
    }
}

impl JsonSchema for Dur {
    fn schema_name() -> Cow<'static, str> {
        "Dur".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A duration with its unit (ns, us, ms, s, m, h): 250ms, 1.5s, 1h30m.",
            "pattern": r"^\s*([0-9][0-9_]*(\.[0-9]+)?(ns|us|ms|s|m|h))+\s*$",
            "examples": ["250ms", "10s", "1h30m"]
        })
    }
}

impl Serialize for Dur {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_printed() {
        for (text, nanos, printed) in [
            ("10s", 10_000_000_000, "10s"),
            ("250ms", 250_000_000, "250ms"),
            ("1.5s", 1_500_000_000, "1s500ms"),
            ("1h30m", 5_400_000_000_000, "1h30m"),
            ("150ns", 150, "150ns"),
            ("0s", 0, "0s"),
        ] {
            let dur: Dur = text.parse().unwrap();
            assert_eq!((dur.nanos(), dur.to_string().as_str()), (nanos, printed), "{text}");
            assert_eq!(printed.parse::<Dur>().unwrap(), dur);
        }
    }

    #[test]
    fn what_is_no_duration_is_told_so() {
        for text in ["", "10", "s", "10 sec", "-5s", "nan", "1e99s", "5d", "infs", "99999999h"] {
            assert!(text.parse::<Dur>().is_err(), "{text}");
        }
    }
}
