//! Old against new, and when a loss needs a reason.

use super::{AcceptOptions, Refusal, Shown};
use crate::baseline::{Accepted, Summary, anchor_stats, change_of_means};
use crate::stats;
use crate::suite::{Metric, Test, Tolerance};
use crate::units::figures::percent;

/// Old against new of every gated metric.
pub(super) fn show(old: Option<&Accepted>, new: &Accepted, test: &Test) -> Vec<Shown> {
    let old = old.filter(|o| o.workload == new.workload && o.leg_bytes == new.leg_bytes);
    let stats = anchor_stats(&new.sessions, new.summary.keys());
    let drift = |metric: &Metric| {
        change_of_means(metric, new.anchor.sessions.get(metric)?, stats.get(metric)?)
    };
    let one = |(metric, summary): (&Metric, &Summary)| {
        let before = old.and_then(|o| o.summary.get(metric)).copied();
        let change = before.map(|b| summary.value / b.value - 1.0);
        let limit = before.and_then(|b| Limit::of(metric, &b, test));
        Shown {
            metric: metric.clone(),
            old: before,
            new: *summary,
            change,
            drift: drift(metric),
            tolerance: Limit::of(metric, summary, test).map(|l| l.tolerance),
            is_loss: limit.zip(change).is_some_and(|(l, c)| l.is_loss(c)),
        }
    };
    new.summary.iter().map(one).collect()
}

/// A metric may be accepted worse only with a reason. The frozen anchor is tested too, so that ten steps, each within
/// the tolerance, do not pass one by one; once a reason was given for leaving it, only new losses ask again.
pub(super) fn refuse_worse(
    old: Option<&Accepted>,
    shown: &[Shown],
    test: &Test,
    options: &AcceptOptions,
) -> Result<(), Refusal> {
    if options.reason().is_some() || options.preview {
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
    test.gates.get(&shown.metric).filter(|g| !g.advisory)?;
    let limit = Limit::of(&shown.metric, &shown.old?, test)?;
    let change = shown.change?;
    if shown.is_loss {
        return Some(limit.named(&shown.metric, change, "against the accepted one"));
    }
    let drift = shown.drift.filter(|d| limit.is_loss(*d))?;
    let was_lost = limit.is_loss((1.0 + drift) / (1.0 + change) - 1.0);
    let frozen = old.is_some_and(|o| o.anchor.is_frozen());
    (frozen && !was_lost)
        .then(|| limit.named(&shown.metric, drift, "since the first accepted ones"))
}

/// How much worse a metric may be accepted without a word: the tolerance written, or the one accepted with it.
#[derive(Clone, Copy)]
struct Limit {
    tolerance: f64,
    higher_is_better: bool,
}

impl Limit {
    fn of(metric: &Metric, before: &Summary, test: &Test) -> Option<Self> {
        let tolerance = match test.gates.get(metric)?.tolerance {
            Tolerance::Given(share) => share.0,
            Tolerance::Auto => before.tolerance,
            Tolerance::Unset => return None,
        };
        Some(Self {
            tolerance,
            higher_is_better: metric.kind.higher_is_better(),
        })
    }

    fn is_loss(self, change: f64) -> bool {
        let theta = stats::theta(self.tolerance, self.higher_is_better);
        if self.higher_is_better {
            change.ln_1p() < -theta
        } else {
            change.ln_1p() > theta
        }
    }

    fn named(self, metric: &Metric, change: f64, since: &str) -> String {
        let limit = self.tolerance * 100.0;
        format!("{metric} {} {since}, limit {limit:.1} %", percent(change))
    }
}
