//! One row for each setting: its name, its values, where it may stand, how it is read and shown.
//!
//! The name is at once the flag (`--max-write`), the key of the files and, in capitals, the variable
//! (`IOGATE_MAX_WRITE`).

use std::path::{Path, PathBuf};

use super::{Config, Match, Require, Update};
use crate::units::parse_duration;

/// Variables of the tool that are no settings: how its processes tell each other what they are doing.
pub const INTERNAL_VARIABLES: [&str; 5] = [
    "IOGATE_RECORD_DIR",
    "IOGATE_CONFIRM",
    "IOGATE_WORKSPACE_ROOT",
    "IOGATE_TARGET_DIR",
    "IOGATE_LOG",
];

/// How a value is written in TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Text in quotes.
    Text,
    /// `true` or `false`; in variables and flags also 1, yes, 0, no.
    Flag,
    /// A whole number without quotes.
    Whole,
    /// Texts in a list; `:` separates them in a variable, a flag is repeated.
    List,
}

/// A setting.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// As errors list it.
    pub(super) allowed: &'static str,
    /// Whether the committed file may hold it. What names a disk of one host may not.
    pub(super) committed: bool,
    /// Puts the values in place; `None` when they are none of the allowed ones.
    pub(super) set: fn(&mut Config, &[String]) -> Option<()>,
    /// The value in force, as it would be written.
    pub(super) show: fn(&Config) -> String,
}

const FLAG: &str = "true or false (a variable also takes 1, yes, 0, no)";
const FOLDER: &str = "the path of a folder";
const DISK: &str = "a directory on the disk to measure, or a block device";
const UPDATES: [(&str, Update); 4] = [
    ("auto", Update::Auto),
    ("new", Update::New),
    ("always", Update::Always),
    ("no", Update::No),
];
const MATCHES: [(&str, Match); 2] = [("identity", Match::Identity), ("model", Match::Model)];
const REQUIRES: [(&str, Require); 2] = [("disk", Require::Disk), ("baseline", Require::Baseline)];

/// A row that may stand in both files.
const fn row(
    name: &'static str,
    form: Form,
    allowed: &'static str,
    set: fn(&mut Config, &[String]) -> Option<()>,
    show: fn(&Config) -> String,
) -> Row {
    Row {
        name,
        form,
        allowed,
        committed: true,
        set,
        show,
    }
}

/// The same, for the host's own file alone.
const fn own(row: Row) -> Row {
    Row {
        committed: false,
        ..row
    }
}

