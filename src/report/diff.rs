//! What an accept changes: the old beside the new, and how far both are from where it began.

use std::io::{self, Write};

use super::columns::{Cell, Columns};
use super::numbers::age;
use super::style::{Style, Tone, escape};
use crate::baseline::accept::Shown;
use crate::baseline::{Accepted, BLOCKING_SESSIONS, Summary};
use crate::stats::past::LEAST_TOLERANCE;
use crate::suite::Metric;
use crate::units::figures::{percent, value, value_between};

/// Draws one test's accepted numbers (if any) beside the new ones: value with lowest and highest session, change,
/// drift since the first accepted sessions, sessions, age and revision. `shown` is what the accept made of each
/// metric, `now` seconds since 1970.
///
/// # Errors
/// The writer's.
pub fn diff(
    out: &mut dyn Write,
    name: &str,
    old: Option<&Accepted>,
    new: &Accepted,
    shown: &[Shown],
    now: u64,
    style: Style,
) -> io::Result<()> {
    let mut columns = Columns::default();
    columns.line(style.paint(Tone::Strong, &escape(name)).into_owned());
    let heads = [
        "  metric",
        "accepted",
        "new",
        "change",
        "drift",
        "tolerance",
    ];
    let heads = heads.map(|text| Cell::left(text).tone(Tone::Faint));
    columns.head(heads.to_vec());
    for metric in shown {
        columns.row(metric_row(metric, old));
    }
    let gone = old.into_iter().flat_map(|old| &old.summary);
    for (metric, summary) in gone.filter(|(metric, _)| !new.summary.contains_key(metric)) {
        columns.row(vec![
            Cell::left(format!("  {}", escape(&metric.to_string()))),
            Cell::left(spread(metric, summary)),
            Cell::left("no longer gated"),
        ]);
    }
    for (label, of) in FACTS {
        let old = old.map_or_else(|| "none".to_owned(), |old| of(old, now));
        let new = of(new, now);
        columns.row(vec![
            Cell::left(format!("  {label}")),
            Cell::left(old),
            Cell::left(new),
        ]);
    }
    columns.draw(out, style)?;
    if let Some(reason) = &new.reason {
        writeln!(out, "  reason: {}", escape(reason))?;
    }
    let first = age(new.anchor.accepted, now);
    writeln!(out, "  drift is since the first accepted, {first}")
}

