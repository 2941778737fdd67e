//! Closed forms that the simulator must hit where a theory exists.
//!
//! Time is in units of the mean service time unless a rate is given. Load is in erlangs.

/// Share of arrivals lost by `slots` servers without a queue, offered `load` erlangs.
///
/// Erlang B, by the recursion `B(0) = 1, B(k) = A·B(k−1) / (k + A·B(k−1))`
/// (A. K. Erlang 1917; recursion in Jagerman 1974). It holds for every service distribution.
pub fn erlang_b(slots: u64, load: f64) -> f64 {
    if load <= 0.0 {
        return if slots == 0 { 1.0 } else { 0.0 };
    }
    let mut blocking = 1.0;
    for k in 1..=slots {
        blocking = load * blocking / (k as f64 + load * blocking);
    }
    blocking
}

/// Share of arrivals that must wait at `slots` servers with one FIFO queue.
///
/// Erlang C, `B / (1 − (A/c)(1 − B))` with B from [`erlang_b`] (A. K. Erlang 1917).
/// At or above saturation everything waits.
pub fn erlang_c(slots: u64, load: f64) -> f64 {
    if slots == 0 || load >= slots as f64 {
        return 1.0;
    }
    let blocking = erlang_b(slots, load);
    blocking / (1.0 - load / slots as f64 * (1.0 - blocking))
}

/// Mean wait in queue of an M/M/c: `C(c, A) / (c·mu − A·mu)`.
///
/// `mu` is the service rate of one server. Infinite at or above saturation.
pub fn mmc_mean_wait(slots: u64, load: f64, mu: f64) -> f64 {
    if load >= slots as f64 {
        return f64::INFINITY;
    }
    erlang_c(slots, load) / (mu * (slots as f64 - load))
}

/// Mean time in system when each arrival joins the shortest of `choices` queues, n → ∞.
///
/// The sum over i ≥ 1 of `lambda^((d^i − d)/(d − 1))` (Vvedenskaya, Dobrushin, Karpelevich 1996;
/// Mitzenmacher 1996), in mean service times. `lambda` is the load per server. Infinite from 1 on.
pub fn supermarket(choices: u32, lambda: f64) -> f64 {
    if lambda.is_nan() || lambda <= 0.0 {
        return if lambda.is_nan() { lambda } else { 1.0 };
    }
    if lambda >= 1.0 || choices == 0 {
        return f64::INFINITY;
    }
    if choices == 1 {
        // The plain M/M/1, whose terms shrink slowly: its sum is known.
        return 1.0 / (1.0 - lambda);
    }
    let d = f64::from(choices);
    let (mut sum, mut exponent, mut power) = (0.0, 0.0, d);
    loop {
        let term = libm::pow(lambda, exponent);
        sum += term;
        if term < 1e-17 * sum {
            return sum;
        }
        exponent += power;
        power *= d;
    }
}

/// Blocking with the least loaded of `choices` sampled nodes, refusing when all are full, n → ∞.
///
/// `slots` per node, `load` offered as a share of all slots. With `s(k)` the fraction of nodes with
/// at least k busy slots, the fixed point of the mean field (Turner 1998; Mukhopadhyay, Karthik,
/// Mazumdar, Guillemin 2015) is `λ·(s(k−1)^d − s(k)^d) = k·(s(k) − s(k+1))`, and blocking is
/// `s(slots)^d`. Given `s(slots)` the other fractions follow downwards, and `s(0)` rises with
/// it, so bisection on `s(0) = 1` finds it.
pub fn loss_least_loaded(choices: u32, slots: u32, load: f64) -> f64 {
    let full = loss_fractions(choices, slots, load).last().copied().unwrap_or(1.0);
    libm::pow(full, f64::from(choices))
}

/// Fractions of nodes with at least 0, 1, … `slots` busy slots at the fixed point of
/// [`loss_least_loaded`].
pub fn loss_fractions(choices: u32, slots: u32, load: f64) -> Vec<f64> {
    let (d, lambda) = (f64::from(choices.max(1)), load * f64::from(slots));
    if slots == 0 || lambda <= 0.0 {
        let mut idle = vec![0.0; slots as usize + 1];
        idle[0] = 1.0;
        return idle;
    }
    let downwards = |full: f64| {
        let mut s = vec![0.0; slots as usize + 2];
        s[slots as usize] = full;
        for k in (1..=slots as usize).rev() {
            let power = libm::pow(s[k], d) + k as f64 * (s[k] - s[k + 1]) / lambda;
            s[k - 1] = libm::pow(power, 1.0 / d);
        }
        s
    };
    let full = bisect(|full| downwards(full)[0] - 1.0);
    let mut fractions = downwards(full);
    fractions.pop();
    fractions
}

