//! Whether a baseline speaks of the same disk and the same work, and which settings changed since.

use super::{Evidence, Suspect};
use crate::baseline::Accepted;
use crate::baseline::accept::differing_keys;
use crate::facts::Identity;

/// Times the extents of the baseline's files from which a layout is another one.
const TOO_MANY_EXTENTS: u64 = 4;

/// What stands where a setting is missing on one side.
const ABSENT: &str = "absent";

/// Why run and baseline cannot be compared, as a sentence; `None` when they can, or when there is no baseline.
pub(super) fn difference(e: &Evidence<'_>) -> Option<String> {
    let (accepted, disk) = e.baseline?;
    other_disk(e, disk)
        .or_else(|| other_workload(e, accepted))
        .or_else(|| other_layout(e, accepted))
}

/// A file system that gave the file four times as many pieces as it did then is another one; pieces of 16 MiB and
/// more on average cost nothing and are not counted against it.
fn other_layout(e: &Evidence<'_>, accepted: &Accepted) -> Option<String> {
    let now = e.sessions.iter().filter(|s| s.fragmented());
    let now = now.filter_map(|s| s.layout).map(|l| l.extents).max()?;
    let then = accepted.sessions.iter().filter_map(|s| s.layout);
    let then = then.map(|l| l.extents).max()?;
    (now >= then.saturating_mul(TOO_MANY_EXTENTS)).then(|| {
        format!(
            "the file lies in {now} extents, and in {then} at most when the baseline was accepted: \
             the file system is fuller or more fragmented; free space there, or accept a new baseline"
        )
    })
}

fn other_disk(e: &Evidence<'_>, accepted: &Identity) -> Option<String> {
    let same = if e.by_model {
        accepted.model == e.disk.model
    } else {
        accepted.hash == e.disk.hash
    };
    let (was, is) = (in_words(accepted), in_words(e.disk));
    let field = if e.by_model { "model" } else { "identity" };
    let hint = if e.by_model {
        "accept a baseline of this model"
    } else if accepted.model == e.disk.model {
        "accept a baseline of this disk, or compare by model with `match = \"model\"`"
    } else {
        "accept a baseline of this disk"
    };
    (!same)
        .then(|| format!("the baseline is of another disk by {field}: {was}, this is {is}; {hint}"))
}

fn in_words(disk: &Identity) -> String {
    let hash: String = disk.hash.chars().take(8).collect();
    format!(
        "{} ({}, {}, by {} {hash})",
        disk.name, disk.model, disk.size, disk.by
    )
}

/// Compared is the workload as it ran: the session's, which knows the leg bytes, with the plan's keys on top.
fn other_workload(e: &Evidence<'_>, accepted: &Accepted) -> Option<String> {
    let mut now = e
        .sessions
        .last()
        .map(|s| s.workload.clone())
        .unwrap_or_default();
    now.extend(e.workload.clone());
    let keys = differing_keys(&accepted.workload, &now);
    (!keys.is_empty()).then(|| {
        format!(
            "the baseline is of another workload: {}; accept a new baseline",
            keys.join(", ")
        )
    })
}

/// Settings that differ from those of the newest accepted session, sorted by name.
pub(super) fn suspects(e: &Evidence<'_>) -> Vec<Suspect> {
    let Some(newest) = e
        .baseline
        .and_then(|(accepted, _)| accepted.sessions.last())
    else {
        return Vec::new();
    };
    let mut before = newest.settings.clone();
    before.insert(
        "debug_assertions".into(),
        newest.debug_assertions.to_string(),
    );
    let mut now = e.settings.clone();
    if let Some(session) = e.sessions.last() {
        now.insert(
            "debug_assertions".into(),
            session.debug_assertions.to_string(),
        );
    }
    let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
    names.sort();
    names.dedup();
    let value = |side: Option<&String>| side.map_or_else(|| ABSENT.to_owned(), Clone::clone);
    names
        .into_iter()
        .filter(|name| before.get(*name) != now.get(*name))
        .map(|name| Suspect {
            name: name.clone(),
            baseline: value(before.get(name)),
            now: value(now.get(name)),
        })
        .collect()
}
