//! How candidates become accepted: which sessions are taken, what is refused, what is shown. Pure; one test at a time.

use std::collections::BTreeMap;

use super::{
    Accepted, Anchor, BLOCKING_SESSIONS, Baseline, Candidate, CandidateSession, LEAST_ROUNDS,
    SCHEMA, Summary, anchor_stats, change_of_means, summarise, without_series,
};
use crate::sample::Session;
use crate::stats::looks::MOST_SESSIONS;
use crate::stats::yields::kept_rounds;
use crate::stats::{self, Yield, metrics};
use crate::suite::{Metric, Test, Tolerance};

/// What the person who accepts decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AcceptOptions {
    /// Add to the accepted sessions instead of replacing them.
    pub append: bool,
    /// Let fewer than three sessions replace a blocking baseline.
    pub provisional: bool,
    /// Why a worse baseline, or a new anchor, is right.
    pub reason: Option<String>,
    /// Freeze the anchor anew.
    pub new_anchor: bool,
    /// Take sessions whose rate changed from first to last.
    pub allow_regime: bool,
    /// Seconds since 1970.
    pub now: u64,
    /// Source revision, where git tells.
    pub revision: Option<String>,
}

/// What an accept made of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct Promotion {
    /// The whole new baseline; every other test is as it was.
    pub baseline: Baseline,
    /// Sessions the test has now.
    pub sessions: usize,
    /// Fewer than three of them.
    pub provisional: bool,
    /// The file is as it was: these very sessions were accepted before.
    pub unchanged: bool,
    /// Sessions left out, by id, with the reason.
    pub left_out: Vec<LeftOut>,
    /// When the replaced ones were accepted, in seconds since 1970, and at which revision.
    pub replaced: Option<(u64, Option<String>)>,
    /// Old against new, per gated metric.
    pub shown: Vec<Shown>,
}

/// A session that was left out: its id and why.
pub type LeftOut = (String, String);

/// Old against new of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The metric.
    pub metric: Metric,
    /// What was accepted, unless the metric or the workload is new.
    pub old: Option<Summary>,
    /// What is accepted now.
    pub new: Summary,
    /// (new − old) / old.
    pub change: Option<f64>,
    /// Change since the frozen anchor.
    pub drift: Option<f64>,
}

/// Why nothing was accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The suite changed after the sessions were measured.
    #[error(
        "the text of {test} changed since its sessions were measured; run it again, then accept"
    )]
    TextChanged {
        /// `suite::test`.
        test: String,
    },
    /// The baseline belongs to another disk.
    #[error(
        "the baseline is of {baseline}, the sessions are of {candidate}; name the disk differently or remove the baseline"
    )]
    OtherDisk {
        /// Model and name of the accepted disk.
        baseline: String,
        /// Model and name of the measured one.
        candidate: String,
    },
    /// No session may be accepted.
    #[error("no session of {test} can be accepted ({why}); run it again")]
    NothingValid {
        /// `suite::test`.
        test: String,
        /// Each session with its reason.
        why: String,
    },
    /// Fewer than three sessions would replace a blocking baseline.
    #[error(
        "{have} session(s) of {test} would replace a blocking baseline of {had}; run it until there are {BLOCKING_SESSIONS}, or pass --append, or --provisional"
    )]
    FewerSessions {
        /// `suite::test`.
        test: String,
        /// Sessions that would be accepted.
        have: usize,
        /// Sessions that are.
        had: usize,
    },
    /// `--append` to sessions of another workload.
    #[error(
        "the sessions of {test} differ from the accepted ones in {keys}; accept without --append to replace them"
    )]
    OtherWorkload {
        /// `suite::test`.
        test: String,
        /// The differing keys with both values.
        keys: String,
    },
    /// The new value is worse by more than the tolerance.
    #[error(
        "{test} would be accepted worse than before: {what}; if that is right, say why with --reason"
    )]
    Worse {
        /// `suite::test`.
        test: String,
        /// Each worse metric with old, new and limit.
        what: String,
    },
    /// A new anchor needs a reason.
    #[error("--new-anchor forgets the drift so far; say why with --reason")]
    NeedsReason,
    /// The test gates nothing that these sessions yield.
    #[error("the sessions of {test} yield none of its gated metrics ({gated}); nothing to accept")]
    NothingGated {
        /// `suite::test`.
        test: String,
        /// The gated metrics.
        gated: String,
    },
}

