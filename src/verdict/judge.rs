//! All metrics of a run together: the worst of them is the test's verdict.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::compare::{Compared, Run};
use super::{Evidence, Judgement, Look, Moved, Reason, Verdict, comparable, words, worst};
use crate::baseline::{BLOCKING_SESSIONS, LEAST_ROUNDS};
use crate::plan::does_no_io;
use crate::sample::{Fate, Session};
use crate::stats::yields::kept_rounds;
use crate::stats::{Change, metrics};
use crate::suite::{Direction, Metric, MetricKind, Proof, Tolerance};
use crate::units::figures::percent;

/// More void rounds than this share of a session say that it was disturbed.
const MOST_VOID: f64 = 0.25;

/// Judges the sessions so far: a verdict, or the wish for one more session with what would be said without it.
#[must_use]
pub fn judge(e: &Evidence<'_>) -> Look {
    let run = Run {
        sessions: e.sessions,
        measured: e.sessions.iter().map(metrics).collect(),
        accepted: e
            .baseline
            .map(|(a, _)| a.sessions.iter().map(metrics).collect()),
        summary: e.baseline.map(|(a, _)| &a.summary),
        gated_metrics: e.test.gated_metrics,
        max_sessions: e.max_sessions,
    };
    let null = |s: &Session| does_no_io(&s.workload);
    if e.sessions.iter().any(null) || does_no_io(e.workload) {
        let detail = "null engine does no I/O: timed, never judged".to_owned();
        return told(e, &run, Verdict::Skipped, None, detail);
    }
    if let Some(detail) = comparable::difference(e) {
        return told(e, &run, Verdict::NotComparable, None, detail);
    }
    let weak = too_little(e.sessions).or_else(|| unproven(e));
    if let Some((reason, detail)) = weak {
        let verdict = if lacks_baseline(e) {
            Verdict::NoBaseline
        } else {
            Verdict::Inconclusive
        };
        return told(e, &run, verdict, Some(reason), detail);
    }
    conclude(e, &compare_all(e, &run))
}

/// Every metric of the run, gated ones first, in the order reports show them.
fn compare_all(e: &Evidence<'_>, run: &Run<'_>) -> Vec<Compared> {
    let names: BTreeSet<&Metric> = run.measured.iter().flat_map(|m| m.keys()).collect();
    let mut all: Vec<Compared> = names
        .into_iter()
        .filter_map(|m| run.compare(m, e.test.gates.get(m)))
        .collect();
    all.sort_by_key(|c| Reverse(c.result.verdict.is_some())); // stable: the order of metrics stays
    all
}

/// A verdict that no metric's figures have a say in; the figures are shown all the same.
fn told(
    e: &Evidence<'_>,
    run: &Run<'_>,
    verdict: Verdict,
    reason: Option<Reason>,
    detail: String,
) -> Look {
    let names: BTreeSet<&Metric> = run.measured.iter().flat_map(|m| m.keys()).collect();
    let compared = names.into_iter().filter_map(|m| run.compare(m, None));
    Look::Done(Judgement {
        verdict,
        reason,
        metric: None,
        detail,
        metrics: compared.map(|c| c.result).collect(),
        moved: None,
        suspects: comparable::suspects(e),
        notes: notes_on_baseline(e),
    })
}

/// Too few rounds to judge by, or too many disturbed ones.
fn too_little(sessions: &[Session]) -> Option<(Reason, String)> {
    if sessions.is_empty() {
        return Some((Reason::Budget, "no session was measured".into()));
    }
    sessions.iter().find_map(|session| {
        let kept = kept_rounds(session).count();
        let void = session
            .rounds
            .iter()
            .filter(|r| matches!(r.fate, Fate::Void(_)))
            .count();
        if void as f64 > MOST_VOID * (kept + void) as f64 {
            let detail = format!(
                "{void} of {} rounds were disturbed; measure on a quiet machine",
                kept + void
            );
            return Some((Reason::Disturbed, detail));
        }
        (kept < LEAST_ROUNDS).then(|| {
            let detail =
                format!("{kept} rounds in the time given, {LEAST_ROUNDS} needed; raise `budget`");
            (Reason::Budget, detail)
        })
    })
}

