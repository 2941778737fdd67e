//! Rates as people write them: `200/s`, `30/m`, or points over time.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Dur;

/// Highest rate, per second.
const MAX: f64 = 1e9;
/// Most points of one rate.
const POINTS_MAX: usize = 10_000;

/// Events per second, constant or as a line through points over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    // At least one point, times strictly rising.
    points: Vec<(Dur, f64)>,
}

impl Rate {
    /// A constant rate.
    pub fn per_second(rate: f64) -> Self {
        Self { points: vec![(Dur::ZERO, rate.clamp(0.0, MAX))] }
    }

    /// The rate at a time: between two points on the line through them, after the last one its
    /// value.
    pub fn at(&self, time: Dur) -> f64 {
        let after = self.points.partition_point(|&(at, _)| at <= time);
        let Some(&(t1, r1)) = self.points.get(after) else {
            return self.points.last().map_or(0.0, |&(_, rate)| rate);
        };
        let Some(&(t0, r0)) = after.checked_sub(1).and_then(|before| self.points.get(before))
        else {
            return r1;
        };
        let share = (time.nanos() - t0.nanos()) as f64 / (t1.nanos() - t0.nanos()) as f64;
        r0 + (r1 - r0) * share
    }

    /// The highest rate.
    pub fn max(&self) -> f64 {
        self.points.iter().map(|&(_, rate)| rate).fold(0.0, f64::max)
    }

    /// Whether it never changes.
    pub fn is_constant(&self) -> bool {
        self.points.iter().all(|&(_, rate)| rate == self.points[0].1)
    }
}

/// Text that is no rate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RateError {
    /// Not of the form number/unit.
    #[error("`{0}` is no rate: write a number and a unit (/s, /m, /h), such as 200/s")]
    Form(String),
    /// Out of range.
    #[error("`{0}` is out of range: a rate is between 0 and 1e9 per second")]
    Range(String),
    /// Points that do not rise.
    #[error("times of a rate must rise: {0} is not after the point before it")]
    Order(Dur),
    /// Too few or too many points.
    #[error("a rate has 1 to 10,000 points, this one has {0}")]
    Count(usize),
}

fn number(text: &str) -> Result<f64, RateError> {
    let wrong = || RateError::Form(text.chars().take(40).collect());
    let (number, unit) = text.trim().split_once('/').ok_or_else(wrong)?;
    let per_second = match unit.trim() {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().replace('_', "").parse().map_err(|_| wrong())?;
    checked(number / per_second, text)
}

fn checked(per_second: f64, text: &str) -> Result<f64, RateError> {
    if (0.0..=MAX).contains(&per_second) {
        Ok(per_second)
    } else {
        Err(RateError::Range(text.chars().take(40).collect()))
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        number(text).map(Self::per_second)
    }
}

fn through(points: Vec<(Dur, f64)>) -> Result<Rate, RateError> {
    if points.is_empty() || points.len() > POINTS_MAX {
        return Err(RateError::Count(points.len()));
    }
    if let Some(pair) = points.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(RateError::Order(pair[1].0));
    }
    Ok(Rate { points })
}

/// One value as it is written: a text with its unit, or a bare number per second.
struct PerSecond(f64);

impl<'de> Deserialize<'de> for PerSecond {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl de::Visitor<'_> for Form {
            type Value = PerSecond;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as \"200/s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerSecond, E> {
                number(text).map(PerSecond).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, rate: i64) -> Result<PerSecond, E> {
                self.visit_f64(rate as f64)
            }

            fn visit_u64<E: de::Error>(self, rate: u64) -> Result<PerSecond, E> {
                self.visit_f64(rate as f64)
            }

            fn visit_f64<E: de::Error>(self, rate: f64) -> Result<PerSecond, E> {
                checked(rate, &rate.to_string()).map(PerSecond).map_err(E::custom)
            }
        }
        from.deserialize_any(Form)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> de::Visitor<'de> for Form {
            type Value = Rate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as \"200/s\", or points: [[\"0s\", \"10/s\"], ...]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rate, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, rate: i64) -> Result<Rate, E> {
                self.visit_f64(rate as f64)
            }

            fn visit_u64<E: de::Error>(self, rate: u64) -> Result<Rate, E> {
                self.visit_f64(rate as f64)
            }

            fn visit_f64<E: de::Error>(self, rate: f64) -> Result<Rate, E> {
                checked(rate, &rate.to_string()).map(Rate::per_second).map_err(E::custom)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Rate, A::Error> {
                let mut points = Vec::new();
                while let Some(point) = seq.next_element::<(Dur, PerSecond)>()? {
                    points.push((point.0, point.1.0));
                }
                through(points).map_err(de::Error::custom)
            }
        }
        from.deserialize_any(Form)
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Dur>();
        let text = json_schema!({
            "type": "string",
            "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*/\s*[smh]\s*$"
        });
        let bare = json_schema!({ "type": "number", "minimum": 0, "maximum": MAX });
        json_schema!({
            "description": "Events per second: a text with its unit (/s, /m, /h), a bare number \
                            (per second), or points over time with straight lines between them.",
            "anyOf": [
                text,
                bare,
                {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": POINTS_MAX,
                    "items": {
                        "type": "array",
                        "prefixItems": [time, { "anyOf": [text, bare] }],
                        "minItems": 2,
                        "maxItems": 2
                    }
                }
            ],
            "examples": ["200/s", "30/m", [["0s", "10/s"], ["5m", "500/s"]]]
        })
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if let [(_, rate)] = self.points.as_slice() {
            return to.serialize_str(&format!("{rate}/s"));
        }
        let mut seq = to.serialize_seq(Some(self.points.len()))?;
        for (at, rate) in &self.points {
            seq.serialize_element(&(at, format!("{rate}/s")))?;
        }
        seq.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_points() {
        let points = vec![(Dur::from_secs(10), 10.0), (Dur::from_secs(20), 30.0)];
        let rate = through(points).unwrap();
        let at = |s| rate.at(Dur::from_secs(s));
        assert_eq!([at(0), at(10), at(15), at(20), at(99)], [10.0, 10.0, 20.0, 30.0, 30.0]);
        assert!(!rate.is_constant());
    }

    #[test]
    fn what_is_no_rate_is_told_so() {
        for text in ["", "200", "200/d", "-1/s", "nan/s", "inf/s", "1e10/s", "/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert_eq!("30/m".parse::<Rate>().unwrap(), Rate::per_second(0.5));
    }
}
