//! Which pending sessions a test takes, and which sessions it then has.

use std::collections::BTreeMap;

use super::{AcceptOptions, LeftOut, Refusal};
use crate::baseline::{
    Accepted, BLOCKING_SESSIONS, Candidate, CandidateSession, LEAST_ROUNDS, without_series,
};
use crate::plan::does_no_io;
use crate::sample::Session;
use crate::stats::yields::kept_rounds;
use crate::stats::{Yield, metrics};
use crate::suite::{Proof, Test};

/// The sessions that share text, settings and workload with the newest valid one, oldest first; the others by name.
pub(super) fn choose(
    candidate: &Candidate,
    test: &Test,
    options: &AcceptOptions,
) -> Result<(Vec<Session>, Vec<LeftOut>), Refusal> {
    let barred = |s: &CandidateSession| barred(s, test, options);
    let valid = |s: &&CandidateSession| barred(s).is_none();
    let newest = candidate
        .sessions
        .iter()
        .rev()
        .find(valid)
        .map(|s| &s.session);
    let (mut taken, mut left_out) = (Vec::new(), Vec::new());
    for pending in &candidate.sessions {
        let differs = || newest.and_then(|n| differs_from_newest(&pending.session, n));
        match barred(pending).or_else(differs) {
            None => taken.push(without_series(pending.session.clone())),
            Some(why) => left_out.push((pending.session.id.clone(), why)),
        }
    }
    if taken.is_empty() {
        let each: Vec<String> = left_out
            .iter()
            .map(|(id, why)| format!("{id}: {why}"))
            .collect();
        let why = if each.is_empty() {
            "none is pending".into()
        } else {
            each.join("; ")
        };
        return Err(Refusal::NothingValid {
            test: test.full_name(),
            why,
        });
    }
    Ok((taken, left_out))
}

/// Why a session must never be accepted, whatever the others are.
fn barred(pending: &CandidateSession, test: &Test, options: &AcceptOptions) -> Option<String> {
    let session = &pending.session;
    let kept = kept_rounds(session).count();
    if let Some(why) = &pending.barred {
        return Some(why.clone());
    }
    if pending.text != test.text {
        return Some("measured before the suite text changed".into());
    }
    if does_no_io(&session.workload) {
        return Some("the null engine does no I/O".into());
    }
    if test.workload.proof == Proof::Required && session.is_unproven() {
        return Some("nothing vouches for its bytes, and the test asks for a witness".into());
    }
    if kept < LEAST_ROUNDS {
        return Some(format!("{kept} kept rounds, {LEAST_ROUNDS} needed"));
    }
    if options.allow_regime {
        return None;
    }
    let measured = metrics(session);
    test.gates.keys().find_map(|metric| {
        let shift = measured.get(metric).and_then(Yield::regime_shift)?.exp_m1() * 100.0;
        Some(format!(
            "{metric} changed by {shift:+.1} % from its first rounds to its last; --allow-regime takes it all the same"
        ))
    })
}

/// What of a session's circumstances is not as it was in the newest one.
fn differs_from_newest(session: &Session, newest: &Session) -> Option<String> {
    let maps = [
        (&session.settings, &newest.settings),
        (&session.workload, &newest.workload),
    ];
    for (mine, theirs) in maps {
        if let Some(key) = mine
            .keys()
            .chain(theirs.keys())
            .find(|k| mine.get(*k) != theirs.get(*k))
        {
            let value = |map: &BTreeMap<String, String>| {
                map.get(key).map_or("absent".into(), |v| format!("`{v}`"))
            };
            return Some(format!(
                "{key} was {}, in the newest session it is {}",
                value(mine),
                value(theirs)
            ));
        }
    }
    if session.leg_bytes != newest.leg_bytes {
        return Some("its legs are of another length than the newest session's".into());
    }
    (session.debug_assertions != newest.debug_assertions)
        .then(|| "built with other debug assertions than the newest session".into())
}

/// The sessions the test will have.
pub(super) fn joined(
    old: Option<&Accepted>,
    taken: Vec<Session>,
    test: &Test,
    options: &AcceptOptions,
) -> Result<Vec<Session>, Refusal> {
    let had = old.map_or(0, |o| o.sessions.len());
    let mut sessions = match old {
        Some(old) if options.append => {
            let newest = taken.last().map_or(&old.workload, |s| &s.workload);
            let keys = differing_keys(&old.workload, newest);
            let legs = taken.last().is_some_and(|s| s.leg_bytes != old.leg_bytes);
            if !keys.is_empty() || legs {
                let keys = if keys.is_empty() {
                    "the length of a leg".into()
                } else {
                    keys.join(", ")
                };
                return Err(Refusal::OtherWorkload {
                    test: test.full_name(),
                    keys,
                });
            }
            old.sessions.clone()
        }
        _ => Vec::new(),
    };
    for session in taken {
        if sessions.iter().all(|s| s.id != session.id) {
            sessions.push(session);
        }
    }
    sessions.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    let have = sessions.len();
    let asked = options.provisional || options.preview;
    if have < BLOCKING_SESSIONS && had >= BLOCKING_SESSIONS && !asked {
        return Err(Refusal::FewerSessions {
            test: test.full_name(),
            have,
            had,
        });
    }
    Ok(sessions)
}

/// Keys of two workloads that differ, each with both values: `block: 128 KiB, now 1 MiB`.
pub(crate) fn differing_keys(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    let value = |map: &BTreeMap<String, String>, key: &str| {
        map.get(key).map_or("absent".to_owned(), Clone::clone)
    };
    keys.into_iter()
        .filter(|k| before.get(*k) != now.get(*k))
        .map(|k| format!("{k}: {}, now {}", value(before, k), value(now, k)))
        .collect()
}
