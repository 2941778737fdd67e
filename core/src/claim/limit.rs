//! How many duties one instance may hold.

use std::num::NonZeroU32;

/// How many instances may die at once while the others can still hold every duty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tolerance(NonZeroU32);

/// A tolerance of zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tolerance of 0 loses duties at the first death: give 1 or more")]
pub struct ToleranceError;

impl Tolerance {
    /// One instance.
    pub const ONE: Self = Self(NonZeroU32::MIN);

    /// `n` instances.
    ///
    /// # Errors
    /// When `n` is zero.
    pub fn new(n: u32) -> Result<Self, ToleranceError> {
        NonZeroU32::new(n).map(Self).ok_or(ToleranceError)
    }

    /// How many instances.
    pub fn get(self) -> u32 {
        self.0.get()
    }
}

/// The most duties that one of `instances` acquires of `duties`: `1 + K / max(S - n, 1)`.
///
/// Any `max(S - n, 1)` instances that follow it have room for more than `K` duties together. A
/// tolerance of `S` or more is legal; then one instance alone has room for all.
pub fn limit(duties: usize, instances: usize, tolerance: Tolerance) -> usize {
    let needed = instances.saturating_sub(tolerance.get() as usize).max(1);
    1 + duties / needed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The proof of coverage, in numbers.
        #[test]
        fn those_that_are_left_have_room_for_all(
            duties in 0usize..10_000, instances in 1usize..200, n in 1u32..250,
        ) {
            let limit = limit(duties, instances, Tolerance::new(n).unwrap());
            let left = instances.saturating_sub(n as usize).max(1);
            prop_assert!(left * limit > duties);
            prop_assert!(left * (limit - 1) <= duties, "and not one more than needed");
        }
    }

    #[test]
    fn zero_is_no_tolerance() {
        assert_eq!(Tolerance::new(0), Err(ToleranceError));
        assert_eq!(Tolerance::new(1), Ok(Tolerance::ONE));
    }
}
