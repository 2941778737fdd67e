//! A rolling hash over everything that happens: two runs are the same run when it is equal.

use lingua_core::Micros;

/// The hash so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Mixes in one number.
    pub(crate) fn add(&mut self, x: u64) {
        self.0 = (self.0 ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// Mixes in an event: when, of which kind, about what.
    pub(crate) fn event(&mut self, at: Micros, kind: u8, subject: u64) {
        self.add(at.0 ^ u64::from(kind) << 56);
        self.add(subject);
    }

    /// Sixteen hexadecimal digits.
    pub(crate) fn hex(self) -> String {
        format!("{:016x}", crate::streams::mix(self.0))
    }
}
