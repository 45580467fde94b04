//! Four layers on top of the defaults: file, local file, variables, flags. A layer replaces what lies below it, lists
//! whole; every layer is checked, also where it is overruled.

use std::collections::BTreeMap;
use std::fmt;

use toml::de::DeValue;

use super::keys::{Form, INTERNAL_VARIABLES, ROWS, Row, variable};
use super::{Config, ConfigError};
use crate::suite::written::{
    Fault, Value, did_you_mean, document, in_order, nearest, one_of, place, printable, quote, show,
};

/// Where a setting in force was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    Flag(String),
    /// In the environment.
    Variable(String),
    /// In the host's own file.
    LocalFile {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
    },
    /// In the committed file.
    File {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
    },
    /// Nowhere.
    Default,
}

/// The settings in force, with where each was set.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The settings.
    pub config: Config,
    /// Where each key was set; a key that is missing has its default.
    pub origins: BTreeMap<&'static str, Origin>,
}

/// One setting for `inspect --config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its key.
    pub key: &'static str,
    /// Its value as it would be written; empty: none.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
}

/// A value as written, before anyone knows whether it is one.
struct Given<'r> {
    row: &'r Row,
    values: Vec<String>,
    origin: Origin,
    /// The place an error names.
    place: String,
}

impl Config {
    /// Puts the layers together. `flags` are names without dashes and values, repeated ones in order; `vars` may hold
    /// the whole environment, of which all `IOGATE_*` are checked; `local` and `file` are path and text of
    /// `.config/iogate.local.toml` and `.config/iogate.toml`, where they exist.
    ///
    /// # Errors
    /// Every unknown key and every value that is not allowed, in whichever layer it stands.
    pub fn resolve(
        flags: &[(String, String)],
        vars: &[(String, String)],
        local: Option<(&str, &str)>,
        file: Option<(&str, &str)>,
    ) -> Result<Resolved, Vec<ConfigError>> {
        let mut errors = Vec::new();
        let layers = [
            from_file(file, true, &mut errors),
            from_file(local, false, &mut errors),
            from_vars(vars, &mut errors),
            from_flags(flags, &mut errors),
        ];
        let mut config = Self::default();
        let mut origins = BTreeMap::new();
        for given in layers.into_iter().flatten() {
            match given.apply(&mut config) {
                Ok(()) => drop(origins.insert(given.row.name, given.origin)),
                Err(fault) => errors.push(ConfigError::new(&given.place, fault)),
            }
        }
        if errors.is_empty() {
            Ok(Resolved { config, origins })
        } else {
            Err(errors)
        }
    }
}

impl Resolved {
    /// Every setting in a fixed order, with where it was set.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let setting = |row: &Row| Setting {
            key: row.name,
            value: (row.show)(&self.config),
            origin: self.origin(row.name),
        };
        ROWS.iter().map(setting).collect()
    }

    /// Where a key was set.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }
}

impl Given<'_> {
    fn apply(&self, config: &mut Config) -> Result<(), Fault> {
        let empty = |value: &String| value.trim().is_empty();
        if self.row.name == "disk" && (self.values.is_empty() || self.values.iter().any(empty)) {
            return Err(self.fault("an empty name").hint(
                "an unset shell variable is the usual cause: look at what the text in quotes expands to; to run \
                 without a disk, leave the setting out",
            ));
        }
        (self.row.set)(config, &self.values).ok_or_else(|| {
            let quoted: Vec<_> = self.values.iter().map(|value| quote(value)).collect();
            let mut fault = self.fault(quoted.join(", "));
            fault.hint = self.hint();
            fault
        })
    }

    fn fault(&self, found: impl Into<String>) -> Fault {
        Fault::new(0, self.row.name, found, self.row.allowed)
    }

    /// Why the value is none: the two meanings of a unit, or the nearest word.
    fn hint(&self) -> Option<String> {
        let value = self.values.first()?;
        if self.row.name == "max-write" {
            let error = value.parse::<crate::units::Bytes>().err()?;
            return error.expected.contains(" or ").then_some(error.expected);
        }
        let words = self.row.allowed.split(", ");
        did_you_mean(value, words.filter(|word| !word.contains(' ')))
    }
}

fn names() -> impl Iterator<Item = &'static str> + Clone {
    ROWS.iter().map(|row| row.name)
}

fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

fn unknown(at: usize, name: &str) -> Fault {
    let found = format!("an unknown key {}", quote(name));
    let mut fault = Fault::new(at, printable(name), found, one_of(names()));
    fault.hint = did_you_mean(name, names());
    fault
}

fn from_flags(flags: &[(String, String)], errors: &mut Vec<ConfigError>) -> Vec<Given<'static>> {
    let mut given: Vec<Given<'static>> = Vec::new();
    for (flag, value) in flags {
        let name = flag.trim_start_matches("--");
        let place = format!("flag --{name}");
        let Some(row) = find(name) else {
            errors.push(ConfigError::new(place, unknown(0, name)));
            continue;
        };
        match given.iter_mut().find(|given| given.row.name == name) {
            Some(earlier) if row.form == Form::List => earlier.values.push(value.clone()),
            Some(earlier) if earlier.values == [value.clone()] => {}
            Some(_) => {
                let found = format!("a second value {}", quote(value));
                errors.push(ConfigError::new(
                    place,
                    Fault::new(0, name, found, "one value"),
                ));
            }
            None => given.push(Given {
                row,
                values: vec![value.clone()],
                origin: Origin::Flag(format!("--{name}")),
                place,
            }),
        }
    }
    given
}

