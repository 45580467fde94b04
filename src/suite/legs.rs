//! The two forms that hold several legs: `pair = […]`, which takes turns, and `[[test.leg]]`, which run at once.

use std::collections::BTreeSet;

use toml::de::DeValue;

use super::keys::{LegAt, RW};
use super::readers;
use super::values::Field;
use super::written::{Fault, Faults, quote};
use super::{Direction, Metric, NamedLeg, Rw};

const KEYS: [&str; 6] = ["name", "rw", "workers", "depth", "block", "size"];

/// Reads `pair`: one reading and one writing leg of one pattern, in either order; the reading one comes out first.
pub(super) fn pair(field: Field<'_, '_>) -> Result<[Rw; 2], Fault> {
    const LIKE: &str = "[\"read\", \"write\"] or [\"randread\", \"randwrite\"]";
    let DeValue::Array(items) = field.value.get_ref() else {
        return Err(field.fault(LIKE).hint("one leg alone is `rw`"));
    };
    let words: Vec<Rw> = items
        .iter()
        .map(|item| Field::new(field.key, item).word(&RW))
        .collect::<Result<_, _>>()?;
    let by = |way| {
        let mut legs = words.iter().filter(move |leg| leg.direction() == Some(way));
        legs.next().copied()
    };
    match (words.len(), by(Direction::Read), by(Direction::Write)) {
        (2, Some(read), Some(write)) if read.is_random() == write.is_random() => Ok([read, write]),
        _ => {
            let words: Vec<_> = words.iter().map(|leg| quote(leg.word())).collect();
            let found = format!("[{}]", words.join(", "));
            Err(Fault::new(field.at(), field.key, found, LIKE).hint(
                "a ratio only exists for equal pairs: one leg that reads and one that writes, both sequential or \
                 both random; different legs at the same time are `[[test.leg]]`",
            ))
        }
    }
}

/// Reads every `[[test.leg]]`; `None` unless all of them can be read.
pub(super) fn named(field: Field<'_, '_>, faults: &mut Faults) -> Option<Vec<LegAt>> {
    let DeValue::Array(items) = field.value.get_ref() else {
        let fault = field.fault("[[test.leg]] tables");
        faults.push(fault.hint("two pairs of brackets make a list"));
        return None;
    };
    let before = faults.len();
    let mut names = BTreeSet::new();
    let mut legs = Vec::new();
    for item in items.iter() {
        let Some(leg) = one(Field::new(field.key, item), faults) else {
            continue;
        };
        if !names.insert(leg.leg.name.clone()) {
            let found = format!("a second leg named {}", quote(&leg.leg.name));
            let key = format!("{}.name", field.key);
            faults.push(Fault::new(leg.at, key, found, "a name of its own"));
        }
        legs.push(leg);
    }
    (faults.len() == before).then_some(legs)
}

fn one(field: Field<'_, '_>, faults: &mut Faults) -> Option<LegAt> {
    let at = field.at();
    let (mut name, mut rw) = (None, None);
    let (mut workers, mut depth, mut block, mut size) = (None, None, None, None);
    let entries = field.table("a [[test.leg]] table", &KEYS, faults)?;
    let has = |key| entries.iter().any(|&(name, _)| name == key);
    if !has("name") || !has("rw") {
        let found = "a leg without `name` or `rw`";
        let allowed = "both, such as name = \"seq\" and rw = \"read\"";
        faults.push(Fault::new(at, field.key, found, allowed));
    }
    for (key, value) in entries {
        let dotted = format!("{}.{key}", field.key);
        let entry = Field::new(&dotted, value);
        if matches!(value.get_ref(), DeValue::Array(_)) {
            let fault = entry.fault("one value");
            faults.push(fault.hint("lists multiply the keys of a test, not those of a leg"));
            continue;
        }
        match key {
            "name" => name = faults.note(leg_name(entry)),
            "rw" => rw = faults.note(entry.word(&RW)),
            "workers" => workers = faults.note(readers::count(entry)),
            "depth" => depth = faults.note(readers::depth(entry)),
            "block" => block = faults.note(readers::block(entry)),
            _ => size = faults.note(readers::size(entry)),
        }
    }
    let leg = NamedLeg {
        name: name?,
        rw: rw?,
        workers,
        depth,
        block,
        size,
    };
    Some(LegAt { leg, at })
}

/// A leg's name is the prefix of its metrics (`seq.read`), so it holds no dot and is no metric itself.
fn leg_name(field: Field<'_, '_>) -> Result<String, Fault> {
    const LIKE: &str = "a name of letters, digits, `_` and `-` that is no metric";
    let text = field.text(LIKE)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() || !text.chars().all(plain) || text.parse::<Metric>().is_ok() {
        return Err(field.fault(LIKE));
    }
    Ok(text.to_owned())
}
