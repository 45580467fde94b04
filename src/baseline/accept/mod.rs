//! How candidates become accepted: which sessions are taken, what is refused, what is shown. Pure; one test at a time.

mod choose;
mod worse;

use std::collections::BTreeMap;

use self::choose::{choose, joined};
use self::worse::{refuse_worse, show};
use super::{
    Accepted, Anchor, BLOCKING_SESSIONS, Baseline, Candidate, SCHEMA, Summary, anchor_stats,
    summarise,
};
use crate::sample::Session;
use crate::stats::looks::MOST_SESSIONS;
use crate::suite::{Metric, Test};

pub(crate) use self::choose::differing_keys;

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
    /// Take sessions of another disk of the same model.
    pub by_model: bool,
    /// Nothing will be written: what needs a reason or more sessions is shown, not refused.
    pub preview: bool,
    /// Seconds since 1970.
    pub now: u64,
    /// Source revision, where git tells.
    pub revision: Option<String>,
}

impl AcceptOptions {
    /// The reason; one without a word is none.
    fn reason(&self) -> Option<String> {
        self.reason.clone().filter(|r| !r.trim().is_empty())
    }
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
    /// The tolerance in force from now on, a share of one: as written, else the stored `auto`; `None` where only a
    /// floor or ceiling is judged.
    pub tolerance: Option<f64>,
    /// The change is a loss of more than the tolerance.
    pub is_loss: bool,
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
    if options.new_anchor && options.reason().is_none() {
        return Err(Refusal::NeedsReason);
    }
    check_disk(existing, candidate, options)?;
    let old = existing.and_then(|b| b.tests.get(&test.name));
    let (taken, left_out) = choose(candidate, test, options)?;
    let sessions = joined(old, taken, test, options)?;
    let unchanged =
        old.is_some_and(|o| o.sessions == sessions && o.text == test.text) && !options.new_anchor;
    let accepted = match old {
        Some(old) if unchanged => old.clone(),
        _ => promote(old, sessions, candidate, test, options)?,
    };
    let shown = show(old, &accepted, test);
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

fn check_disk(
    existing: Option<&Baseline>,
    candidate: &Candidate,
    options: &AcceptOptions,
) -> Result<(), Refusal> {
    let Some(accepted) = existing.map(|b| &b.disk) else {
        return Ok(());
    };
    let measured = &candidate.disk;
    let like = options.by_model && accepted.model == measured.model;
    if accepted.hash == measured.hash || like {
        return Ok(());
    }
    Err(Refusal::OtherDisk {
        baseline: format!("{} ({})", accepted.name, accepted.model),
        candidate: format!("{} ({})", measured.name, measured.model),
    })
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
        reason: options.reason(),
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
            reason: options.reason().filter(|_| options.new_anchor),
            sessions: fresh,
        },
    }
}
