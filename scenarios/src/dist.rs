//! Distributions of durations, drawn by inverse transform from one uniform number each.
//!
//! One number per draw, and `libm` instead of the machine's mathematics: the same seed gives the
//! same durations everywhere, and two runs that draw for the same thing draw the same.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{Dur, Error, Sampler, csv_input};

/// The 99th percentile of the standard normal distribution.
const Z99: f64 = 2.326_347_874_040_841;

/// A distribution of durations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = or_a_bare_duration)]
pub enum Dist {
    /// Always the same; may also be written as a bare duration.
    Constant(Dur),
    /// Exponential, by its mean.
    Exponential(Dur),
    /// Lognormal, by its median and 99th percentile.
    Lognormal {
        /// Half of all values are below.
        median: Dur,
        /// One in a hundred is above.
        p99: Dur,
    },
    /// Uniform between two values.
    Uniform {
        /// Smallest.
        min: Dur,
        /// Largest.
        max: Dur,
    },
    /// One of a CSV's values each time (first column, seconds), all equally likely.
    Empirical(Empirical),
}

/// A bare duration stands for a constant.
fn or_a_bare_duration(schema: &mut schemars::Schema) {
    let forms = schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut);
    if let Some(forms) = forms {
        forms.insert(0, serde_json::json!({ "$ref": "#/$defs/Dur" }));
    }
}

/// Values read from a file.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(with = "String", description = "Path of a CSV whose first column holds seconds")]
pub struct Empirical {
    path: PathBuf,
    // Sorted, so that the uniform number is a rank and common random numbers keep their sense.
    values: Vec<Dur>,
}

impl Serialize for Empirical {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.path.serialize(to)
    }
}

impl Dist {
    /// Always the same.
    pub fn fixed(value: Dur) -> Self {
        Self::Constant(value)
    }

    /// Exponential with this mean.
    pub fn exponential(mean: Dur) -> Self {
        Self::Exponential(mean)
    }

    /// The value, if it is always the same.
    pub fn constant(&self) -> Option<Dur> {
        if let Self::Constant(value) = self { Some(*value) } else { None }
    }

    /// The value below which a share `u` of all lies, for `u` in [0, 1).
    pub fn sample(&self, u: f64) -> Dur {
        let nanos = |dur: &Dur| dur.nanos() as f64;
        match self {
            Self::Constant(value) => *value,
            Self::Exponential(mean) => Dur::from_nanos_f64(-libm::log(1.0 - u) * nanos(mean)),
            Self::Lognormal { median, p99 } => {
                let sigma = sigma(*median, *p99);
                Dur::from_nanos_f64(nanos(median) * libm::exp(sigma * normal_quantile(u)))
            }
            Self::Uniform { min, max } => {
                Dur::from_nanos_f64(nanos(min) + (nanos(max) - nanos(min)) * u)
            }
            Self::Empirical(Empirical { values, .. }) => {
                let at = (u * values.len() as f64) as usize;
                values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
            }
        }
    }

    /// Ready for many draws.
    pub fn sampler(&self) -> Sampler {
        Sampler::new(self)
    }

    /// Reads the values of an empirical distribution, whose path is relative to `base`, and adds
    /// its file to the inputs.
    pub(crate) fn read(&mut self, base: &Path, inputs: &mut Vec<PathBuf>) -> Result<(), Error> {
        if let Self::Empirical(Empirical { path, values }) = self {
            *path = base.join(&path);
            *values = csv_input::durations(path)?;
            inputs.push(path.clone());
        }
        Ok(())
    }

    /// The mean, in seconds.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(value) | Self::Exponential(value) => value.secs_f64(),
            Self::Lognormal { median, p99 } => {
                let sigma = sigma(*median, *p99);
                median.secs_f64() * libm::exp(sigma * sigma / 2.0)
            }
            Self::Uniform { min, max } => (min.secs_f64() + max.secs_f64()) / 2.0,
            Self::Empirical(Empirical { values, .. }) => {
                let sum: f64 = values.iter().map(|value| value.secs_f64()).sum();
                sum / values.len().max(1) as f64
            }
        }
    }
}

