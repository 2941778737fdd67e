//! The JSON Schema of scenario files.

use crate::Scenario;

/// The schema, for editors and other tools.
pub fn schema() -> serde_json::Value {
    let schema = schemars::schema_for!(Scenario);
    schema.to_value()
}