/// One line below the metrics: its label and how it is told of either side.
type Fact = (&'static str, fn(&Accepted, u64) -> String);

/// Lines below the metrics.
const FACTS: [Fact; 3] = [
    ("sessions", |a, _| match a.sessions.len() {
        n if n < BLOCKING_SESSIONS => format!("{n}, provisional"),
        n => n.to_string(),
    }),
    ("accepted", |a, now| age(a.accepted, now)),
    ("revision", |a, _| match &a.revision {
        Some(revision) => escape(&revision.chars().take(12).collect::<String>()).into_owned(),
        None => "unknown".to_owned(),
    }),
];

fn metric_row(shown: &Shown, old: Option<&Accepted>) -> Vec<Cell> {
    let metric = &shown.metric;
    let change = Cell::right(shown.change.map(percent).unwrap_or_default());
    let before = match &shown.old {
        Some(old) => spread(metric, old),
        None if old.is_some_and(|o| o.summary.contains_key(metric)) => "other work".to_owned(),
        None => "none".to_owned(),
    };
    vec![
        Cell::left(format!("  {}", escape(&metric.to_string()))),
        Cell::left(before),
        Cell::left(spread(metric, &shown.new)),
        if shown.is_loss {
            change.tone(Tone::Bad)
        } else {
            change
        },
        Cell::right(shown.drift.map(percent).unwrap_or_default()),
        Cell::right(tolerance(shown)),
    ]
}

/// The tolerance in force, and beside one that was written what this disk can resolve, where that is more.
fn tolerance(shown: &Shown) -> String {
    let unsigned = |share| percent(share).trim_start_matches('+').to_owned();
    let auto = shown.new.tolerance;
    match shown.tolerance {
        None => String::new(),
        Some(written) if written < auto && auto > LEAST_TOLERANCE => {
            format!("{}, resolves {}", unsigned(written), unsigned(auto))
        }
        Some(share) => unsigned(share),
    }
}

/// Value with lowest and highest session; one session has no spread to show.
fn spread(metric: &Metric, s: &Summary) -> String {
    let unit = metric.kind.unit();
    if s.lowest == s.highest {
        value(unit, s.value)
    } else {
        value_between(unit, s.value, s.lowest, s.highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{accepted, drawn, plain};
    use crate::suite::MetricKind;

    /// What an accept makes of the ratio, the drift and whether it is a loss decided by hand.
    fn shown(old: Option<&Accepted>, new: &Accepted, drift: f64, is_loss: bool) -> Vec<Shown> {
        let metric = Metric::from(MetricKind::Ratio);
        let old = old.map(|o| o.summary[&metric]);
        let new = new.summary[&metric];
        vec![Shown {
            change: old.map(|o| new.value / o.value - 1.0),
            metric,
            old,
            new,
            drift: Some(drift),
            tolerance: Some(new.tolerance),
            is_loss,
        }]
    }

    #[test]
    fn old_and_new_stand_side_by_side_with_drift_since_the_first() {
        let old = accepted(&[1.70, 1.71, 1.72], 1.80, 1_000_000);
        let mut new = accepted(&[1.50, 1.52], 1.80, 1_900_000);
        new.reason = Some("new\nfirmware".into());
        new.revision = None;
        let shown = shown(Some(&old), &new, -0.161, true);
        let text = drawn(|out| {
            let name = "sequential::direct";
            diff(out, name, Some(&old), &new, &shown, 2_000_000, plain(80))
        });
        insta::assert_snapshot!(text, @r#"
        sequential::direct
          metric    accepted             new                  change   drift    tolerance
          ratio     1.710 (1.700–1.720)  1.510 (1.500–1.520)  −11.7 %  −16.1 %      6.0 %
          sessions  3                    2, provisional
          accepted  11 days ago          27 h ago
          revision  0123456789ab         unknown
          reason: new\nfirmware
          drift is since the first accepted, 23 days ago
        "#);
    }

    #[test]
    fn the_first_accept_has_nothing_beside_it() {
        let new = accepted(&[1.5], 1.5, 100);
        let shown = shown(None, &new, 0.0, false);
        let text = drawn(|out| diff(out, "a::b", None, &new, &shown, 130, plain(80)));
        insta::assert_snapshot!(text, @r#"
        a::b
          metric    accepted  new             drift  tolerance
          ratio     none      1.500           0.0 %      6.0 %
          sessions  none      1, provisional
          accepted  none      just now
          revision  none      0123456789ab
          drift is since the first accepted, 1 min ago
        "#);
    }

    #[test]
    fn a_written_tolerance_that_the_disk_cannot_resolve_is_shown_with_what_it_can() {
        let new = accepted(&[1.5], 1.5, 100);
        let mut shown = shown(None, &new, 0.0, false).remove(0);
        shown.tolerance = Some(0.02);
        assert_eq!(tolerance(&shown), "2.0 %, resolves 6.0 %");
        shown.new.tolerance = LEAST_TOLERANCE;
        assert_eq!(
            tolerance(&shown),
            "2.0 %",
            "the least tolerance says nothing of the disk"
        );
        shown.tolerance = None;
        assert_eq!(tolerance(&shown), "");
    }

    #[test]
    fn a_loss_beyond_the_tolerance_is_red_and_a_gain_is_not() {
        let color = Style {
            color: true,
            width: 80,
        };
        let (low, high) = (accepted(&[1.0], 1.0, 1), accepted(&[2.0], 1.0, 1));
        let drawn = |old: &Accepted, new: &Accepted, is_loss| {
            let shown = shown(Some(old), new, 0.0, is_loss);
            drawn(|out| diff(out, "a::b", Some(old), new, &shown, 2, color))
        };
        let (loss, gain) = (drawn(&high, &low, true), drawn(&low, &high, false));
        assert!(loss.contains("\u{1b}[1;31m−50.0 %"), "{loss}");
        assert!(!gain.contains("\u{1b}[1;31m"), "{gain}");
    }
}
