//! The judgement: estimates and a baseline in, a verdict or the wish for another session out. Pure.
//!
//! Owns the words a run can end with and the rules that lead to them: what can be compared (`comparable`), one metric
//! against its gate (`compare`), all of them together (`judge`), and the sentence about it (`words`).

mod comparable;
mod compare;
mod judge;
mod trial;
mod words;

use serde::{Deserialize, Serialize};

use crate::baseline::Accepted;
use crate::facts::{Identity, Settings};
use crate::plan::WorkloadKey;
use crate::sample::Session;
use crate::suite::{Metric, Test};

pub use judge::judge;
pub use trial::{TrialChange, compare_trials};

/// What a test ends with. The words are fixed; pipelines depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// Not worse than the baseline by the tolerance, and above the floors.
    Pass,
    /// Worse, with error control, or below a floor.
    Regressed,
    /// Neither could be said.
    Inconclusive,
    /// The numbers are not the disk's.
    Invalid,
    /// Nothing to compare with.
    NoBaseline,
    /// Baseline of another disk, workload, engine or schema.
    NotComparable,
    /// A signal or the runner's timeout.
    Interrupted,
    /// Cannot run here.
    Skipped,
}

/// Why, where the verdict alone does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub enum Reason {
    /// Below `min` or above `max`.
    Floor,
    /// Time ran out.
    Budget,
    /// Worse, not confirmed by a second session.
    Suspect,
    /// Neighbours, steal, pressure.
    Disturbed,
    /// The rate changed within the session.
    Regime,
    /// The first leg of a round shapes the second.
    CarryOver,
    /// No witness can vouch for the bytes.
    Unproven,
    /// The spread is too large for the tolerance.
    Noise,
    /// The baseline has fewer than three sessions.
    Provisional,
}

/// One metric of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    /// Its name.
    pub metric: Metric,
    /// `1`, `B/s`, `1/s`, `ns`, `ns/B`.
    pub unit: String,
    /// Point estimate.
    pub value: f64,
    /// Lower 95 % limit within the run.
    pub lower: f64,
    /// Upper 95 % limit within the run.
    pub upper: f64,
    /// Accepted value.
    pub baseline: Option<f64>,
    /// (value − baseline) / baseline.
    pub change: Option<f64>,
    /// Lower 95 % limit of the change, between-session spread included.
    pub change_lower: Option<f64>,
    /// Upper 95 % limit of the change.
    pub change_upper: Option<f64>,
    /// Tolerance used, a share of one.
    pub tolerance: Option<f64>,
    /// Smallest loss this run could have told, a share of one.
    pub resolvable: Option<f64>,
    /// `min` or `max` of the gate, whichever was set (and violated, if one was).
    pub floor: Option<f64>,
    /// `floor` is the gate's `max`.
    #[serde(default)]
    pub ceiling: bool,
    /// Its own verdict; `None` when it is only reported.
    pub verdict: Option<Verdict>,
    /// Judged but never failing.
    pub advisory: bool,
    /// Better than the baseline by more than the tolerance.
    pub improved: bool,
}

/// Which leg moved, by the legs' intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moved {
    /// `read fell`
    ReadFell,
    /// `write rose, read unchanged`
    WriteRose,
    /// `read fell and write rose`
    Both,
    /// `cannot tell`
    CannotTell,
}

/// A setting that differs from the baseline's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Suspect {
    /// Its name.
    pub name: String,
    /// The baseline's value.
    pub baseline: String,
    /// Today's value.
    pub now: String,
}

/// Verdict of one test with what led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, as one of the fixed words.
    pub reason: Option<Reason>,
    /// The metric it rests on; `None` when no figure has a say in it.
    pub metric: Option<Metric>,
    /// A sentence for a person, beside the figures: what they mean, what to do next.
    pub detail: String,
    /// Gated metrics first, ratio before read before write.
    pub metrics: Vec<MetricResult>,
    /// For pairs that regressed or are suspect.
    pub moved: Option<Moved>,
    /// Changed settings.
    pub suspects: Vec<Suspect>,
    /// `improved`, `slower as a whole`, `provisional`, …
    pub notes: Vec<String>,
}

