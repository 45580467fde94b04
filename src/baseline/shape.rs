//! What the files look like, as one table, and the walk that finds the first place where a file does not.
//!
//! Serde would stop at the same places, but without saying where; a number of two hundred in one file needs its path.

use serde_json::{Map, Value};

use super::text::bare_token;

/// What may stand at one place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Any text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number that leaves room for sums.
    Count,
    /// The same above zero.
    Positive,
    /// Any 64-bit number.
    Seed,
    /// A finite number.
    Finite,
    /// A finite number, zero or more.
    Share,
    /// A finite number above zero.
    Figure,
    /// `null`, or this.
    OrNull(&'static Shape),
    /// Any number of these.
    List(&'static Shape),
    /// At least one of these.
    Some(&'static Shape),
    /// Two positive whole numbers.
    Pair,
    /// Text keys, each with one of these.
    Map(&'static Shape),
    /// Exactly these keys.
    Object(&'static [Field]),
    /// A round: what counts must have numbers, what was dropped may have none.
    Round,
    /// `"kept"`, `"warm_up"` or `{ "void": reason }`.
    Fate,
    /// `"read"` or `"write"`.
    Direction,
}

/// A key of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    key: &'static str,
    shape: Shape,
    /// May be left out.
    optional: bool,
}

/// The first place that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Path from the top of the file: `tests.direct.sessions[1].rounds[4].legs[0].time`.
    pub(super) key: String,
    pub(super) found: String,
    pub(super) wanted: String,
}

const fn field(key: &'static str, shape: Shape) -> Field {
    Field {
        key,
        shape,
        optional: false,
    }
}

const fn optional(key: &'static str, shape: Shape) -> Field {
    Field {
        key,
        shape,
        optional: true,
    }
}

use Shape::{
    Count, Fate, Figure, Finite, Flag, List, Map as Named, Object, OrNull, Positive, Seed, Share,
    Text,
};

const IDENTITY: Shape = Object(&[
    field("name", Text),
    field("model", Text),
    field("size", Positive),
    field("filesystem", Text),
    field("by", Text),
    field("salt", Text),
    field("hash", Text),
]);

const fn leg(number: Shape) -> [Field; 12] {
    [
        field("direction", Shape::Direction),
        field("bytes", number),
        field("time", number),
        optional("flush", Count),
        optional("drain", Count),
        field("requests", number),
        field("cpu_user", Count),
        field("cpu_system", Count),
        field("own", OrNull(&Count)),
        field("device", OrNull(&Count)),
        field("device_other", OrNull(&Count)),
        optional("series", List(&Count)),
    ]
}

const COUNTED_LEG: Shape = Object(&leg(Positive));
const DROPPED_LEG: Shape = Object(&leg(Count));

const COUNTED: Shape = Object(&[
    field("fate", Fate),
    field("legs", Shape::Some(&COUNTED_LEG)),
    optional("steal", OrNull(&Share)),
]);
const DROPPED: Shape = Object(&[
    field("fate", Fate),
    field("legs", List(&DROPPED_LEG)),
    optional("steal", OrNull(&Share)),
]);

const SESSION: Shape = Object(&[
    field("id", Text),
    field("started", Positive),
    field("seconds", Figure),
    field("boot_id", Text),
    field("pid", Count),
    field("seed", Seed),
    field("version", Text),
    field("revision", OrNull(&Text)),
    field("debug_assertions", Flag),
    field("workload", Named(&Text)),
    field("leg_bytes", List(&Positive)),
    field("settings", Named(&Text)),
    field("flush_cost", OrNull(&Count)),
    field("reuse_distance", OrNull(&Count)),
    field(
        "layout",
        OrNull(&Object(&[
            field("extents", Count),
            field("position", Count),
            field("not_data", Count),
        ])),
    ),
    field("rounds", List(&Shape::Round)),
    field(
        "latency",
        List(&Object(&[
            field("direction", Shape::Direction),
            field("counts", List(&Shape::Pair)),
        ])),
    ),
    field("notes", List(&Text)),
]);

const ACCEPTED: Shape = Object(&[
    field(
        "summary",
        Named(&Object(&[
            field("unit", Text),
            field("value", Figure),
            field("lowest", Figure),
            field("highest", Figure),
            field("tolerance", Figure),
        ])),
    ),
    field("accepted", Positive),
    field("revision", OrNull(&Text)),
    field("reason", OrNull(&Text)),
    field("text", Text),
    field("workload", Named(&Text)),
    field("leg_bytes", List(&Positive)),
    field("mount_point", OrNull(&Text)),
    field("max_sessions", Positive),
    field(
        "anchor",
        Object(&[
            field("accepted", Positive),
            field("reason", OrNull(&Text)),
            field(
                "sessions",
                Named(&List(&Object(&[
                    field("mean", Finite),
                    field("var", Share),
                    field("n", Positive),
                    field("rho", Finite),
                ]))),
            ),
        ]),
    ),
    field("sessions", Shape::Some(&SESSION)),
]);

/// `baselines/<disk>/<suite>.json`.
pub(super) const BASELINE: Shape = Object(&[
    field("schema", Positive),
    field("suite", Text),
    field("disk", IDENTITY),
    field("tests", Named(&ACCEPTED)),
]);

/// `pending/<disk>/…`.
pub(super) const CANDIDATE: Shape = Object(&[
    field("schema", Positive),
    field("suite", Text),
    field("test", Text),
    field("disk", IDENTITY),
    field("text", Text),
    field("mount_point", OrNull(&Text)),
    field(
        "sessions",
        List(&Object(&[
            field("text", Text),
            field("barred", OrNull(&Text)),
            field("session", SESSION),
        ])),
    ),
]);

impl Shape {
    /// The first place of `value` that does not fit; `key` is the path so far.
    pub(super) fn check(&self, value: &Value, key: &str) -> Result<(), Misfit> {
        match self {
            OrNull(_) if value.is_null() => Ok(()),
            OrNull(shape) => shape.check(value, key),
            List(shape) => check_list(value, key, shape, 0),
            Shape::Some(shape) => check_list(value, key, shape, 1),
            Shape::Pair => check_list(value, key, &Positive, 2),
            Named(shape) => {
                let map = value.as_object().ok_or_else(|| self.misfit(value, key))?;
                map.iter()
                    .try_for_each(|(name, value)| shape.check(value, &join(key, name)))
            }
            Object(fields) => {
                let map = value.as_object().ok_or_else(|| self.misfit(value, key))?;
                check_object(map, key, fields)
            }
            Shape::Round => {
                let kept = value.get("fate").is_some_and(|f| f == "kept");
                if kept {
                    COUNTED.check(value, key)
                } else {
                    DROPPED.check(value, key)
                }
            }
            _ if self.takes(value) => Ok(()),
            _ => Err(self.misfit(value, key)),
        }
    }

    /// Whether a scalar fits.
    fn takes(&self, value: &Value) -> bool {
        // i64's range: two of them still add up in a u64.
        let whole = || value.as_u64().filter(|n| i64::try_from(*n).is_ok());
        let finite = || value.as_f64().filter(|n| n.is_finite());
        match self {
            Text => value.as_str().is_some_and(|s| bare_token(s).is_none()),
            Flag => value.is_boolean(),
            Count => whole().is_some(),
            Positive => whole().is_some_and(|n| n > 0),
            Seed => value.is_u64(),
            Finite => finite().is_some(),
            Share => finite().is_some_and(|n| n >= 0.0),
            Figure => finite().is_some_and(|n| n > 0.0),
            Fate => match value {
                Value::String(s) => s == "kept" || s == "warm_up",
                Value::Object(map) => {
                    map.len() == 1 && map.get("void").is_some_and(Value::is_string)
                }
                _ => false,
            },
            Shape::Direction => value == "read" || value == "write",
            _ => false,
        }
    }

    fn wanted(&self) -> &'static str {
        match self {
            Text => "text",
            Flag => "true or false",
            Count => "a whole number, zero or more",
            Positive => "a whole number above zero",
            Seed => "a whole number",
            Finite => "a finite number",
            Share => "a finite number, zero or more",
            Figure => "a finite number above zero",
            List(_) | Shape::Some(_) => "a list",
            Shape::Pair => "a list of two whole numbers above zero",
            Named(_) | Object(_) | Shape::Round => "an object",
            Fate => "\"kept\", \"warm_up\" or {\"void\": reason}",
            Shape::Direction => "\"read\" or \"write\"",
            OrNull(shape) => shape.wanted(),
        }
    }

    fn misfit(&self, value: &Value, key: &str) -> Misfit {
        Misfit {
            key: key.to_owned(),
            found: in_words(value),
            wanted: self.wanted().to_owned(),
        }
    }
}

fn check_list(value: &Value, key: &str, shape: &Shape, least: usize) -> Result<(), Misfit> {
    let list = value
        .as_array()
        .ok_or_else(|| List(&Text).misfit(value, key))?;
    if list.len() < least {
        let found = format!("a list of {}", list.len());
        return Err(Misfit {
            key: key.to_owned(),
            found,
            wanted: format!("at least {least}"),
        });
    }
    list.iter()
        .enumerate()
        .try_for_each(|(i, value)| shape.check(value, &format!("{key}[{i}]")))
}

fn check_object(map: &Map<String, Value>, key: &str, fields: &[Field]) -> Result<(), Misfit> {
    for field in fields {
        let at = join(key, field.key);
        match map.get(field.key) {
            Some(value) => field.shape.check(value, &at)?,
            None if field.optional => {}
            None => {
                let wanted = field.shape.wanted().to_owned();
                return Err(Misfit {
                    key: at,
                    found: "nothing".into(),
                    wanted,
                });
            }
        }
    }
    match map.keys().find(|k| fields.iter().all(|f| f.key != *k)) {
        Some(unknown) => {
            let keys: Vec<&str> = fields.iter().map(|f| f.key).collect();
            let wanted = format!("only {}", keys.join(", "));
            Err(Misfit {
                key: join(key, unknown),
                found: "an unknown key".into(),
                wanted,
            })
        }
        None => Ok(()),
    }
}

/// A path one key longer; keys with a dot are quoted.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = if key.contains(['.', '[']) {
        format!("{key:?}")
    } else {
        key.to_owned()
    };
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

/// A value as a person would name it, short.
pub(super) fn in_words(value: &Value) -> String {
    match value {
        Value::String(s) => match bare_token(s) {
            Some(token) => token.to_owned(),
            None => format!("{:?}", s.chars().take(60).collect::<String>()),
        },
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "an object".into(),
        scalar => scalar.to_string(),
    }
}