/// Every setting, in the order `inspect --config` shows them.
pub(super) static ROWS: [Row; 16] = [
    own(row(
        "disk",
        Form::List,
        DISK,
        |c, v| set(&mut c.disk, paths(v)),
        |c| join(&c.disk),
    )),
    row(
        "disk-name",
        Form::Text,
        "a folder name of letters, digits, `_`, `.` and `-`",
        |c, v| set(&mut c.disk_name, folder_name(v).map(Some)),
        |c| c.disk_name.clone().unwrap_or_default(),
    ),
    row(
        "suites",
        Form::Text,
        FOLDER,
        |c, v| set(&mut c.suites, path(v).map(Some)),
        |c| shown(c.suites.as_ref()),
    ),
    row(
        "baselines",
        Form::Text,
        FOLDER,
        |c, v| set(&mut c.baselines, path(v).map(Some)),
        |c| shown(c.baselines.as_ref()),
    ),
    own(row(
        "destroy",
        Form::Text,
        "the path of the block device that may be written, the same as `disk`",
        |c, v| set(&mut c.destroy, path(v).map(Some)),
        |c| shown(c.destroy.as_ref()),
    )),
    row(
        "match",
        Form::Text,
        "identity, model",
        |c, v| set(&mut c.matching, word(v, &MATCHES)),
        |c| name(&MATCHES, c.matching),
    ),
    row(
        "require",
        Form::Text,
        "disk, baseline",
        |c, v| set(&mut c.require, word(v, &REQUIRES).map(Some)),
        |c| c.require.map(|r| name(&REQUIRES, r)).unwrap_or_default(),
    ),
    row(
        "strict",
        Form::Flag,
        FLAG,
        |c, v| set(&mut c.strict, flag(v)),
        |c| c.strict.to_string(),
    ),
    row(
        "strict-medium",
        Form::Flag,
        FLAG,
        |c, v| set(&mut c.strict_medium, flag(v)),
        |c| c.strict_medium.to_string(),
    ),
    row(
        "max-write",
        Form::Text,
        "bytes with a unit, such as \"64GiB\"",
        |c, v| set(&mut c.max_write, one(v)?.parse().ok()),
        |c| c.max_write.to_string(),
    ),
    row(
        "max-undecided",
        Form::Whole,
        "a whole number from 1",
        |c, v| {
            set(
                &mut c.max_undecided,
                one(v)?.parse().ok().filter(|&n| n > 0),
            )
        },
        |c| c.max_undecided.to_string(),
    ),
    row(
        "gap",
        Form::Text,
        "a time with a unit, such as \"30s\"",
        |c, v| set(&mut c.gap, parse_duration(one(v)?).ok()),
        |c| humantime::format_duration(c.gap).to_string(),
    ),
    row(
        "update",
        Form::Text,
        "auto, new, always, no",
        |c, v| set(&mut c.update, word(v, &UPDATES)),
        |c| name(&UPDATES, c.update),
    ),
    row(
        "allow-memory",
        Form::Flag,
        FLAG,
        |c, v| set(&mut c.allow_memory, flag(v)),
        |c| c.allow_memory.to_string(),
    ),
    row(
        "allow-overlay",
        Form::Flag,
        FLAG,
        |c, v| set(&mut c.allow_overlay, flag(v)),
        |c| c.allow_overlay.to_string(),
    ),
    row(
        "targets",
        Form::List,
        "names of test targets with `harness = false`",
        |c, v| set(&mut c.targets, target_names(v)),
        |c| c.targets.join(", "),
    ),
];

/// The variable of a setting: `IOGATE_MAX_WRITE` for `max-write`.
#[must_use]
pub fn variable(key: &str) -> String {
    format!("IOGATE_{}", key.to_ascii_uppercase().replace('-', "_"))
}

fn set<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn one(values: &[String]) -> Option<&str> {
    match values {
        [value] => Some(value),
        _ => None,
    }
}

fn word<T: Copy>(values: &[String], words: &[(&str, T)]) -> Option<T> {
    let written = one(values)?;
    let found = words.iter().find(|(word, _)| *word == written);
    found.map(|&(_, value)| value)
}

fn name<T: PartialEq>(words: &[(&str, T)], value: T) -> String {
    let found = words.iter().find(|(_, v)| *v == value);
    found.map_or("", |(name, _)| name).to_owned()
}

fn flag(values: &[String]) -> Option<bool> {
    match one(values)? {
        "1" | "true" | "yes" => Some(true),
        "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Tabs and line ends do stand in names of mount points; other control characters are a terminal's, and no slip.
fn a_path(text: &str) -> Option<PathBuf> {
    let sound =
        !text.trim().is_empty() && !text.chars().any(|c| c.is_control() && !"\t\n".contains(c));
    sound.then(|| PathBuf::from(text))
}

fn path(values: &[String]) -> Option<PathBuf> {
    a_path(one(values)?)
}

fn paths(values: &[String]) -> Option<Vec<PathBuf>> {
    values.iter().map(|text| a_path(text)).collect()
}

fn folder_name(values: &[String]) -> Option<String> {
    let text = one(values)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let sound = !text.is_empty() && text.len() <= 100 && text.chars().all(plain);
    (sound && !text.starts_with(['.', '-'])).then(|| text.to_owned())
}

fn target_names(values: &[String]) -> Option<Vec<String>> {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let sound = |text: &String| !text.is_empty() && text.chars().all(plain);
    values.iter().all(sound).then(|| values.to_vec())
}

fn shown(path: Option<&PathBuf>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}

fn join(paths: &[PathBuf]) -> String {
    let shown = paths.iter().map(|path| Path::display(path).to_string());
    shown.collect::<Vec<_>>().join(", ")
}
