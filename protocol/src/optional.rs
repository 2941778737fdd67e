//! Optional fields that are not [`Option`]s.

use serde::de::{Deserialize, Deserializer};

/// Null is as good as absent.
pub(crate) fn null_is_default<'de, T, D>(json: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::deserialize(json).map(Option::unwrap_or_default)
}

/// A flag that is sent only when it is set.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
