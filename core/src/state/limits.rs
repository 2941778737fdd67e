//! Guards against storms of MODEL_NOT_AVAILABLE.

use crate::state::State;
use crate::{Micros, ModelId};

/// Losses of one model within [`WINDOW`] that bar a node from it.
const LOSSES_MAX: u32 = 10;
/// Fixed window of the count, and how long the node is barred.
const WINDOW: Micros = Micros::secs(10);

/// A node's recent losses of one model: the latest one counts, an older one has been forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ModelLosses {
    model: Option<ModelId>,
    window_ends: Micros,
    count: u32,
    barred_until: Micros,
}

impl ModelLosses {
    pub(super) fn count(&mut self, now: Micros, model: ModelId) {
        if self.model != Some(model) || self.window_ends <= now {
            *self = Self { model: Some(model), window_ends: now + WINDOW, ..Self::default() };
        }
        self.count += 1;
        if self.count >= LOSSES_MAX {
            self.barred_until = now + WINDOW;
        }
    }

    /// All of it: the model, the window's end, the count, until when it is barred.
    pub(super) fn describe(&self) -> String {
        let Self { model, window_ends, count, barred_until } = self;
        let model = model.map(|model| model.0);
        format!("{model:?} {} {count} {}", window_ends.0, barred_until.0)
    }

    pub(super) fn bars(&self, now: Micros, model: ModelId) -> bool {
        self.model == Some(model) && self.barred_until > now
    }
}

impl State {
    /// Whether the caller is the first within the window to ask for a model's expensive work.
    pub(super) fn debounce(&mut self, now: Micros, model: ModelId, window: Micros) -> bool {
        if self.debounces.get(&model).is_some_and(|&until| until > now) {
            return false;
        }
        self.debounces.insert(model, now + window);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_losses_in_ten_seconds_bar_the_node_for_ten() {
        let model = ModelId(7);
        let mut losses = ModelLosses::default();
        for second in 0..9 {
            losses.count(Micros::secs(second), model);
        }
        assert!(!losses.bars(Micros::secs(9), model));
        losses.count(Micros::secs(9), model);
        assert!(losses.bars(Micros::secs(18), model));
        assert!(!losses.bars(Micros::secs(18), ModelId(8)));
        assert!(!losses.bars(Micros::secs(19), model));
    }
}