/// Accepts the pending sessions of one test, as the suite has it today.
///
/// # Errors
/// See [`Refusal`]; nothing is half accepted.
pub fn accept(
    existing: Option<&Baseline>,
    candidate: &Candidate,
    test: &Test,
    options: &AcceptOptions,
) -> Result<Promotion, Refusal> {
    if candidate.text != test.text {
        return Err(Refusal::TextChanged {
            test: test.full_name(),
        });
    }
    if options.new_anchor && options.reason.is_none() {
        return Err(Refusal::NeedsReason);
    }
    check_disk(existing, candidate)?;
    let old = existing.and_then(|b| b.tests.get(&test.name));
    let (taken, left_out) = choose(candidate, test, options)?;
    let sessions = joined(old, taken, test, options)?;
    let unchanged =
        old.is_some_and(|o| o.sessions == sessions && o.text == test.text) && !options.new_anchor;
    let accepted = match old {
        Some(old) if unchanged => old.clone(),
        _ => promote(old, sessions, candidate, test, options)?,
    };
    let shown = show(old, &accepted);
    refuse_worse(old, &shown, test, options)?;
    let count = accepted.sessions.len();
    let mut baseline = existing.cloned().unwrap_or_else(|| Baseline {
        schema: SCHEMA,
        suite: candidate.suite.clone(),
        disk: candidate.disk.clone(),
        tests: BTreeMap::new(),
    });
    baseline.tests.insert(test.name.clone(), accepted);
    Ok(Promotion {
        baseline,
        sessions: count,
        provisional: count < BLOCKING_SESSIONS,
        unchanged,
        left_out,
        replaced: old.map(|o| (o.accepted, o.revision.clone())),
        shown,
    })
}

fn check_disk(existing: Option<&Baseline>, candidate: &Candidate) -> Result<(), Refusal> {
    match existing {
        Some(b) if b.disk.hash != candidate.disk.hash => Err(Refusal::OtherDisk {
            baseline: format!("{} ({})", b.disk.name, b.disk.model),
            candidate: format!("{} ({})", candidate.disk.name, candidate.disk.model),
        }),
        _ => Ok(()),
    }
}

