//! A scenario file as text and as a table, with the changes made to it: which value stands where.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use crate::error::{Error, Place};
use crate::fault::{Fault, Faults, Part, joined, split};
use crate::shape;

/// Where a change was asked for.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// On the command line, as given.
    Set(String),
    /// In the file, at this path.
    File(Vec<String>),
}

/// One value put in place of what the file says.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) keys: Vec<String>,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

impl Change {
    /// Reads `path=value`. Text needs no quotes: `--set scheduler.policy=sample-scan`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let Some((path, value)) = text.split_once('=') else {
            let what = "write path=value, such as scheduler.sample=3".to_owned();
            return Err(Error::Override { text: text.to_owned(), what });
        };
        let (keys, value) = (split(path.trim()), value.trim());
        let parsed = format!("value = {value}").parse::<Table>();
        let parsed = parsed.ok().and_then(|mut table| table.remove("value"));
        let value = match parsed {
            Some(parsed) if parsed.is_str() || !shape::is_text(&keys) => parsed,
            _ => Value::String(value.to_owned()),
        };
        Ok(Self { keys, value, origin: Origin::Set(text.to_owned()) })
    }

    /// The changes of a variant. Sections may be written as tables; each key is a change alone.
    pub(crate) fn of_variant(name: &str, key: &str, value: &Value, all: &mut Vec<Self>) {
        let origin = vec!["variants".to_owned(), name.to_owned(), key.to_owned()];
        flatten(split(key), value, &Origin::File(origin), all);
    }
}

fn flatten(keys: Vec<String>, value: &Value, origin: &Origin, all: &mut Vec<Change>) {
    match value {
        Value::Table(table) if shape::is_section(&keys) => {
            for (key, value) in table {
                let keys = keys.iter().cloned().chain([key.clone()]).collect();
                flatten(keys, value, origin, all);
            }
        }
        _ => all.push(Change { keys, value: value.clone(), origin: origin.clone() }),
    }
}

/// A file with its changes applied.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) table: Table,
    changes: Vec<(Vec<String>, Origin)>,
}

impl Document {
    /// Reads a text.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let table = text.parse().map_err(|error: toml::de::Error| {
            let span = error.span().unwrap_or(0..0);
            Error::Place(Box::new(Place::new(path, text, span, error.message())))
        })?;
        Ok(Self { path: path.to_owned(), text: text.to_owned(), table, changes: Vec::new() })
    }

    /// Puts one value in place of another.
    pub(crate) fn change(&mut self, change: Change) -> Result<(), Error> {
        let Change { keys, value, origin } = change;
        if let Err(what) = put(&mut self.table, &keys, value) {
            return Err(match &origin {
                Origin::Set(text) => Error::Override { text: text.clone(), what },
                Origin::File(at) => {
                    let fault = Fault { path: at.clone(), part: Part::Key, what };
                    Error::Place(Box::new(self.place(&fault)))
                }
            });
        }
        self.changes.push((keys, origin));
        Ok(())
    }

    /// The faults with the places that they are at.
    pub(crate) fn error(&self, faults: &Faults) -> Error {
        let mut places: Vec<Place> = faults.told().iter().map(|fault| self.place(fault)).collect();
        places.sort_by_key(Place::order);
        if faults.left_out() > 0 {
            let what = format!("{} further faults are not shown", faults.left_out());
            places.push(Place::nowhere(&self.path, what));
        }
        Error::Many(places)
    }

    fn place(&self, fault: &Fault) -> Place {
        let what = match fault.part {
            Part::Key => fault.what.clone(),
            Part::Value => format!("{}: {}", joined(&fault.path), fault.what),
        };
        // What only a change has brought in is told of the change, whole sections included.
        let new = fault.path.first().is_some_and(|key| !self.is_written(key));
        let by =
            self.changes.iter().rev().find(|(keys, _)| {
                fault.path.starts_with(keys) || new && keys.starts_with(&fault.path)
            });
        let span = match by {
            Some((_, Origin::Set(text))) => return Place::set(text, what),
            Some((_, Origin::File(at))) => self.span(at, Part::Value),
            None => self.span(&fault.path, fault.part),
        };
        match span {
            Some(span) => Place::new(&self.path, &self.text, span, what),
            None => Place::nowhere(&self.path, what),
        }
    }

    fn is_written(&self, key: &str) -> bool {
        DeTable::parse(&self.text).is_ok_and(|table| table.get_ref().contains_key(key))
    }

    /// The span of an entry, or of the longest part of its path that is written out.
    fn span(&self, path: &[String], part: Part) -> Option<Range<usize>> {
        let table = DeTable::parse(&self.text).ok()?;
        let (first, rest) = path.split_first()?;
        let (key, mut at) = table.get_ref().get_key_value(first.as_str())?;
        let mut span = if part == Part::Key { key.span() } else { at.span() };
        for key in rest {
            let next = match at.get_ref() {
                DeValue::Table(table) => table.get_key_value(key.as_str()).map(|(key, value)| {
                    (if part == Part::Key { key.span() } else { value.span() }, value)
                }),
                DeValue::Array(items) => {
                    let item = key.parse::<usize>().ok().and_then(|at| items.get(at));
                    item.map(|value| (value.span(), value))
                }
                _ => None,
            };
            let Some((found, value)) = next else { break };
            (span, at) = (found, value);
        }
        Some(span)
    }
}

/// Takes out what is at fault, so that the rest can be read and judged.
pub(crate) fn prune(table: &mut Table, path: &[String]) {
    let [key, rest @ ..] = path else { return };
    match table.get_mut(key) {
        Some(Value::Table(inner)) if !rest.is_empty() => return prune(inner, rest),
        Some(Value::Array(items)) if rest.len() > 1 => {
            let at = rest[0].parse::<usize>().ok();
            if let Some(Value::Table(item)) = at.and_then(|at| items.get_mut(at)) {
                return prune(item, &rest[1..]);
            }
        }
        _ => {}
    }
    table.remove(key);
}

/// Sets one value, making the sections on the way to it.
fn put(table: &mut Table, keys: &[String], value: Value) -> Result<(), String> {
    let Some((first, rest)) = keys.split_first().filter(|_| keys.iter().all(|k| !k.is_empty()))
    else {
        return Err("a key is empty: write path=value, such as scheduler.sample=3".to_owned());
    };
    let mut at = match table.get_mut(first) {
        _ if rest.is_empty() => {
            table.insert(first.clone(), value);
            return Ok(());
        }
        Some(at) => at,
        None => table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new())),
    };
    for key in &rest[..rest.len() - 1] {
        at = match at {
            Value::Table(table) => {
                table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()))
            }
            Value::Array(items) => item(items, key)?,
            _ => return Err(format!("`{key}` lies inside a plain value")),
        };
    }
    let last = &rest[rest.len() - 1];
    match at {
        Value::Table(table) => drop(table.insert(last.clone(), value)),
        Value::Array(items) => *item(items, last)? = value,
        _ => return Err(format!("`{last}` lies inside a plain value")),
    }
    Ok(())
}

fn item<'a>(items: &'a mut [Value], key: &str) -> Result<&'a mut Value, String> {
    let count = items.len();
    let index: usize = key.parse().map_err(|_| format!("`{key}` is no index from 0"))?;
    items.get_mut(index).ok_or_else(|| format!("index {index} is too large: there are {count}"))
}