fn sigma(median: Dur, p99: Dur) -> f64 {
    libm::log(p99.nanos() as f64 / median.nanos() as f64) / Z99
}

/// Quantile of the standard normal distribution: P. J. Acklam's rational approximation (relative
/// error below 1.15e-9).
fn normal_quantile(u: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const LOW: f64 = 0.024_25;
    let poly = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    // The ends of the unit interval have no quantile; the nearest numbers have.
    let u = u.clamp(1e-12, 1.0 - 1e-12);
    if u < LOW {
        let q = libm::sqrt(-2.0 * libm::log(u));
        poly(&C, q) / poly(&D, q)
    } else if u > 1.0 - LOW {
        let q = libm::sqrt(-2.0 * libm::log(1.0 - u));
        -poly(&C, q) / poly(&D, q)
    } else {
        let q = u - 0.5;
        let r = q * q;
        q * poly(&A, r) / poly(&B, r)
    }
}

/// What a table names, before it is checked.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Named {
    Constant(Dur),
    Exponential(Dur),
    Lognormal(Lognormal),
    Uniform(Uniform),
    Empirical(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lognormal {
    median: Dur,
    p99: Dur,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Uniform {
    min: Dur,
    max: Dur,
}

impl Named {
    fn check(self) -> Result<Dist, String> {
        match self {
            Self::Constant(value) => Ok(Dist::Constant(value)),
            Self::Exponential(mean) => Ok(Dist::Exponential(mean)),
            Self::Lognormal(Lognormal { median, p99 }) => {
                if median == Dur::ZERO || p99 < median {
                    return Err(format!(
                        "lognormal needs 0 < median <= p99, has median {median} and p99 {p99}"
                    ));
                }
                Ok(Dist::Lognormal { median, p99 })
            }
            Self::Uniform(Uniform { min, max }) => {
                if max < min {
                    return Err(format!("uniform needs min <= max, has min {min} and max {max}"));
                }
                Ok(Dist::Uniform { min, max })
            }
            Self::Empirical(path) => Ok(Dist::Empirical(Empirical { path, values: Vec::new() })),
        }
    }
}

impl<'de> Deserialize<'de> for Dist {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> de::Visitor<'de> for Form {
            type Value = Dist;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a duration such as \"2s\", or a table: { exponential = \"2s\" }, \
                     { lognormal = { median = \"2s\", p99 = \"6s\" } }, \
                     { uniform = { min = \"1s\", max = \"3s\" } }, { empirical = \"file.csv\" }",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dist, E> {
                text.parse().map(Dist::Constant).map_err(E::custom)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Dist, A::Error> {
                let named = Named::deserialize(de::value::MapAccessDeserializer::new(map))?;
                named.check().map_err(de::Error::custom)
            }
        }
        from.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(dist: &Dist) -> f64 {
        let n = 200_000;
        (0..n).map(|i| dist.sample((f64::from(i) + 0.5) / f64::from(n)).secs_f64()).sum::<f64>()
            / f64::from(n)
    }

    #[test]
    fn samples_have_the_mean_that_is_told() {
        let s = Dur::from_secs;
        for dist in [
            Dist::Exponential(s(2)),
            Dist::Lognormal { median: s(2), p99: s(6) },
            Dist::Uniform { min: s(1), max: s(4) },
            Dist::Constant(s(3)),
            Dist::Empirical(Empirical { path: PathBuf::new(), values: vec![s(1), s(2), s(6)] }),
        ] {
            let (drawn, told) = (mean_of(&dist), dist.mean());
            assert!((drawn / told - 1.0).abs() < 2e-3, "{dist:?}: {drawn} {told}");
        }
    }

    #[test]
    fn quantiles_are_where_they_should_be() {
        let dist = Dist::Lognormal { median: Dur::from_secs(2), p99: Dur::from_secs(6) };
        assert!((dist.sample(0.5).secs_f64() - 2.0).abs() < 1e-6);
        assert!((dist.sample(0.99).secs_f64() - 6.0).abs() < 1e-6);
        assert!((normal_quantile(0.975) - 1.959_963_985).abs() < 1e-8);
    }
}