/// Nothing vouches for the bytes, and the suite asks for a witness.
fn unproven(e: &Evidence<'_>) -> Option<(Reason, String)> {
    let required = e.test.workload.proof == Proof::Required;
    let detail = "no device counters are known below this directory, and the account of this process shows fewer bytes \
                  than were asked for; measure on a local disk, or write `proof = \"none\"` to compare all the same";
    (required && e.sessions.iter().any(Session::is_unproven))
        .then(|| (Reason::Unproven, detail.to_owned()))
}

/// Whether something is to be compared and there is nothing to compare it with.
fn lacks_baseline(e: &Evidence<'_>) -> bool {
    let gates = &e.test.gates;
    let compares = gates.is_empty() || gates.values().any(|g| g.tolerance != Tolerance::Unset);
    e.baseline.is_none() && compares
}

fn conclude(e: &Evidence<'_>, all: &[Compared]) -> Look {
    let counts = |c: &&Compared| c.result.verdict.is_some() && !c.result.advisory;
    let missing = missing(e, all);
    let fallback = if lacks_baseline(e) {
        Verdict::NoBaseline
    } else {
        Verdict::Pass
    };
    let verdict = worst(
        all.iter()
            .filter(counts)
            .filter_map(|c| c.result.verdict)
            .chain(missing.as_ref().map(|m| m.0)),
    )
    .unwrap_or(fallback);
    let decider = all
        .iter()
        .filter(counts)
        .filter(|c| c.result.verdict == Some(verdict))
        .min_by_key(|c| c.reason != Some(Reason::Suspect)); // the first of equals
    let (reason, detail) = match (decider, missing) {
        (Some(c), _) => (c.reason, words::detail(e, verdict, c)),
        (None, Some((_, reason, detail))) => (reason, detail),
        (None, None) => (None, nothing_gated(e, all, verdict)),
    };
    let another = verdict == Verdict::Inconclusive && all.iter().filter(counts).any(|c| c.another);
    let judgement = Judgement {
        verdict,
        reason,
        metric: decider.map(|c| c.result.metric.clone()),
        detail,
        metrics: all.iter().map(|c| c.result.clone()).collect(),
        moved: moved(all),
        suspects: comparable::suspects(e),
        notes: notes(e, all),
    };
    if another {
        Look::AnotherSession(judgement)
    } else {
        Look::Done(judgement)
    }
}

/// A gated metric that the run does not yield at all: percentiles of too few requests, a leg without bytes.
fn missing(e: &Evidence<'_>, all: &[Compared]) -> Option<(Verdict, Option<Reason>, String)> {
    let yielded = |m: &Metric| all.iter().any(|c| c.result.metric == *m);
    let names: Vec<String> = e
        .test
        .gates
        .iter()
        .filter(|(metric, gate)| !gate.advisory && !yielded(metric))
        .map(|(metric, _)| metric.to_string())
        .collect();
    let detail = format!(
        "this run yields no {}; lengthen the legs or ungate it",
        names.join(", ")
    );
    (!names.is_empty()).then_some((Verdict::Inconclusive, Some(Reason::Budget), detail))
}

fn nothing_gated(e: &Evidence<'_>, all: &[Compared], verdict: Verdict) -> String {
    let about = all.first().map_or_else(
        || "nothing was measured".into(),
        |c| words::measured(&c.result),
    );
    match verdict {
        Verdict::NoBaseline => format!(
            "no baseline for {} ({}): {about}",
            e.disk.name, e.disk.model
        ),
        _ => format!("{about}; no metric of this test is gated"),
    }
}

