//! Two runs side by side: only what met the same arrivals is compared.

use crate::metrics;
use crate::number::{decimal, percent};
use crate::run::{Kind, Run};
use crate::table::{Align, Cell, Table};

/// Quantities compared, by their path, and whether a larger value is worse.
const COMPARED: [(&str, bool); 13] = [
    ("carried_per_s", false),
    ("refused_ratio", true),
    ("utilisation", false),
    ("latency_ms.dispatch.p50", true),
    ("latency_ms.dispatch.p99", true),
    ("latency_ms.dispatch_net.p50", true),
    ("latency_ms.dispatch_net.p99", true),
    ("latency_ms.response.p50", true),
    ("latency_ms.response.p99", true),
    ("oversold.assignments", true),
    ("broken_segments.count", true),
    ("jobs.failed", true),
    ("fairness.max_over_mean", true),
];

/// Why two runs cannot be compared, or a limit cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// They met different arrivals.
    #[error(
        "the runs met different arrivals ({a} and {b}): run both with the same sessions, arrivals \
         and seed"
    )]
    Arrivals {
        /// Digest of the first run's arrivals.
        a: String,
        /// And of the second one's.
        b: String,
    },
    /// A limit of a regression that cannot be read.
    #[error("`{0}`: write a metric and a percentage, such as p99=10%")]
    Limit(String),
    /// A metric that the runs do not have.
    #[error("`{0}` is no metric of these runs; did you mean `{1}`?")]
    Metric(String, String),
}

/// The table of differences. A prediction and a measurement may be compared although their
/// arrivals are drawn differently.
///
/// # Errors
/// Two runs of one kind met different arrivals.
pub fn table(a: &Run, b: &Run) -> Result<Table, CompareError> {
    comparable(a, b)?;
    let mut table = Table::new(&[
        ("metric", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B − A", Align::Right),
        ("relative", Align::Right),
    ]);
    for (path, _) in COMPARED {
        let (Some(x), Some(y)) = (metrics::number(a, path), metrics::number(b, path)) else {
            continue;
        };
        let relative = if x == 0.0 { "n/a".to_owned() } else { percent((y - x) / x) };
        table.row([
            Cell::from(path),
            Cell::decimal(x),
            Cell::decimal(y),
            Cell::decimal(y - x),
            Cell::from(relative),
        ]);
    }
    Ok(table)
}

fn comparable(a: &Run, b: &Run) -> Result<(), CompareError> {
    let one_kind = a.kind == Kind::Sim && b.kind == Kind::Sim;
    if one_kind && a.arrivals_digest != b.arrivals_digest {
        return Err(CompareError::Arrivals {
            a: a.arrivals_digest.clone(),
            b: b.arrivals_digest.clone(),
        });
    }
    Ok(())
}

/// A metric of B that is worse than A's by more than is allowed, as a sentence.
///
/// A limit is `metric=percent`; `p99` alone means `latency_ms.dispatch_net.p99`.
///
/// # Errors
/// The limit cannot be read, or names no metric.
pub fn regression(a: &Run, b: &Run, limit: &str) -> Result<Option<String>, CompareError> {
    let wrong = || CompareError::Limit(limit.to_owned());
    let (name, allowed) = limit.split_once('=').ok_or_else(wrong)?;
    let allowed: f64 = allowed.trim_end_matches('%').trim().parse().map_err(|_| wrong())?;
    if !allowed.is_finite() || allowed < 0.0 {
        return Err(wrong());
    }
    let path = match name {
        "p50" | "p90" | "p99" | "p999" | "mean" => format!("latency_ms.dispatch_net.{name}"),
        other => other.to_owned(),
    };
    let (Some(x), Some(y)) = (metrics::number(a, &path), metrics::number(b, &path)) else {
        let known = metrics::known_paths();
        let near = metrics::nearest(&path, &known).to_owned();
        return Err(CompareError::Metric(path, near));
    };
    let larger_is_worse =
        COMPARED.iter().find(|(known, _)| *known == path).is_none_or(|&(_, worse)| worse);
    let worse_by = if larger_is_worse { y - x } else { x - y };
    let too_much = worse_by > x.abs() * allowed / 100.0;
    Ok(too_much.then(|| {
        format!("{path} went from {} to {}, more than {allowed} % worse", decimal(x), decimal(y))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn other_arrivals_are_not_compared() {
        let a = fixture::artifacts().run;
        let mut b = a.clone();
        assert!(table(&a, &b).is_ok());
        b.arrivals_digest = "other".into();
        assert!(matches!(table(&a, &b), Err(CompareError::Arrivals { .. })));
    }

    #[test]
    fn a_regression_is_one_in_the_bad_direction_only() {
        let a = fixture::artifacts().run;
        let mut b = a.clone();
        b.latency_ms.dispatch_net.p99 *= 1.2;
        b.carried_per_s *= 1.2;
        assert!(regression(&a, &b, "p99=10%").unwrap().is_some());
        assert!(regression(&a, &b, "p99=30%").unwrap().is_none());
        assert!(regression(&a, &b, "carried_per_s=1%").unwrap().is_none());
        assert!(regression(&b, &a, "carried_per_s=1%").unwrap().is_some());
        assert!(regression(&a, &b, "p99").is_err());
        assert!(regression(&a, &b, "nothing=1%").is_err());
    }
}