/// Blocking with first fit over `choices` sampled nodes in random order, n → ∞.
///
/// A node then is an M/M/C/C offered `λ·(1 − f^d)/(1 − f)`, where f is the share of full nodes; f
/// is the fixed point of Erlang B and blocking is `f^d`.
pub fn loss_first_fit(choices: u32, slots: u32, load: f64) -> f64 {
    let lambda = load * f64::from(slots);
    if lambda <= 0.0 {
        return 0.0;
    }
    let full = bisect(|full| {
        // 1 + f + f² + … without dividing by 1 − f, which is zero at one end.
        let tries = (1..choices).fold(1.0, |sum, _| 1.0 + full * sum);
        full - erlang_b(u64::from(slots), lambda * tries)
    });
    libm::pow(full, f64::from(choices))
}

/// Root in 0..=1 of a function that rises from below zero.
fn bisect(rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if rising(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        let off = (found - expected).abs() / expected;
        assert!(off < 1e-9, "found {found}, expected {expected}");
    }

    #[test]
    fn erlang_b_matches_the_table() {
        close(erlang_b(1, 1.0), 0.5);
        close(erlang_b(2, 1.6), 0.3298969072);
        close(erlang_b(8, 4.0), 0.03042005823);
        close(erlang_b(100, 100.0), 0.07570045271);
        close(erlang_b(250, 225.0), 0.006925385906);
        close(erlang_b(1000, 900.0), 5.92986267e-05);
        assert_eq!(erlang_b(0, 3.0), 1.0);
        assert_eq!(erlang_b(4, 0.0), 0.0);
    }

    #[test]
    fn erlang_c_and_the_mean_wait_match_the_table() {
        close(erlang_c(4, 3.2), 0.5964324718);
        close(erlang_c(10, 9.0), 0.6687315241);
        close(erlang_c(500, 480.0), 0.26651252);
        close(mmc_mean_wait(2, 1.6, 1.0), 1.777777778);
        close(mmc_mean_wait(100, 90.0, 1.0), 0.02169404809);
        close(mmc_mean_wait(500, 480.0, 1.0), 0.013325626);
        assert_eq!(mmc_mean_wait(2, 2.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn many_nodes_come_near_the_limits() {
        // Rows of 1,000 nodes with their estimated values; the limit differs by O(1/n).
        for (found, expected) in [
            (supermarket(1, 0.9), 10.0),
            (supermarket(2, 0.8), 1.948351974),
            (supermarket(2, 0.95), 3.387507057),
            (supermarket(3, 0.7), 1.357470212),
        ] {
            assert!((found - expected).abs() / expected < 0.01, "{found} {expected}");
        }
        for (found, expected) in [
            (loss_least_loaded(1, 1, 0.8), 0.4443563),
            (loss_least_loaded(2, 1, 0.5), 0.1717281),
            (loss_least_loaded(2, 1, 1.0), 0.3819769),
            (loss_first_fit(2, 1, 1.0), 0.3819769),
        ] {
            assert!((found - expected).abs() < 0.002, "{found} {expected}");
        }
    }

    #[test]
    fn odd_loads_come_to_an_end() {
        assert_eq!(supermarket(2, 0.0), 1.0);
        assert!(supermarket(2, f64::NAN).is_nan());
        assert_eq!(supermarket(1, 1.0), f64::INFINITY);
    }

    #[test]
    fn one_choice_is_erlang_b_of_one_node() {
        close(loss_least_loaded(1, 4, 0.9), erlang_b(4, 3.6));
        close(loss_first_fit(1, 4, 0.9), erlang_b(4, 3.6));
    }

    #[test]
    fn more_choices_lose_less_and_choosing_well_beats_first_fit() {
        assert!(loss_least_loaded(3, 4, 0.9) < loss_first_fit(3, 4, 0.9));
        assert!(loss_least_loaded(5, 4, 0.9) < loss_least_loaded(3, 4, 0.9));
        let s = loss_fractions(3, 4, 0.9);
        assert!(s.windows(2).all(|w| w[0] >= w[1]) && (s[0] - 1.0).abs() < 1e-9);
    }
}