/// Which leg moved when ratio or read are worse: a leg did whose whole interval within the run lies beyond half the
/// tolerance from what is accepted.
///
/// Half, since a ratio worse by the whole needs a leg that moved by half of it; not nothing, since the interval of a
/// steady disk is narrower than what any two sessions of it differ by.
fn moved(all: &[Compared]) -> Option<Moved> {
    let find = |kind: MetricKind| all.iter().find(|c| c.result.metric == kind.into());
    let is_worse = |c: &Compared| {
        let suspect = c.reason == Some(Reason::Suspect);
        suspect || (c.result.verdict == Some(Verdict::Regressed) && c.reason != Some(Reason::Floor))
    };
    let read = find(MetricKind::Rate(Direction::Read))?;
    let write = find(MetricKind::Rate(Direction::Write))?;
    let asked = find(MetricKind::Ratio).is_some_and(is_worse) || is_worse(read);
    let half = |c: &Compared| c.result.tolerance.unwrap_or_default() / 2.0;
    let slack = find(MetricKind::Ratio).map_or_else(|| half(read), half);
    let fell = |c: &Compared| Some(c.result.upper < c.result.baseline? * (1.0 - slack));
    let rose = |c: &Compared| Some(c.result.lower > c.result.baseline? * (1.0 + slack));
    let (read_fell, read_rose, write_rose) = (fell(read)?, rose(read)?, rose(write)?);
    let moved = match (read_fell, read_rose, write_rose) {
        (true, _, true) => Moved::Both,
        (true, _, false) => Moved::ReadFell,
        (false, false, true) => Moved::WriteRose,
        _ => Moved::CannotTell,
    };
    asked.then_some(moved)
}

fn notes(e: &Evidence<'_>, all: &[Compared]) -> Vec<String> {
    let mut notes = notes_on_baseline(e);
    if slower_as_a_whole(all) {
        notes.push("slower as a whole".into());
    }
    for compared in all.iter().filter(|c| c.result.verdict.is_some()) {
        let metric = &compared.result.metric;
        if compared.result.improved {
            let change = compared.result.change.map(percent).unwrap_or_default();
            notes.push(format!("improved: {metric} {change}"));
        }
        if let Some(growth) = compared.noise_growth {
            notes.push(format!(
                "noisier: {metric} spreads {growth:.1} times as much as when it was accepted"
            ));
        }
        if let (Some(Verdict::NoBaseline), Some(reason), Some(shift)) =
            (compared.result.verdict, compared.reason, compared.unsteady)
        {
            notes.push(format!("{}: {metric} {}", reason.word(), percent(shift)));
        }
    }
    notes
}

/// What baseline and sessions say about what the numbers are of.
fn notes_on_baseline(e: &Evidence<'_>) -> Vec<String> {
    let sessions = e.baseline.map(|(accepted, _)| accepted.sessions.len());
    sessions
        .filter(|n| *n < BLOCKING_SESSIONS)
        .map(|n| format!("provisional: the baseline has {n} of {BLOCKING_SESSIONS} sessions, only a halved metric fails"))
        .into_iter()
        .chain(e.sessions.last().into_iter().flat_map(Session::told).cloned())
        .collect()
}

/// Lower than accepted, the spread between sessions included.
fn fell(change: &Change) -> bool {
    change.limits().1 < 0.0
}

/// Read and write both fell, one of them by more than it may, and the ratio did not notice.
fn slower_as_a_whole(all: &[Compared]) -> bool {
    let find = |kind: MetricKind| all.iter().find(|c| c.result.metric == kind.into());
    let legs = [Direction::Read, Direction::Write].map(|d| find(MetricKind::Rate(d)));
    let both_fell = legs
        .iter()
        .all(|c| c.and_then(|c| c.change).is_some_and(|c| fell(&c)));
    let worse = |c: &Compared| {
        c.result.verdict == Some(Verdict::Regressed) || c.reason == Some(Reason::Suspect)
    };
    let ratio_holds =
        find(MetricKind::Ratio).is_some_and(|c| !worse(c) && c.change.is_some_and(|c| !fell(&c)));
    both_fell && ratio_holds && legs.into_iter().flatten().any(worse)
}
