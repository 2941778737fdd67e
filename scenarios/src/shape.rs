//! Whether a file has the shape of a scenario: keys, types and names, all faults at once.
//!
//! The shape is read from the JSON Schema, so that there is one description of the format: what
//! editors check and what is checked here cannot drift apart.

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use toml::Value;

use crate::error::nearest;
use crate::fault::{Faults, Part, joined};
use crate::{Dist, Dur, Pair, Rate};

/// Most names that are listed where none is near.
const NAMES_LISTED_MAX: usize = 20;

/// The schema, made once.
fn root() -> &'static Json {
    static ROOT: OnceLock<Json> = OnceLock::new();
    ROOT.get_or_init(crate::schema)
}

/// Notes every place where `table` does not have the shape of a scenario.
pub(crate) fn check(table: &toml::Table, faults: &mut Faults) {
    let mut walk = Walk { path: Vec::new(), faults };
    walk.table(root(), table);
}

/// Whether the value at `path` is a section, whose keys are set one by one.
pub(crate) fn is_section(path: &[String]) -> bool {
    at(path).is_some_and(|(name, schema)| !is_leaf(name) && schema.contains_key("properties"))
}

/// Whether there can be a value at `path`.
pub(crate) fn is_known(path: &[String]) -> bool {
    at(path).is_some()
}

/// Whether the value at `path` is plain text.
pub(crate) fn is_text(path: &[String]) -> bool {
    at(path).is_some_and(|(name, schema)| {
        !is_leaf(name) && schema.get("type").and_then(Json::as_str) == Some("string")
    })
}

/// The path without what lies inside a value that is read as a whole, such as a rate.
pub(crate) fn whole(path: &[String]) -> &[String] {
    let leaf = |end: &usize| at(&path[..*end]).is_some_and(|(name, _)| is_leaf(name));
    &path[..(1..path.len()).find(leaf).unwrap_or(path.len())]
}

/// The schema that stands for a path, with its name where it has one.
fn at(path: &[String]) -> Option<(&'static str, &'static Map<String, Json>)> {
    let mut found = resolve(root())?;
    for key in path {
        let (_, schema) = found;
        let next = match schema.get("properties").and_then(|all| all.get(key)) {
            Some(next) => next,
            None => schema.get("items").or_else(|| schema.get("additionalProperties"))?,
        };
        found = resolve(next)?;
    }
    Some(found)
}

/// Follows a reference.
fn resolve(schema: &'static Json) -> Option<(&'static str, &'static Map<String, Json>)> {
    let plain = schema.as_object()?;
    let Some(target) = plain.get("$ref").and_then(Json::as_str) else { return Some(("", plain)) };
    let name = target.rsplit('/').next()?;
    Some((name, root().get("$defs")?.get(name)?.as_object()?))
}

/// Types that are read from one value and judge it themselves.
fn is_leaf(name: &str) -> bool {
    matches!(name, "Dur" | "Rate" | "Dist" | "Pair")
}

struct Walk<'a> {
    path: Vec<String>,
    faults: &'a mut Faults,
}

