//! Switches that a peer sets.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::ShortText;
use crate::list::Map;

/// Switches by name. A value that is neither true nor false belongs to a field that is not known
/// here, and is ignored as every unknown field is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Features(pub Map<ShortText, bool>);

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(Switches)
    }
}

struct Switches;

impl<'de> Visitor<'de> for Switches {
    type Value = Features;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of switches")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut json: A) -> Result<Features, A::Error> {
        let mut switches = std::collections::BTreeMap::new();
        while let Some((name, value)) = json.next_entry::<ShortText, &RawValue>()? {
            if let "true" | "false" = value.get() {
                switches.insert(name, value.get() == "true");
            }
        }
        let refused = |_| A::Error::custom("expected an object of at most 1024 switches");
        Map::new(switches).map(Features).map_err(refused)
    }
}
