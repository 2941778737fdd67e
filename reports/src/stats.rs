//! Small statistics: intervals from replications and batch means, pairing, fairness.

/// A mean with the half width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; absent with fewer than two values.
    pub half: Option<f64>,
    /// Values (or batches) it stands on.
    pub n: usize,
}

impl Interval {
    /// Whether zero lies outside, so that a difference can be taken as real.
    pub fn excludes_zero(&self) -> bool {
        self.half.is_some_and(|half| self.mean.abs() > half)
    }
}

/// Arithmetic mean; zero of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Sample variance (divided by n − 1); zero with fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    squares / (values.len() - 1) as f64
}

/// The 97.5 % quantile of Student's t with `freedom` degrees of freedom; infinite at zero.
pub fn student_t_975(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
        2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
        2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831,
        2.048407, 2.045230, 2.042272,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        _ => {
            // Expansion around the normal quantile (Abramowitz and Stegun 26.7.5).
            let (z, v) = (1.959963984540054_f64, freedom as f64);
            let (z3, z5) = (z * z * z, z * z * z * z * z);
            z + (z3 + z) / (4.0 * v) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
        }
    }
}

/// 95 % interval of the mean of independent replications.
pub fn interval(values: &[f64]) -> Interval {
    let n = values.len();
    let half = (n >= 2).then(|| student_t_975(n - 1) * libm::sqrt(variance(values) / n as f64));
    Interval { mean: mean(values), half, n }
}

/// 95 % interval of one long run, from `batches` equal batches of a correlated series.
///
/// Values that do not fill a batch are cut from the front, where the warm-up lingers.
pub fn batch_means(series: &[f64], batches: usize) -> Interval {
    let size = series.len().checked_div(batches).unwrap_or(0);
    if size == 0 {
        return interval(series);
    }
    let kept = &series[series.len() - size * batches..];
    let means: Vec<f64> = kept.chunks_exact(size).map(mean).collect();
    interval(&means)
}

/// 95 % interval of the mean difference `b − a` over runs that met the same arrivals.
///
/// Pairs in order; what is left over on one side is ignored.
pub fn paired_difference(a: &[f64], b: &[f64]) -> Interval {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    interval(&differences)
}

/// Jain's fairness index, `(Σx)² / (n·Σx²)`: 1 = even, 1/n = all on one. Nothing is even.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (values.len() as f64 * squares) }
}

/// How many standard errors `found` lies from `expected`; absent without a standard error.
pub fn z_score(found: f64, expected: f64, standard_error: f64) -> Option<f64> {
    (standard_error > 0.0).then(|| (found - expected) / standard_error)
}

/// z-score of a refused ratio against an expected one.
///
/// Refusals come in bursts: their variance is about three times the binomial one.
pub fn refusal_z(refused: u64, offered: u64, expected: f64) -> Option<f64> {
    if offered == 0 {
        return None;
    }
    let n = offered as f64;
    z_score(refused as f64 / n, expected, libm::sqrt(3.0 * expected * (1.0 - expected) / n))
}

/// Probability of a standard normal value at least this far from zero, on either side.
pub fn two_sided_p(z: f64) -> f64 {
    libm::erfc(z.abs() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_known_values() {
        let i = interval(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((i.mean, i.n), (2.5, 4));
        assert!((i.half.unwrap() - 2.054260).abs() < 1e-4);
        assert_eq!(interval(&[7.0]), Interval { mean: 7.0, half: None, n: 1 });
        assert_eq!(interval(&[]).mean, 0.0);
    }

    #[test]
    fn the_t_quantile_is_smooth_where_the_table_ends() {
        assert!((student_t_975(31) - 2.039513).abs() < 1e-4);
        assert!((student_t_975(120) - 1.979930).abs() < 1e-5);
        assert_eq!(student_t_975(0), f64::INFINITY);
    }

    #[test]
    fn batches_drop_the_front() {
        let i = batch_means(&[100.0, 1.0, 1.0, 3.0, 3.0], 2);
        assert_eq!((i.mean, i.n), (2.0, 2));
        assert_eq!(batch_means(&[1.0, 2.0], 0).n, 2);
    }

    #[test]
    fn pairing_removes_what_both_share() {
        let d = paired_difference(&[10.0, 20.0, 30.0], &[11.0, 21.0, 31.1]);
        assert!(d.excludes_zero() && d.half.unwrap() < 0.2);
    }

    #[test]
    fn fairness_and_z() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!((two_sided_p(1.959963984540054) - 0.05).abs() < 1e-9);
        assert_eq!(refusal_z(0, 0, 0.1), None);
        assert!(refusal_z(100, 1000, 0.1).unwrap().abs() < 1e-12);
    }
}
