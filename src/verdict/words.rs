//! The sentence about a judgement: one line, figures with their intervals, the limit, and what to do next.

use super::compare::{Advice, Compared};
use super::{Evidence, MetricResult, Reason, Verdict};
use crate::units::figures::{percent, percent_between, value, value_between};

/// `ratio 0.410 (0.400–0.420)`.
pub(super) fn measured(r: &MetricResult) -> String {
    let value = value_between(&r.unit, r.value, r.lower, r.upper);
    format!("{} {value}", r.metric)
}

/// `ratio changed by −21.2 % (−24.0…−18.1 %), limit −6.0 %`; what was measured where nothing was accepted.
fn changed(r: &MetricResult) -> String {
    let (Some(change), Some(lower), Some(upper)) = (r.change, r.change_lower, r.change_upper)
    else {
        return measured(r);
    };
    let interval = percent_between(lower, upper);
    let limit = r.limit().map(|limit| format!(", limit {}", percent(limit)));
    format!(
        "{} changed by {} ({interval}){}",
        r.metric,
        percent(change),
        limit.unwrap_or_default()
    )
}

/// What the decisive metric's figures mean and what to do; which leg moved is told beside it.
pub(super) fn detail(e: &Evidence<'_>, verdict: Verdict, decider: &Compared) -> String {
    let r = &decider.result;
    match (verdict, decider.reason) {
        (Verdict::Regressed, Some(Reason::Floor)) => {
            let bound = r.floor.map(|f| value(&r.unit, f)).unwrap_or_default();
            let side = if r.ceiling {
                "above the ceiling"
            } else {
                "below the floor"
            };
            format!("{}: {side} of {bound}", measured(r))
        }
        (Verdict::NoBaseline, _) => format!(
            "no baseline for {} ({}); run it three times, then `cargo iogate accept`",
            e.disk.name, e.disk.model
        ),
        (Verdict::NotComparable, _) => {
            format!(
                "the accepted sessions yield no {}; accept a new baseline",
                r.metric
            )
        }
        (Verdict::Inconclusive, Some(reason)) => {
            format!("{}; {}", changed(r), undecided(e, decider, reason))
        }
        _ => changed(r),
    }
}

fn undecided(e: &Evidence<'_>, decider: &Compared, reason: Reason) -> String {
    let shift = decider.unsteady.map(percent).unwrap_or_default();
    match reason {
        Reason::Suspect if e.sessions.len() < 2 => {
            "worse, to be confirmed by a second session".into()
        }
        Reason::Suspect => format!(
            "worse than the limit, but not beyond doubt: {}",
            told(decider)
        ),
        Reason::Regime => format!(
            "it changed by {shift} from the first rounds to the last: no one value describes it"
        ),
        Reason::CarryOver => format!(
            "it differs by {shift} between rounds that read first and rounds that write first"
        ),
        Reason::Budget => {
            "too few requests above the percentile to judge by it; lengthen the legs".into()
        }
        Reason::Provisional => format!("the baseline is provisional: {}", told(decider)),
        _ => told(decider),
    }
}

/// `this run could tell a loss of 9.3 %; more sessions would help most`.
fn told(decider: &Compared) -> String {
    let loss = decider.result.resolvable.map_or_else(
        || "no loss".into(),
        |r| format!("a loss of {:.1} %", r * 100.0),
    );
    let help = match decider.advice {
        Some(Advice::MoreSessions) => "; more accepted sessions would help most",
        Some(Advice::MoreRounds) => "; more or longer rounds would help most",
        None => "",
    };
    format!("this run could tell {loss}{help}")
}