fn from_vars(vars: &[(String, String)], errors: &mut Vec<ConfigError>) -> Vec<Given<'static>> {
    let mut given = Vec::new();
    for (name, value) in vars {
        let ours = name.starts_with("IOGATE_") && !INTERNAL_VARIABLES.contains(&name.as_str());
        if !ours {
            continue;
        }
        let place = format!("variable {}", printable(name));
        let Some(row) = ROWS.iter().find(|row| variable(row.name) == *name) else {
            errors.push(ConfigError::new(place, unknown_variable(name)));
            continue;
        };
        let values = match row.form {
            Form::List => split(value),
            _ => vec![value.clone()],
        };
        given.push(Given {
            row,
            values,
            origin: Origin::Variable(name.clone()),
            place,
        });
    }
    given
}

/// Parts between colons; `\\:` is a colon of the name itself.
fn split(value: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = value.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, parts.last_mut()) {
            (':', _) => parts.push(String::new()),
            ('\\', Some(part)) if rest.next_if_eq(&':').is_some() => part.push(':'),
            (c, Some(part)) => part.push(c),
            (_, None) => {}
        }
    }
    parts
}

fn unknown_variable(name: &str) -> Fault {
    let known: Vec<String> = names().map(variable).collect();
    let words = || known.iter().map(String::as_str).chain(INTERNAL_VARIABLES);
    let found = format!("an unknown variable {}", quote(name));
    let mut fault = Fault::new(0, "", found, one_of(known.iter().map(String::as_str)));
    // The common prefix makes every variable look near; what follows it decides.
    let rest = name.strip_prefix("IOGATE_").unwrap_or(name);
    let rests = words().map(|word| word.strip_prefix("IOGATE_").unwrap_or(word));
    fault.hint = nearest(rest, rests).map(|near| format!("did you mean `IOGATE_{near}`?"));
    fault
}

fn from_file(
    file: Option<(&str, &str)>,
    committed: bool,
    errors: &mut Vec<ConfigError>,
) -> Vec<Given<'static>> {
    let Some((path, text)) = file else {
        return Vec::new();
    };
    let table = match document(text) {
        Ok(table) => table,
        Err(faults) => {
            let located = |fault| ConfigError::in_file(path, text, fault);
            errors.extend(faults.sorted().into_iter().map(located));
            return Vec::new();
        }
    };
    let mut given = Vec::new();
    for (name, span, value) in in_order(table.get_ref()) {
        let read = match find(name) {
            None => Err(unknown(span.start, name)),
            Some(row) if committed && !row.committed => Err(host_only(row, span.start, value)),
            Some(row) => texts(row, value).map(|values| (row, values)),
        };
        let at = value.span().start;
        let (line, column) = place(text, at);
        match read {
            Err(fault) => errors.push(ConfigError::in_file(path, text, fault)),
            Ok((row, values)) => given.push(Given {
                row,
                values,
                origin: origin(path, line, committed),
                place: format!("{path}:{line}:{column}"),
            }),
        }
    }
    given
}

fn origin(path: &str, line: usize, committed: bool) -> Origin {
    let path = path.to_owned();
    match committed {
        true => Origin::File { path, line },
        false => Origin::LocalFile { path, line },
    }
}

fn host_only(row: &Row, at: usize, value: &Value<'_>) -> Fault {
    let name = row.name;
    let found = format!("`{name} = {}` in the committed file", show(value.get_ref()));
    let allowed = format!(
        "`{name}` in .config/iogate.local.toml, {} or --{name}",
        variable(name)
    );
    Fault::new(at, name, found, allowed).hint(
        "it names a disk of one host, and everyone who clones the project would write to theirs",
    )
}

/// The texts of a TOML value, if it is written in the form of its key.
fn texts(row: &Row, value: &Value<'_>) -> Result<Vec<String>, Fault> {
    let wrong = |value: &Value<'_>| {
        let found = show(value.get_ref());
        let mut fault = Fault::new(value.span().start, row.name, found, row.allowed);
        fault.hint = match (row.form, value.get_ref()) {
            (Form::Flag | Form::Whole, DeValue::String(_)) => Some("without quotes".to_owned()),
            (Form::Text, DeValue::Integer(_) | DeValue::Float(_)) => {
                Some("units are always written".to_owned())
            }
            _ => None,
        };
        fault
    };
    let text = |value: &Value<'_>| match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err(wrong(value)),
    };
    match (row.form, value.get_ref()) {
        (Form::List, DeValue::Array(items)) => items.iter().map(text).collect(),
        (Form::List | Form::Text, _) => Ok(vec![text(value)?]),
        (Form::Flag, DeValue::Boolean(flag)) => Ok(vec![flag.to_string()]),
        (Form::Whole, DeValue::Integer(number)) => Ok(vec![number.to_string()]),
        _ => Err(wrong(value)),
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::LocalFile { path, line } | Self::File { path, line } => {
                write!(f, "{path}:{line}")
            }
            Self::Default => f.write_str("default"),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