/// The sessions that share text, settings and workload with the newest valid one, oldest first; the others by name.
fn choose(
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
    if session.workload.get("engine").is_some_and(|e| e == "null") {
        return Some("the null engine does no I/O".into());
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
            "{metric} changed by {shift:+.1} % from its first rounds to its last"
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
fn joined(
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
    if have < BLOCKING_SESSIONS && had >= BLOCKING_SESSIONS && !options.provisional {
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

fn promote(
    old: Option<&Accepted>,
    sessions: Vec<Session>,
    candidate: &Candidate,
    test: &Test,
    options: &AcceptOptions,
) -> Result<Accepted, Refusal> {
    let summary = summarise(&sessions, test.gates.keys(), MOST_SESSIONS);
    if summary.is_empty() && !test.gates.is_empty() {
        let gated: Vec<String> = test.gates.keys().map(ToString::to_string).collect();
        return Err(Refusal::NothingGated {
            test: test.full_name(),
            gated: gated.join(", "),
        });
    }
    let (workload, leg_bytes) = sessions
        .last()
        .map(|s| (s.workload.clone(), s.leg_bytes.clone()))
        .unwrap_or_default();
    let same_workload = old.filter(|o| o.workload == workload && o.leg_bytes == leg_bytes);
    Ok(Accepted {
        anchor: anchor(same_workload, &sessions, summary.keys(), options),
        summary,
        accepted: options.now,
        revision: options.revision.clone(),
        reason: options.reason.clone(),
        text: test.text.clone(),
        workload,
        leg_bytes,
        mount_point: candidate.mount_point.clone(),
        max_sessions: MOST_SESSIONS,
        sessions,
    })
}

/// The anchor is set with every accept until one makes the baseline blocking, then stays; metrics gated later join it.
fn anchor<'a>(
    old: Option<&Accepted>,
    sessions: &[Session],
    gated: impl Iterator<Item = &'a Metric>,
    options: &AcceptOptions,
) -> Anchor {
    let fresh = anchor_stats(sessions, gated);
    match old.map(|o| &o.anchor) {
        Some(frozen) if frozen.is_frozen() && !options.new_anchor => {
            let mut anchor = frozen.clone();
            for (metric, stats) in fresh {
                anchor.sessions.entry(metric).or_insert(stats);
            }
            anchor
        }
        _ => Anchor {
            accepted: options.now,
            reason: if options.new_anchor {
                options.reason.clone()
            } else {
                None
            },
            sessions: fresh,
        },
    }
}

fn show(old: Option<&Accepted>, new: &Accepted) -> Vec<Shown> {
    let old = old.filter(|o| o.workload == new.workload && o.leg_bytes == new.leg_bytes);
    let stats = anchor_stats(&new.sessions, new.summary.keys());
    let drift = |metric: &Metric| {
        change_of_means(metric, new.anchor.sessions.get(metric)?, stats.get(metric)?)
    };
    new.summary
        .iter()
        .map(|(metric, summary)| {
            let before = old.and_then(|o| o.summary.get(metric)).copied();
            Shown {
                metric: metric.clone(),
                old: before,
                new: *summary,
                change: before.map(|b| summary.value / b.value - 1.0),
                drift: drift(metric),
            }
        })
        .collect()
}

/// A metric may be accepted worse only with a reason. The frozen anchor is tested too, so that ten steps, each within
/// the tolerance, do not pass one by one; once a reason was given for leaving it, only new losses ask again.
fn refuse_worse(
    old: Option<&Accepted>,
    shown: &[Shown],
    test: &Test,
    options: &AcceptOptions,
) -> Result<(), Refusal> {
    if options.reason.is_some() {
        return Ok(());
    }
    let worse: Vec<String> = shown.iter().filter_map(|s| worse(s, old, test)).collect();
    if worse.is_empty() {
        return Ok(());
    }
    Err(Refusal::Worse {
        test: test.full_name(),
        what: worse.join(", "),
    })
}

fn worse(shown: &Shown, old: Option<&Accepted>, test: &Test) -> Option<String> {
    let before = shown.old?;
    let gate = test.gates.get(&shown.metric).filter(|g| !g.advisory)?;
    let tolerance = match gate.tolerance {
        Tolerance::Given(share) => share.0,
        Tolerance::Auto => before.tolerance,
        Tolerance::Unset => return None,
    };
    let better = shown.metric.kind.higher_is_better();
    let theta = stats::theta(tolerance, better);
    let is_loss = |change: f64| {
        if better {
            change.ln_1p() < -theta
        } else {
            change.ln_1p() > theta
        }
    };
    let named = |change: f64, since: &str| {
        let (metric, limit) = (&shown.metric, tolerance * 100.0);
        format!(
            "{metric} {:+.1} % {since}, limit {limit:.1} %",
            change * 100.0
        )
    };
    let change = shown.change?;
    if is_loss(change) {
        return Some(named(change, "against the accepted one"));
    }
    let drift = shown.drift.filter(|d| is_loss(*d))?;
    let was_lost = is_loss((1.0 + drift) / (1.0 + change) - 1.0);
    let frozen = old.is_some_and(|o| o.anchor.is_frozen());
    (frozen && !was_lost).then(|| named(drift, "since the first accepted ones"))
}
