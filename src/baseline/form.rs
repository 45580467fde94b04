//! The stable form of the files: what a reviewer reads first comes first, what changes together stands on one line,
//! and an unchanged value always gives the same bytes.
//!
//! Objects are spread over lines with their keys sorted, `schema` and `summary` before all others; whatever stands in
//! a list of objects takes one line each, so that a diff shows whole sessions.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{Baseline, Candidate};
use crate::suite::Metric;

/// Keys that come before the sorted ones.
const FIRST: [&str; 2] = ["schema", "summary"];

impl Baseline {
    /// The file's text: the same value gives the same bytes, and [`Baseline::parse`] gives the value back.
    #[must_use]
    pub fn render(&self) -> String {
        render(&with_units(value_of(self)))
    }
}

impl Candidate {
    /// The file's text, as [`Baseline::render`].
    #[must_use]
    pub fn render(&self) -> String {
        render(&value_of(self))
    }
}

fn value_of(data: &impl serde::Serialize) -> Value {
    // Maps have string keys and every type is plain data, so this cannot fail; were it to, `null` is refused on reading.
    serde_json::to_value(data).unwrap_or(Value::Null)
}

/// Each summary names the unit of its figures, so that a reader need not know it and a wrong one is noticed.
fn with_units(mut document: Value) -> Value {
    let tests = document.get_mut("tests").and_then(Value::as_object_mut);
    for test in tests.into_iter().flat_map(Map::values_mut) {
        let summary = test.get_mut("summary").and_then(Value::as_object_mut);
        for (name, figures) in summary.into_iter().flatten() {
            if let (Ok(metric), Some(figures)) = (name.parse::<Metric>(), figures.as_object_mut()) {
                figures.insert("unit".into(), metric.kind.unit().into());
            }
        }
    }
    document
}

fn render(document: &Value) -> String {
    let mut text = String::new();
    spread(&mut text, document, 0);
    text.push('\n');
    text
}

/// A value over as many lines as its objects ask for.
fn spread(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            block(
                text,
                depth,
                ('{', '}'),
                sorted(map),
                |text, (key, value)| {
                    let _ = write!(text, "{}: ", Value::from(key));
                    spread(text, value, depth + 1);
                },
            );
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            block(text, depth, ('[', ']'), list.iter().collect(), inline);
        }
        other => inline(text, other),
    }
}

fn block<T>(
    text: &mut String,
    depth: usize,
    around: (char, char),
    items: Vec<T>,
    write: impl Fn(&mut String, T),
) {
    text.push(around.0);
    let count = items.len();
    for (i, item) in items.into_iter().enumerate() {
        text.push('\n');
        text.push_str(&"  ".repeat(depth + 1));
        write(text, item);
        if i + 1 < count {
            text.push(',');
        }
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(around.1);
}

/// A value on one line.
fn inline(text: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            text.push('{');
            for (i, (key, value)) in sorted(map).into_iter().enumerate() {
                let _ = write!(
                    text,
                    "{}{}: ",
                    if i > 0 { ", " } else { "" },
                    Value::from(key)
                );
                inline(text, value);
            }
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for (i, value) in list.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                inline(text, value);
            }
            text.push(']');
        }
        scalar => {
            let _ = write!(text, "{scalar}");
        }
    }
}

/// Sorted here rather than by the map: another crate may switch serde_json to insertion order.
fn sorted(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> = map.iter().map(|(k, v)| (k.as_str(), v)).collect();
    let rank = |key: &str| FIRST.iter().position(|f| *f == key).unwrap_or(FIRST.len());
    entries.sort_by_key(|(key, _)| (rank(key), *key));
    entries
}
