//! Whether the store takes this instance for present.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lingua_core::Micros;

/// Until when this instance is present, by its own clock. While it is not it asks the store for
/// nothing: others may have cleared up after it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing(Arc<AtomicU64>);

impl Standing {
    /// Present until then, counted from when the store was asked: it ends here first.
    pub(crate) fn lasts(&self, until: Micros) {
        self.0.store(until.0, Ordering::Release);
    }

    pub(crate) fn holds(&self, now: Micros) -> bool {
        now.0 < self.0.load(Ordering::Acquire)
    }
}
