//! Models by number: the core knows no names.

use lingua_core::ModelId;
use sha2::{Digest, Sha256};

/// The number of `model@version`, the same at every instance. There are only so many: models that
/// share one count as one where nodes lack them.
pub(crate) fn model_id(name: &str) -> ModelId {
    let digest = Sha256::digest(name.as_bytes());
    ModelId(u16::from_le_bytes([digest[0], digest[1]]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_one_number() {
        assert_eq!(model_id("a@1"), model_id("a@1"));
        assert_ne!(model_id("a@1"), model_id("a@2"));
    }
}