impl Walk<'_> {
    fn wrong(&mut self, part: Part, what: String) {
        self.faults.add(self.path.clone(), part, what);
    }

    fn within(&mut self, key: &str, then: impl FnOnce(&mut Self)) {
        self.path.push(key.to_owned());
        then(self);
        self.path.pop();
    }

    fn value(&mut self, schema: &'static Json, value: &Value) {
        let Some((name, shape)) = resolve(schema) else { return };
        match name {
            "Dur" => return self.leaf::<Dur>(value),
            "Pair" => return self.leaf::<Pair>(value),
            "Rate" => return self.rate(value),
            "Dist" => return self.dist(value),
            _ => {}
        }
        let names = names_of(shape);
        if !names.is_empty() {
            return self.name(&names, value);
        }
        match (shape.get("type").and_then(Json::as_str), value) {
            (Some("object"), Value::Table(table)) => self.table(schema, table),
            (Some("array"), Value::Array(items)) => {
                let Some(schema) = shape.get("items") else { return };
                for (at, item) in items.iter().enumerate() {
                    self.within(&at.to_string(), |walk| walk.value(schema, item));
                }
            }
            (Some("integer"), Value::Integer(number)) => self.integer(shape, *number),
            (Some("number"), Value::Integer(number)) => self.number(shape, *number as f64),
            (Some("number"), Value::Float(number)) => self.number(shape, *number),
            (Some("string"), Value::String(_))
            | (Some("boolean"), Value::Boolean(_))
            | (None, _) => {}
            (Some("array"), Value::Table(_)) if self.path.len() == 1 => {
                let name = &self.path[0];
                let what = format!("there can be several: write [[{name}]], with two brackets");
                self.wrong(Part::Value, what);
            }
            (Some(wanted), other) => {
                let (is, wanted) = (kind(other), wanted_words(wanted));
                self.wrong(Part::Value, format!("this is {is}; write {wanted}"));
            }
        }
    }

    fn table(&mut self, schema: &'static Json, table: &toml::Table) {
        let Some((_, shape)) = resolve(schema) else { return };
        let Some(known) = shape.get("properties").and_then(Json::as_object) else {
            let Some(any) = shape.get("additionalProperties") else { return };
            for (key, value) in table {
                self.within(key, |walk| walk.value(any, value));
            }
            return;
        };
        for (key, value) in table {
            match known.get(key) {
                Some(schema) => self.within(key, |walk| walk.value(schema, value)),
                None => self.unknown_key(key, known),
            }
        }
        let required = shape.get("required").and_then(Json::as_array).into_iter().flatten();
        for key in required.filter_map(Json::as_str).filter(|key| !table.contains_key(*key)) {
            let section = section(&self.path);
            self.wrong(Part::Key, format!("`{key}` is missing {section}"));
        }
    }

    fn unknown_key(&mut self, key: &str, known: &'static Map<String, Json>) {
        let section = section(&self.path);
        let known = known.keys().map(String::as_str);
        let mend = mend(key, known);
        let what = format!("unknown key `{}` {section}; {mend}", short(key));
        self.within(key, |walk| walk.wrong(Part::Key, what));
    }

    fn name(&mut self, names: &[&str], value: &Value) {
        let mend = |text: &str| mend(text, names.iter().copied());
        match value {
            Value::String(text) if names.contains(&text.as_str()) => {}
            Value::String(text) => {
                let what = format!("unknown value `{}`; {}", short(text), mend(text));
                self.wrong(Part::Value, what);
            }
            other => {
                let what = format!("this is {}; {}", kind(other), mend(""));
                self.wrong(Part::Value, what);
            }
        }
    }

    fn integer(&mut self, shape: &Map<String, Json>, number: i64) {
        let min = shape.get("minimum").and_then(Json::as_i64).unwrap_or(i64::MIN);
        let max = match shape.get("format").and_then(Json::as_str) {
            Some("uint32") => i64::from(u32::MAX),
            _ => i64::MAX,
        };
        let max = shape.get("maximum").and_then(Json::as_i64).unwrap_or(max);
        if !(min..=max).contains(&number) {
            let what = format!("{number} is out of range: {min} to {max} are allowed");
            self.wrong(Part::Value, what);
        }
    }

    fn number(&mut self, shape: &Map<String, Json>, number: f64) {
        let bound = |key: &str| shape.get(key).and_then(Json::as_f64);
        let (min, max) = (bound("minimum"), bound("maximum"));
        if let (Some(min), Some(max)) = (min, max) {
            if !(min..=max).contains(&number) {
                let what = format!("{number} is out of range: {min} to {max} are allowed");
                self.wrong(Part::Value, what);
            }
        } else if !number.is_finite() {
            self.wrong(Part::Value, format!("{number} is no number that can be reckoned with"));
        }
    }

    fn leaf<T: for<'de> Deserialize<'de>>(&mut self, value: &Value) {
        if let Err(error) = T::deserialize(value.clone()) {
            self.wrong(Part::Value, error.message().to_owned());
        }
    }

    /// A rate, down to the point that is wrong.
    fn rate(&mut self, value: &Value) {
        let Err(error) = Rate::deserialize(value.clone()) else { return };
        let points = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let alone = |point: &Value| Rate::deserialize(Value::Array(vec![point.clone()]));
        let wrong =
            points.iter().enumerate().find_map(|(at, point)| Some((at, alone(point).err()?)));
        match wrong {
            Some((at, error)) => self.within(&at.to_string(), |walk| {
                walk.wrong(Part::Value, error.message().to_owned());
            }),
            None => self.wrong(Part::Value, error.message().to_owned()),
        }
    }

    /// A distribution, down to the figure that is wrong.
    fn dist(&mut self, value: &Value) {
        const KINDS: [&str; 5] = ["constant", "exponential", "lognormal", "uniform", "empirical"];
        let Err(error) = Dist::deserialize(value.clone()) else { return };
        let before = self.faults.count();
        let keys: &[&str] = match value.as_table().and_then(|table| table.keys().next()) {
            Some(key) if key == "lognormal" => &["median", "p99"],
            Some(key) if key == "uniform" => &["min", "max"],
            _ => &[],
        };
        for (key, inner) in value.as_table().into_iter().flatten() {
            if !KINDS.contains(&key.as_str()) {
                let mend = mend(key, KINDS.into_iter());
                let what = format!("unknown distribution `{}`; {mend}", short(key));
                self.within(key, |walk| walk.wrong(Part::Key, what));
            } else if key == "constant" || key == "exponential" {
                self.within(key, |walk| walk.leaf::<Dur>(inner));
            } else if let Some(figures) = inner.as_table() {
                self.within(key, |walk| walk.figures(keys, figures));
            }
        }
        if self.faults.count() == before {
            self.wrong(Part::Value, error.message().to_owned());
        }
    }

    fn figures(&mut self, keys: &[&str], figures: &toml::Table) {
        for (key, value) in figures {
            if keys.contains(&key.as_str()) {
                self.within(key, |walk| walk.leaf::<Dur>(value));
            } else {
                let mend = mend(key, keys.iter().copied());
                let what = format!("unknown key `{}`; {mend}", short(key));
                self.within(key, |walk| walk.wrong(Part::Key, what));
            }
        }
    }
}

