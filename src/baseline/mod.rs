//! The accepted past of one suite on one disk, and the candidates that may become it.
//!
//! Owns the form of the files (`form`, `shape`), what is refused on reading them (`parse`) and the rules by which
//! candidates become accepted (`accept`); reading, locking and renaming is `store`'s.

pub mod accept;
#[cfg(test)]
pub(crate) mod fixture;
mod form;
pub mod parse;
mod shape;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::Identity;
use crate::plan::WorkloadKey;
use crate::sample::Session;
use crate::stats::looks::KEPT_ROUNDS;
use crate::stats::{Past, SessionStat, Yield, metrics, past, yields};
use crate::suite::Metric;
use crate::units::Bytes;

pub use accept::{AcceptOptions, Promotion, Refusal, accept};
pub use parse::{BaselineError, Fault};

/// Version of the files this module writes. A file with a higher one is refused.
pub const SCHEMA: u32 = 1;

/// Sessions below which a baseline is provisional.
pub const BLOCKING_SESSIONS: usize = 3;

/// `baselines/<disk>/<suite>.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Suite name.
    pub suite: String,
    /// Whose numbers these are.
    pub disk: Identity,
    /// What is accepted, by test name without the suite.
    pub tests: BTreeMap<String, Accepted>,
}

/// What is accepted for one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Per gated metric: the figures a reviewer reads, derived from the sessions.
    pub summary: BTreeMap<Metric, Summary>,
    /// Seconds since 1970 of the last accept.
    pub accepted: u64,
    /// Source revision at the accept, where git tells.
    pub revision: Option<String>,
    /// Why a worse one was accepted.
    pub reason: Option<String>,
    /// Hash of the test's effective text.
    pub text: String,
    /// The workload every session shares.
    pub workload: WorkloadKey,
    /// Bytes per leg, fixed by this baseline.
    pub leg_bytes: Vec<Bytes>,
    /// Salted hash of the directory's path when it was a mount point of its own: a vanished mount is seen by it.
    pub mount_point: Option<String>,
    /// Most sessions a run could take when the `auto` tolerances were derived: they rest on it.
    pub max_sessions: u32,
    /// The first accepted sessions, frozen: drift is told against them.
    pub anchor: Anchor,
    /// Raw sessions; one line each in the file.
    pub sessions: Vec<Session>,
}

/// One metric of an accepted test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean over the sessions, in the metric's unit.
    pub value: f64,
    /// Lowest session mean.
    pub lowest: f64,
    /// Highest session mean.
    pub highest: f64,
    /// The `auto` tolerance these sessions support, a share of one.
    pub tolerance: f64,
}

/// The first accepted sessions of a test in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// Seconds since 1970.
    pub accepted: u64,
    /// Why it was set anew, if it was.
    pub reason: Option<String>,
    /// Per metric, one entry a session.
    pub sessions: BTreeMap<Metric, Vec<SessionStat>>,
}

impl Anchor {
    /// Frozen: it holds enough sessions to have been blocking.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.sessions.values().any(|s| s.len() >= BLOCKING_SESSIONS)
    }
}

/// `pending/<disk>/…`: the sessions one test left behind, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Suite name.
    pub suite: String,
    /// Test name without the suite.
    pub test: String,
    /// Whose numbers these are.
    pub disk: Identity,
    /// Hash of the test's effective text when the newest session ran.
    pub text: String,
    /// Whether the directory was a mount point of its own.
    pub mount_point: Option<String>,
    /// Sessions with the text hash each ran under.
    pub sessions: Vec<CandidateSession>,
}

/// One pending session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateSession {
    /// Hash of the test's effective text when it ran.
    pub text: String,
    /// Why it must not be accepted (invalid, interrupted, an attempt above 1); `None` when it may.
    pub barred: Option<String>,
    /// The raw session.
    pub session: Session,
}

/// Rounds a session must have kept to count.
pub const LEAST_ROUNDS: usize = 6;

/// The figures a reviewer reads, derived from the sessions: of `wanted`, those that every session yields with enough
/// samples to judge by.
#[must_use]
pub fn summarise<'a>(
    sessions: &[Session],
    wanted: impl IntoIterator<Item = &'a Metric>,
    max_sessions: u32,
) -> BTreeMap<Metric, Summary> {
    let measured: Vec<BTreeMap<Metric, Yield>> = sessions.iter().map(metrics).collect();
    let summary = |metric: &Metric| {
        let stats = gateable_stats(&measured, metric)?;
        let past = Past::new(&stats)?;
        let better = metric.kind.higher_is_better();
        let natural = |y: f64| if better { y.exp() } else { (-y).exp() };
        let each: Vec<f64> = stats.iter().map(|s| natural(s.mean)).collect();
        Some(Summary {
            value: natural(past.mean),
            lowest: each.iter().copied().fold(f64::INFINITY, f64::min),
            highest: each.iter().copied().fold(0.0, f64::max),
            tolerance: past.auto_tolerance(max_sessions, KEPT_ROUNDS, better),
        })
    };
    wanted
        .into_iter()
        .filter_map(|m| Some((m.clone(), summary(m)?)))
        .collect()
}

/// Sessions of one metric in brief, turned so that more is better; `None` unless every session can be judged by it.
fn gateable_stats(
    measured: &[BTreeMap<Metric, Yield>],
    metric: &Metric,
) -> Option<Vec<SessionStat>> {
    let all = measured
        .iter()
        .all(|m| m.get(metric).is_some_and(Yield::gateable));
    if all {
        yields::stats_of(measured, metric)
    } else {
        None
    }
}

/// What an anchor keeps of the sessions, for the metrics that can be judged by.
pub(crate) fn anchor_stats<'a>(
    sessions: &[Session],
    wanted: impl IntoIterator<Item = &'a Metric>,
) -> BTreeMap<Metric, Vec<SessionStat>> {
    let measured: Vec<BTreeMap<Metric, Yield>> = sessions.iter().map(metrics).collect();
    let of = |m: &Metric| Some((m.clone(), gateable_stats(&measured, m)?));
    wanted.into_iter().filter_map(of).collect()
}

/// A session as it is stored: without the 100 ms series, which no judgement rests on.
pub(crate) fn without_series(mut session: Session) -> Session {
    for leg in session.rounds.iter_mut().flat_map(|r| &mut r.legs) {
        leg.series.clear();
    }
    session
}

/// Change of the mean of `new` against `old` as a share of `old`, in the metric's own direction.
pub(crate) fn change_of_means(
    metric: &Metric,
    old: &[SessionStat],
    new: &[SessionStat],
) -> Option<f64> {
    let delta = past::mean_of_sessions(new)? - past::mean_of_sessions(old)?;
    Some(if metric.kind.higher_is_better() {
        delta.exp_m1()
    } else {
        (-delta).exp_m1()
    })
}

#[cfg(test)]
mod tests;
