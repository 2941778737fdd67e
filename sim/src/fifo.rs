//! Queues that are mostly short.

use std::collections::VecDeque;

/// Takes the first. A queue that is empty then begins at its first place again, so that the same lines
/// of the cache serve it for good. (`VecDeque::clear` does so today; on its doing so hangs speed alone.)
pub(crate) fn take_first<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        queue.clear();
    }
    first
}