/// The names of a closed list.
fn names_of(shape: &'static Map<String, Json>) -> Vec<&'static str> {
    if let Some(names) = shape.get("enum").and_then(Json::as_array) {
        return names.iter().filter_map(Json::as_str).collect();
    }
    let one_of = shape.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    one_of.filter_map(|one| one.get("const")?.as_str()).collect()
}

/// The nearest valid name, or all of them.
fn mend<'a>(wrong: &str, valid: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(wrong, valid.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut names: Vec<&str> = valid.take(NAMES_LISTED_MAX + 1).collect();
    let more = if names.len() > NAMES_LISTED_MAX { ", ..." } else { "" };
    names.truncate(NAMES_LISTED_MAX);
    format!("valid are {}{more}", names.join(", "))
}

/// Where a key stands, in the words of the file.
fn section(path: &[String]) -> String {
    match path {
        [] => "at the top level".to_owned(),
        [list, at] if at.bytes().all(|b| b.is_ascii_digit()) => format!("in [[{list}]]"),
        path => format!("in [{}]", joined(path)),
    }
}

/// The beginning of a text from outside, fit for one line.
fn short(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

fn wanted_words(kind: &str) -> &'static str {
    match kind {
        "object" => "a table",
        "array" => "a list, such as [\"zh\", \"en\"]",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        _ => "a text in quotes",
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
