//! Reading a baseline or a candidate: everything that cannot be trusted is refused, with the path of the file, the key
//! within it, what was found and what was expected.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shape::{self, Shape, in_words, join};
use super::{Accepted, Baseline, Candidate, LEAST_ROUNDS, SCHEMA, Summary, summarise, text};
use crate::plan::WorkloadKey;
use crate::sample::Session;
use crate::stats::yields::kept_rounds;
use crate::suite::{Metric, is_name};

/// How far a stored figure may lie from the derived one: the last digits may differ between math libraries.
const EPSILON: f64 = 1e-6;
/// No run takes more sessions than this; a larger number is a slip of the hand.
const MOST_SESSIONS: u32 = 100;

/// A file that cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}found {found}, expected {wanted}; {}", path.display(), at(key), fault.cure())]
pub struct BaselineError {
    /// The file.
    pub path: PathBuf,
    /// The key within it, like `tests.direct.sessions[1].rounds[4].legs[0].time`; empty for the whole file.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What should.
    pub wanted: String,
    /// The kind of trouble.
    pub fault: Fault,
}

/// The kind of trouble with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A merge left both sides in it.
    Conflict,
    /// It is no JSON document.
    Syntax,
    /// A version this tool does not read.
    Schema,
    /// A key is missing, unknown or of the wrong kind.
    Form,
    /// Every key is fine by itself, but they do not belong together.
    Content,
}

impl Fault {
    /// What to do next.
    #[must_use]
    pub fn cure(self) -> &'static str {
        match self {
            Self::Conflict => {
                "take one side whole (`git checkout --ours` or `--theirs`), and accept anew if it is the older one"
            }
            Self::Schema => "upgrade iogate, or accept anew with this version",
            Self::Syntax | Self::Form | Self::Content => {
                "restore the file from version control, or remove it and accept anew"
            }
        }
    }
}

fn at(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!("{key}: ")
    }
}

/// The rest of an error, before it is known which file it stands in.
type Trouble = (Fault, String, String, String);

impl Baseline {
    /// Reads a baseline that lies at `path` (named in errors; its stem must be the suite's name).
    ///
    /// # Errors
    /// Merge-conflict markers, a cut or empty file, another schema, missing and unknown keys, zeros, negative numbers
    /// and NaN where none belong, wrong units, sessions that are too short, doubled or of differing workloads, and
    /// summaries that do not follow from the sessions.
    pub fn parse(path: &Path, text: &str) -> Result<Self, BaselineError> {
        let baseline = document(text, &shape::BASELINE)
            .and_then(|d| check_units(&d).and_then(|()| typed::<Self>(d)))
            .and_then(|b| check_baseline(&b, path).map(|()| b));
        baseline.map_err(|trouble| located(path, trouble))
    }
}

impl Candidate {
    /// Reads a candidate file. Sessions that may not be accepted are kept: they are named when the others are.
    ///
    /// # Errors
    /// As [`Baseline::parse`], but for what only counts once accepted.
    pub fn parse(path: &Path, text: &str) -> Result<Self, BaselineError> {
        let candidate = document(text, &shape::CANDIDATE)
            .and_then(typed::<Self>)
            .and_then(|c| {
                check_name("suite", &c.suite)?;
                check_name("test", &c.test)?;
                check_disk_name(&c.disk.name)?;
                check_ids("sessions", c.sessions.iter().map(|s| &s.session))?;
                Ok(c)
            });
        candidate.map_err(|trouble| located(path, trouble))
    }
}

fn located(path: &Path, (fault, key, found, wanted): Trouble) -> BaselineError {
    BaselineError {
        path: path.to_owned(),
        key,
        found,
        wanted,
        fault,
    }
}

fn content(key: impl Into<String>, found: impl Into<String>, wanted: impl Into<String>) -> Trouble {
    (Fault::Content, key.into(), found.into(), wanted.into())
}

fn document(text: &str, shape: &Shape) -> Result<Value, Trouble> {
    let document = text::document(text)
        .map_err(|(fault, found, wanted)| (fault, String::new(), found, wanted))?;
    check_schema(&document)?;
    shape
        .check(&document, "")
        .map_err(|m| (Fault::Form, m.key, m.found, m.wanted))?;
    Ok(document)
}

/// Before anything else: a newer form may differ in every other key.
fn check_schema(document: &Value) -> Result<(), Trouble> {
    match document.get("schema") {
        Some(schema) if schema.as_u64() == Some(u64::from(SCHEMA)) => Ok(()),
        Some(schema) => {
            let newer = schema.as_u64().is_some_and(|n| n > u64::from(SCHEMA));
            let found = if newer {
                format!("{schema}, written by a newer iogate")
            } else {
                in_words(schema)
            };
            let wanted = format!(
                "{SCHEMA}, the one iogate {} reads",
                env!("CARGO_PKG_VERSION")
            );
            Err((Fault::Schema, "schema".into(), found, wanted))
        }
        None => Ok(()), // told with the other missing keys
    }
}

fn typed<T: DeserializeOwned>(document: Value) -> Result<T, Trouble> {
    serde_json::from_value(document).map_err(|e| {
        (
            Fault::Form,
            String::new(),
            e.to_string(),
            "values of the right kind".into(),
        )
    })
}

