//! The sentence about a judgement: one line, figures with their intervals, the limit, and what to do next.

use super::compare::{Advice, Compared};
use super::{Evidence, MetricResult, Moved, Reason, Verdict};
use crate::suite::MetricKind;
use crate::units::{Nanos, Rate};

/// A value of a metric as a person reads it.
pub(crate) fn figure(kind: MetricKind, value: f64) -> String {
    match kind {
        MetricKind::Ratio => match value {
            v if v >= 100.0 => format!("{v:.0}"),
            v if v >= 10.0 => format!("{v:.1}"),
            v if v >= 0.995 => format!("{v:.2}"),
            v => format!("{v:.3}"),
        },
        MetricKind::Rate(_) | MetricKind::WriteAccepted => Rate(value).to_string(),
        MetricKind::Iops(_) | MetricKind::Files => format!("{value:.0}/s"),
        MetricKind::Latency(..) | MetricKind::Flush => Nanos(value.round() as u64).to_string(),
        MetricKind::Cpu => format!("{value:.3} ns/B"),
    }
}

/// A share of one in percent with its sign: `-21.4 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", signed(share))
}

fn signed(share: f64) -> String {
    format!("{:+.1}", share * 100.0)
}

/// `ratio 0.410 (0.400–0.420) against 0.520 accepted: -21.2 % (-24.0 … -18.1), limit -6.0 %`.
pub(super) fn about(r: &MetricResult) -> String {
    let kind = r.metric.kind;
    let of = |v| figure(kind, v);
    let mut text = format!(
        "{} {} ({}–{})",
        r.metric,
        of(r.value),
        of(r.lower),
        of(r.upper)
    );
    if let (Some(baseline), Some(change)) = (r.baseline, r.change) {
        text += &format!(" against {} accepted: {}", of(baseline), percent(change));
    }
    if let (Some(lower), Some(upper)) = (r.change_lower, r.change_upper) {
        text += &format!(" ({} … {})", signed(lower), signed(upper));
    }
    if let (Some(tolerance), Some(_)) = (r.tolerance, r.baseline) {
        let limit = if kind.higher_is_better() {
            -tolerance
        } else {
            tolerance
        };
        text += &format!(", limit {}", percent(limit));
    }
    text
}

/// The detail of the metric that decided.
pub(super) fn detail(
    e: &Evidence<'_>,
    verdict: Verdict,
    decider: &Compared,
    moved: Option<Moved>,
) -> String {
    let r = &decider.result;
    let about = about(r);
    let moved = moved.map(|m| format!("; {}", m.word())).unwrap_or_default();
    match (verdict, decider.reason) {
        (Verdict::Regressed, Some(Reason::Floor)) => {
            let floor = r
                .floor
                .map(|f| figure(r.metric.kind, f))
                .unwrap_or_default();
            let side = if r.floor.is_some_and(|f| r.upper < f) {
                "below the floor"
            } else {
                "above the ceiling"
            };
            format!("{about}: {side} of {floor}")
        }
        (Verdict::Regressed, _) => format!("{about}{moved}"),
        (Verdict::NoBaseline, _) => {
            let disk = format!("{} ({})", e.disk.name, e.disk.model);
            format!(
                "no baseline for {disk}: {about}; run it three times, then `cargo iogate accept`"
            )
        }
        (Verdict::NotComparable, _) => {
            format!(
                "the accepted sessions yield no {}; accept a new baseline",
                r.metric
            )
        }
        (Verdict::Inconclusive, Some(reason)) => {
            format!("{about}; {}{moved}", undecided(e, decider, reason))
        }
        _ => about,
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
