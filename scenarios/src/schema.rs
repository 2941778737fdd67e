//! The JSON Schema of scenario files.

use serde_json::Value;

use crate::Scenario;

/// The schema, for editors and other tools.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    without_null(&mut schema);
    schema
}

/// TOML has no null: an optional key is one that may be left out, and that is said already.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|key, value| !(key == "default" && value.is_null()));
            if let Some(Value::Object(default)) = map.get_mut("default") {
                default.retain(|_, value| !value.is_null());
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(any)) = map.get_mut("anyOf") {
                any.retain(|one| one.get("type").is_none_or(|name| name != "null"));
                if let [Value::Object(only)] = any.as_slice() {
                    let only = only.clone();
                    map.shift_remove("anyOf");
                    map.extend(only);
                }
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}