/// Every metric of a summary or an anchor exists, and a summary has the metric's unit.
fn check_units(document: &Value) -> Result<(), Trouble> {
    let tests = document.get("tests").and_then(Value::as_object);
    for (test, accepted) in tests.into_iter().flatten() {
        let key = join("tests", test);
        let anchored = accepted
            .pointer("/anchor/sessions")
            .and_then(Value::as_object);
        for name in anchored.into_iter().flat_map(|a| a.keys()) {
            metric_at(&join(&join(&join(&key, "anchor"), "sessions"), name), name)?;
        }
        let summary = accepted.get("summary").and_then(Value::as_object);
        for (name, figures) in summary.into_iter().flatten() {
            let key = join(&join(&key, "summary"), name);
            let metric = metric_at(&key, name)?;
            let unit = figures
                .get("unit")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if unit != metric.kind.unit() {
                let wanted = format!("{:?}, the unit of {metric}", metric.kind.unit());
                return Err(content(join(&key, "unit"), format!("{unit:?}"), wanted));
            }
        }
    }
    Ok(())
}

fn metric_at(key: &str, name: &str) -> Result<Metric, Trouble> {
    name.parse()
        .map_err(|e: String| content(key, e, "the name of a metric"))
}

fn check_baseline(baseline: &Baseline, path: &Path) -> Result<(), Trouble> {
    check_name("suite", &baseline.suite)?;
    check_disk_name(&baseline.disk.name)?;
    let stem = path.file_stem().and_then(|s| s.to_str());
    if stem.is_some_and(|stem| stem != baseline.suite) {
        let wanted = format!("{:?}, as the file is named", stem.unwrap_or_default());
        return Err(content("suite", format!("{:?}", baseline.suite), wanted));
    }
    for (name, accepted) in &baseline.tests {
        check_name("tests", name)?;
        check_accepted(&join("tests", name), accepted)?;
    }
    Ok(())
}

fn check_accepted(key: &str, accepted: &Accepted) -> Result<(), Trouble> {
    if accepted.max_sessions > MOST_SESSIONS {
        let found = accepted.max_sessions.to_string();
        return Err(content(
            join(key, "max_sessions"),
            found,
            format!("at most {MOST_SESSIONS}"),
        ));
    }
    let sessions = join(key, "sessions");
    check_ids(&sessions, accepted.sessions.iter())?;
    for (i, session) in accepted.sessions.iter().enumerate() {
        check_session(&format!("{sessions}[{i}]"), session, accepted)?;
    }
    let derived = summarise(
        &accepted.sessions,
        accepted.summary.keys(),
        accepted.max_sessions,
    );
    for (metric, stored) in &accepted.summary {
        let key = join(&join(key, "summary"), &metric.to_string());
        let Some(derived) = derived.get(metric) else {
            return Err(content(
                key,
                "figures",
                "only metrics that every session yields",
            ));
        };
        check_summary(&key, stored, derived)?;
    }
    Ok(())
}

fn check_session(key: &str, session: &Session, accepted: &Accepted) -> Result<(), Trouble> {
    let kept = kept_rounds(session).count();
    if kept < LEAST_ROUNDS {
        let found = format!("{kept} kept rounds");
        return Err(content(
            join(key, "rounds"),
            found,
            format!("at least {LEAST_ROUNDS}"),
        ));
    }
    if let Some(name) = first_difference(&session.workload, &accepted.workload) {
        let value = |w: &WorkloadKey| w.get(&name).map_or("nothing".into(), |v| format!("{v:?}"));
        let wanted = format!("{}, the workload of the test", value(&accepted.workload));
        return Err(content(
            join(&join(key, "workload"), &name),
            value(&session.workload),
            wanted,
        ));
    }
    if session.leg_bytes != accepted.leg_bytes {
        let list =
            |b: &[crate::units::Bytes]| format!("{:?}", b.iter().map(|b| b.0).collect::<Vec<_>>());
        let wanted = format!("{}, as the test has", list(&accepted.leg_bytes));
        return Err(content(
            join(key, "leg_bytes"),
            list(&session.leg_bytes),
            wanted,
        ));
    }
    Ok(())
}

fn first_difference(a: &WorkloadKey, b: &WorkloadKey) -> Option<String> {
    a.keys()
        .chain(b.keys())
        .find(|k| a.get(*k) != b.get(*k))
        .cloned()
}

fn check_summary(key: &str, stored: &Summary, derived: &Summary) -> Result<(), Trouble> {
    for (name, stored, derived) in [
        ("value", stored.value, derived.value),
        ("lowest", stored.lowest, derived.lowest),
        ("highest", stored.highest, derived.highest),
        ("tolerance", stored.tolerance, derived.tolerance),
    ] {
        if (stored - derived).abs() > EPSILON * derived.abs() {
            let found =
                format!("{stored}, which does not follow from the sessions (edited by hand?)");
            return Err(content(join(key, name), found, derived.to_string()));
        }
    }
    Ok(())
}

fn check_ids<'a>(key: &str, sessions: impl Iterator<Item = &'a Session>) -> Result<(), Trouble> {
    let mut seen = BTreeSet::new();
    for (i, session) in sessions.enumerate() {
        if !seen.insert(&session.id) {
            let found = format!("{:?} a second time", session.id);
            return Err(content(
                format!("{key}[{i}].id"),
                found,
                "an id of its own for every session",
            ));
        }
    }
    Ok(())
}

fn check_name(key: &str, name: &str) -> Result<(), Trouble> {
    if is_name(name) {
        return Ok(());
    }
    Err(content(
        key,
        format!("the name {name:?}"),
        "letters, digits and _ : . / - only",
    ))
}

fn check_disk_name(name: &str) -> Result<(), Trouble> {
    let is_folder =
        !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    if is_folder {
        return Ok(());
    }
    Err(content(
        "disk.name",
        format!("{name:?}"),
        "the name of one folder",
    ))
}