/// The answer of one look at the evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    /// Decided.
    Done(Judgement),
    /// Another session would decide; what would be said without one.
    AnotherSession(Judgement),
}

/// Everything a judgement rests on.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The test and its gates.
    pub test: &'a Test,
    /// Sessions of this run, oldest first; at least one.
    pub sessions: &'a [Session],
    /// Who the disk is.
    pub disk: &'a Identity,
    /// Settings of this run.
    pub settings: &'a Settings,
    /// Workload of this run.
    pub workload: &'a WorkloadKey,
    /// The accepted past, and the identity it belongs to.
    pub baseline: Option<(&'a Accepted, &'a Identity)>,
    /// Whether a disk of the same model will do.
    pub by_model: bool,
    /// Most sessions a run may take.
    pub max_sessions: u32,
}

impl Verdict {
    /// Every verdict, in the order of interest to who reads a summary.
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Regressed,
        Self::Inconclusive,
        Self::Invalid,
        Self::NoBaseline,
        Self::NotComparable,
        Self::Interrupted,
        Self::Skipped,
    ];

    /// The fixed word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Regressed => "regressed",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
            Self::NoBaseline => "no-baseline",
            Self::NotComparable => "not-comparable",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
        }
    }

    /// Whether something was compared with something and an answer found.
    #[must_use]
    pub fn is_decided(self) -> bool {
        matches!(self, Self::Pass | Self::Regressed)
    }

    /// How bad it is: the larger hides the smaller.
    fn weight(self) -> u8 {
        match self {
            Self::Interrupted => 7,
            Self::Regressed => 6,
            Self::Invalid => 5,
            Self::NotComparable => 4,
            Self::NoBaseline => 3,
            Self::Inconclusive => 2,
            Self::Pass => 1,
            Self::Skipped => 0,
        }
    }
}

impl MetricResult {
    /// The share by which it may get worse, signed the way it gets worse.
    #[must_use]
    pub fn limit(&self) -> Option<f64> {
        let sign = if self.metric.kind.higher_is_better() {
            -1.0
        } else {
            1.0
        };
        self.tolerance.map(|tolerance| sign * tolerance)
    }
}

impl Judgement {
    /// The figures it rests on.
    #[must_use]
    pub fn decisive(&self) -> Option<&MetricResult> {
        let metric = self.metric.as_ref()?;
        self.metrics.iter().find(|m| m.metric == *metric)
    }
}

impl Reason {
    /// The fixed word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Budget => "budget",
            Self::Suspect => "suspect",
            Self::Disturbed => "disturbed",
            Self::Regime => "regime",
            Self::CarryOver => "carry-over",
            Self::Unproven => "unproven",
            Self::Noise => "noise",
            Self::Provisional => "provisional",
        }
    }
}

impl Moved {
    /// The words of the message.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadFell => "read fell",
            Self::WriteRose => "write rose, read unchanged",
            Self::Both => "read fell and write rose",
            Self::CannotTell => "cannot tell",
        }
    }
}

impl Look {
    /// The judgement, final or not.
    #[must_use]
    pub fn judgement(&self) -> &Judgement {
        match self {
            Self::Done(judgement) | Self::AnotherSession(judgement) => judgement,
        }
    }

    /// The judgement, final or not.
    #[must_use]
    pub fn into_judgement(self) -> Judgement {
        match self {
            Self::Done(judgement) | Self::AnotherSession(judgement) => judgement,
        }
    }
}

/// The worst of several verdicts; `None` of none.
#[must_use]
pub fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    verdicts.into_iter().max_by_key(|v| v.weight())
}

#[cfg(test)]
mod tests;
