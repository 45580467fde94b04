//! What is known of one test so far, from its start to the record.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Context, Purpose};
use crate::baseline::Accepted;
use crate::facts::{Facts, Identity};
use crate::record::{Record, SCHEMA};
use crate::sample::{MeasureError, Session};
use crate::suite::Test;
use crate::units::Bytes;
use crate::verdict::{Evidence, Judgement, Look, Reason, Verdict, judge};

/// Sessions a run may take before it must decide.
const MAX_SESSIONS: u32 = 2;

/// One test on its way.
#[derive(Debug)]
pub(crate) struct Story<'a> {
    pub(crate) test: &'a Test,
    pub(crate) purpose: Purpose<'a>,
    pub(crate) started: f64,
    pub(crate) facts: Option<Facts>,
    /// Salted hash of the target's path when it is a mount point of its own.
    pub(crate) mount_point: Option<String>,
    pub(crate) sessions: Vec<Session>,
    /// Sessions that an earlier process of this run measured: not candidates again.
    pub(crate) inherited: usize,
    pub(crate) notes: Vec<String>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) enum End {
    /// With a verdict.
    Judged(Judgement),
    /// With a verdict that a second session may change; the caller comes back for it.
    Unconfirmed(Judgement),
    /// It cannot run here.
    Skipped(String),
    /// It must not run: what was found and what to do.
    Refused(String),
    /// The measurement ended early.
    Stopped(MeasureError),
}

/// What is accepted for a test, and of which disk.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) accepted: Option<Accepted>,
    pub(crate) identity: Option<Identity>,
    /// Bytes per leg that sessions of this test share: the accepted ones, else those of its pending sessions, so that
    /// several runs make one baseline.
    pub(crate) leg_bytes: Option<Vec<Bytes>>,
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |d| d.as_secs_f64())
}

impl<'a> Story<'a> {
    pub(crate) fn begin(test: &'a Test, purpose: Purpose<'a>) -> Self {
        Self {
            test,
            purpose,
            started: now(),
            facts: None,
            mount_point: None,
            sessions: Vec::new(),
            inherited: 0,
            notes: Vec::new(),
        }
    }

    /// The quick look without configuration.
    pub(crate) fn is_trial(&self) -> bool {
        matches!(self.purpose, Purpose::Trial(_))
    }

    /// One look at the evidence so far.
    pub(crate) fn judge(&self, context: &Context, known: &Known) -> Look {
        let (Some(facts), Some(newest)) = (&self.facts, self.sessions.last()) else {
            return Look::Done(bare(
                Verdict::Inconclusive,
                "nothing was measured".to_owned(),
            ));
        };
        judge(&Evidence {
            test: self.test,
            sessions: &self.sessions,
            disk: &facts.identity,
            settings: &newest.settings,
            workload: &newest.workload,
            baseline: known.accepted.as_ref().zip(known.identity.as_ref()),
            by_model: context.config().matching == crate::config::Match::Model,
            max_sessions: if self.is_trial() { 1 } else { MAX_SESSIONS },
        })
    }

    /// The record, with `failed` still to be decided.
    pub(crate) fn record(self, context: &Context, end: End) -> Record {
        let (judgement, refused, unconfirmed, signal) = conclude(end, self.notes);
        Record {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: crate::store::revision(&context.places.root),
            suite: self.test.suite.clone(),
            test: self.test.name.clone(),
            text: self.test.text.clone(),
            window: [self.started, now()],
            attempt: context.attempt,
            trial: matches!(self.purpose, Purpose::Trial(_)),
            facts: self.facts,
            sessions: self.sessions,
            judgement,
            advisory: self.test.advisory,
            refused,
            unconfirmed,
            signal,
            failed: false,
        }
    }
}

/// Judgement, whether it was a refusal, whether a second session may change it, the signal that ended it.
fn conclude(end: End, notes: Vec<String>) -> (Judgement, bool, bool, Option<i32>) {
    let (mut judgement, refused, unconfirmed, signal) = match end {
        End::Judged(judgement) => (judgement, false, false, None),
        End::Unconfirmed(judgement) => (judgement, false, true, None),
        End::Skipped(reason) => (bare(Verdict::Skipped, reason), false, false, None),
        End::Refused(reason) => (bare(Verdict::Skipped, reason), true, false, None),
        End::Stopped(error) => stopped(error),
    };
    judgement.notes.extend(notes);
    (judgement, refused, unconfirmed, signal)
}

/// What an early end means. An error is never a pass and never 0 MB/s.
fn stopped(error: MeasureError) -> (Judgement, bool, bool, Option<i32>) {
    let text = error.to_string();
    match error {
        MeasureError::Interrupted(signal) => {
            (bare(Verdict::Interrupted, text), false, false, Some(signal))
        }
        MeasureError::Disturbed(_) => {
            let judgement = Judgement {
                reason: Some(Reason::Disturbed),
                ..bare(Verdict::Inconclusive, text)
            };
            (judgement, false, false, None)
        }
        MeasureError::NotTheDisk(_) | MeasureError::Io { .. } | MeasureError::Short { .. } => {
            (bare(Verdict::Invalid, text), false, false, None)
        }
        MeasureError::Setup { .. } => (bare(Verdict::Skipped, text), true, false, None),
        MeasureError::Unavailable(_) => (bare(Verdict::Skipped, text), false, false, None),
    }
}

/// A judgement without metrics.
pub(crate) fn bare(verdict: Verdict, detail: String) -> Judgement {
    Judgement {
        verdict,
        reason: None,
        detail,
        metrics: Vec::new(),
        moved: None,
        suspects: Vec::new(),
        notes: Vec::new(),
    }
}
