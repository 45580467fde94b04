//! Old against new, and when a loss needs a reason.

use super::{AcceptOptions, Refusal, Shown};
use crate::baseline::{Accepted, anchor_stats, change_of_means};
use crate::stats;
use crate::suite::{Metric, Test, Tolerance};

/// Old against new of every gated metric.
pub(super) fn show(old: Option<&Accepted>, new: &Accepted) -> Vec<Shown> {
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
pub(super) fn refuse_worse(
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
