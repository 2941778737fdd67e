//! Models by number: the core knows no names.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lingua_core::ModelId;

/// Most models that are told apart. All others count as one.
const MODELS_MAX: usize = 4_096;

/// Numbers of the models that nodes have named.
#[derive(Debug, Default)]
pub(crate) struct Models(Mutex<HashMap<Box<str>, u32>>);

impl Models {
    /// The number of `model@version`.
    pub(crate) fn id(&self, name: &str) -> ModelId {
        let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = ids.len() as u32 + 1;
        match ids.get(name) {
            Some(&id) => ModelId(id),
            None if ids.len() >= MODELS_MAX => ModelId(0),
            None => {
                ids.insert(name.into(), next);
                ModelId(next)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_keeps_its_number_and_there_are_only_so_many() {
        let models = Models::default();
        let first = models.id("a@1");
        assert_ne!(first, models.id("a@2"));
        for n in 0..2 * MODELS_MAX {
            models.id(&format!("m@{n}"));
        }
        assert_eq!(models.id("a@1"), first);
        assert_eq!(models.id("one"), models.id("another"));
    }
}
