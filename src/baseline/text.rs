//! From the bytes of a file to a JSON document: what git, an editor or a full disk leave behind is named as such.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::parse::Fault;

/// Stands before the text of a token that is no JSON number, so that it can be refused with the key it stands at.
const NOT_A_NUMBER: char = '\u{1}';

/// What is wrong with a text that is no document: the kind, what was found, what was expected.
pub(super) type Trouble = (Fault, String, String);

/// The document, numbers that JSON has not (NaN, infinities, 1e999) marked for [`bare_token`].
pub(super) fn document(text: &str) -> Result<Value, Trouble> {
    let syntax = |found: String| (Fault::Syntax, found, "a whole JSON document".to_owned());
    if text.trim().is_empty() {
        return Err(syntax("an empty file".into()));
    }
    if let Some(line) = conflict_marker(text) {
        let found = format!("merge-conflict markers at line {line}");
        return Err((
            Fault::Conflict,
            found,
            "one whole version of the file".into(),
        ));
    }
    let Strict(value) = serde_json::from_str(&mark_odd_tokens(text)).map_err(|e| {
        let cut = if e.is_eof() {
            "a file that ends early: "
        } else {
            ""
        };
        syntax(format!("{cut}{e}"))
    })?;
    Ok(value)
}

/// The token as it was written, when a string is one that [`document`] marked.
pub(super) fn bare_token(text: &str) -> Option<&str> {
    text.strip_prefix(NOT_A_NUMBER)
}

fn conflict_marker(text: &str) -> Option<usize> {
    let is_marker = |line: &str| {
        ["<<<<<<<", ">>>>>>>", "|||||||"]
            .iter()
            .any(|m| line.starts_with(m))
            || line.trim_end() == "======="
    };
    text.lines().position(is_marker).map(|at| at + 1)
}

fn mark_odd_tokens(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '"' => string_length(rest),
            c if is_token(c) => rest.find(|c| !is_token(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if is_token(next) && token.parse::<f64>().is_ok_and(|n| !n.is_finite()) {
            marked.push_str(&Value::from(format!("{NOT_A_NUMBER}{token}")).to_string());
        } else {
            marked.push_str(token);
        }
        rest = after;
    }
    marked
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
}

/// Bytes up to and with the closing quote; all of them when there is none.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    text.len()
}

/// A JSON value in which no object names a key twice: the second would silently win.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(value)) = seq.next_element()? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let Strict(value) = access.next_value()?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!(
                    "the key `{key}` stands twice"
                )));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
