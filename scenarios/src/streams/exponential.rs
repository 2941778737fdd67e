//! Exponential numbers by the ziggurat of G. Marsaglia and W. W. Tsang (2000), 256 layers.
//!
//! Own code, because the crates that have it use the machine's mathematics, and the same seed must
//! give the same numbers everywhere.

use std::sync::LazyLock;

const LAYERS: usize = 256;
/// Where the tail begins.
const TAIL: f64 = 7.697_117_470_131_05;
/// Area of each layer.
const AREA: f64 = 0.003_949_659_822_581_557;

/// Right ends of the layers, from the lowest up, and the density there.
struct Ziggurat {
    x: [f64; LAYERS + 1],
    density: [f64; LAYERS + 1],
}

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(|| {
    let mut x = [0.0; LAYERS + 1];
    x[0] = AREA / libm::exp(-TAIL);
    x[1] = TAIL;
    for layer in 2..LAYERS {
        let below = x[layer - 1];
        x[layer] = -libm::log(AREA / below + libm::exp(-below));
    }
    Ziggurat { x, density: x.map(|x| libm::exp(-x)) }
});

/// An exponential number with mean 1 from as many random words as it takes, mostly one.
pub(super) fn exponential(mut word: impl FnMut() -> u64) -> f64 {
    let Ziggurat { x, density } = &*ZIGGURAT;
    let mut base = 0.0;
    loop {
        let bits = word();
        let layer = (bits & 0xff) as usize;
        let at = uniform(bits) * x[layer];
        if at < x[layer + 1] {
            return base + at;
        }
        if layer == 0 {
            // The tail is an exponential again.
            base += TAIL;
            continue;
        }
        let height = density[layer] + (density[layer + 1] - density[layer]) * uniform(word());
        if height < libm::exp(-at) {
            return base + at;
        }
    }
}

/// Uniform in [0, 1) from the upper 53 bits.
#[inline]
pub(super) fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use crate::streams::mix;

    /// Shares of the numbers below points of the whole range, the tail included, lie within four
    /// standard errors of 1 − e^−x.
    #[test]
    fn the_distribution_is_exponential() {
        const DRAWS: u32 = 4_000_000;
        const POINTS: [f64; 9] = [0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 7.0, 8.0, 10.0];
        let mut n = 0;
        let mut below = [0u32; POINTS.len()];
        let mut sum = 0.0;
        for _ in 0..DRAWS {
            let drawn = super::exponential(|| {
                n += 1;
                mix(n)
            });
            sum += drawn;
            for (count, point) in below.iter_mut().zip(POINTS) {
                *count += u32::from(drawn < point);
            }
        }
        let draws = f64::from(DRAWS);
        assert!((sum / draws - 1.0).abs() < 4.0 / draws.sqrt(), "{}", sum / draws);
        for (count, point) in below.into_iter().zip(POINTS) {
            let expected = -libm::expm1(-point);
            let error = (expected * (1.0 - expected) / draws).sqrt();
            let share = f64::from(count) / draws;
            assert!((share - expected).abs() < 4.0 * error, "{point}: {share}, not {expected}");
        }
    }
}
