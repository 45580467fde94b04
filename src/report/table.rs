//! The verdicts of a run as a table: one heading a test, one row a metric, and the last line.

use std::io::{self, Write};

use super::columns::{Cell, Columns, wrap};
use super::numbers::with_interval;
use super::style::{Style, Tone, escape};
use crate::record::Record;
use crate::units::figures::{percent, percent_between, value};
use crate::verdict::{MetricResult, Reason, Verdict};

/// From this width on the change shows its interval and what the run could have told.
const WIDE: usize = 110;

/// Draws every record in the order given. A test's detail follows its rows unless it passed without a note.
///
/// # Errors
/// The writer's.
pub fn verdict_table(out: &mut dyn Write, records: &[Record], style: Style) -> io::Result<()> {
    let mut columns = Columns::default();
    if records.iter().any(|r| !r.judgement.metrics.is_empty()) {
        columns.head(header(style));
    }
    for record in records {
        columns.line(heading(record, style));
        rows(&mut columns, record, style);
        for line in remarks(record, false, style.width.saturating_sub(2)) {
            columns.line(format!("  {line}"));
        }
    }
    columns.draw(out, style)
}

/// `decided 4 of 5`: tests that ended in pass or regressed, of those selected.
///
/// # Errors
/// The writer's.
pub fn decided_line(out: &mut dyn Write, records: &[Record]) -> io::Result<()> {
    let is_decided = |r: &&Record| r.judgement.verdict.is_decided();
    let decided = records.iter().filter(is_decided).count();
    writeln!(out, "decided {decided} of {}", records.len())
}

/// Column names.
pub(super) fn header(style: Style) -> Vec<Cell> {
    let mut cells = vec![
        Cell::left("  metric"),
        Cell::right("value (95 %)"),
        Cell::right("baseline"),
        Cell::right("change"),
        Cell::right("limit"),
        Cell::left("verdict"),
    ];
    if style.width >= WIDE {
        cells.insert(5, Cell::right("resolves"));
    }
    cells
        .into_iter()
        .map(|cell| cell.tone(Tone::Faint))
        .collect()
}

/// Test and verdict: `sequential::direct  regressed (floor)`.
fn heading(record: &Record, style: Style) -> String {
    let name = format!("{}::{}", record.suite, record.test);
    let judgement = &record.judgement;
    let mut verdict = word(record).to_owned();
    if let Some(reason) = judgement.reason {
        verdict = format!("{verdict} ({})", reason.word());
    }
    if record.advisory {
        verdict.push_str(", advisory");
    }
    format!(
        "{}  {}",
        style.paint(Tone::Strong, &escape(&name)),
        style.paint(Tone::of(judgement.verdict), &verdict)
    )
}

/// The verdict's word; a target that was refused is called so, since nothing of it was skipped by wish.
pub(super) fn word(record: &Record) -> &'static str {
    if record.refused {
        "refused"
    } else {
        record.judgement.verdict.word()
    }
}

/// One row a metric.
pub(super) fn rows(columns: &mut Columns, record: &Record, style: Style) {
    for m in &record.judgement.metrics {
        columns.row(row(m, record.judgement.reason, style));
    }
}

fn row(m: &MetricResult, reason: Option<Reason>, style: Style) -> Vec<Cell> {
    let wide = style.width >= WIDE;
    let change = match (m.change, m.change_lower, m.change_upper) {
        (Some(change), Some(lower), Some(upper)) if wide => {
            format!("{} ({})", percent(change), percent_between(lower, upper))
        }
        (Some(change), ..) => percent(change),
        (None, ..) => String::new(),
    };
    let baseline = m.baseline.map(|b| value(&m.unit, b)).unwrap_or_default();
    let mut cells = vec![
        Cell::left(format!("  {}", escape(&m.metric.to_string()))),
        Cell::right(with_interval(m)),
        Cell::right(baseline),
        Cell::right(change),
        Cell::right(limit(m, reason)),
        verdict_cell(m),
    ];
    if wide {
        let resolves = m.resolvable.map(percent).unwrap_or_default();
        cells.insert(5, Cell::right(resolves.trim_start_matches('+')));
    }
    cells
}

/// The limit in force: the floor that was violated, else the tolerance, else the floor.
fn limit(m: &MetricResult, reason: Option<Reason>) -> String {
    let tolerance = m.limit().map(percent);
    let floor = m.floor.map(|floor| {
        let word = bound_word(m);
        format!("{word} {}", value(&m.unit, floor))
    });
    let violated = reason == Some(Reason::Floor) && m.verdict == Some(Verdict::Regressed);
    let (first, second) = if violated {
        (floor, tolerance)
    } else {
        (tolerance, floor)
    };
    first.or(second).unwrap_or_default()
}

/// The gate key a floor or ceiling was written under.
pub(super) fn bound_word(m: &MetricResult) -> &'static str {
    if m.ceiling { "max" } else { "min" }
}

fn verdict_cell(m: &MetricResult) -> Cell {
    let Some(verdict) = m.verdict else {
        return Cell::left("");
    };
    let mut text = verdict.word().to_owned();
    if m.improved {
        text.push_str(", improved");
    }
    if m.advisory {
        text.push_str(", advisory");
    }
    Cell::left(text).tone(Tone::of(verdict))
}

/// Detail, what moved, changed settings and notes, wrapped; less what the line of [`super::tell`] said before.
pub(super) fn remarks(record: &Record, told: bool, width: usize) -> Vec<String> {
    let judgement = &record.judgement;
    let told_all = told && judgement.decisive().is_none();
    let mut texts = Vec::new();
    if judgement.verdict != Verdict::Pass && !judgement.detail.is_empty() && !told_all {
        texts.push(escape(&judgement.detail).into_owned());
    }
    if let Some(moved) = judgement.moved.filter(|_| !told) {
        texts.push(moved.word().to_owned());
    }
    for suspect in &judgement.suspects {
        texts.push(format!(
            "changed: {} {} → {}",
            escape(&suspect.name),
            quoted(&suspect.baseline),
            quoted(&suspect.now)
        ));
    }
    for note in &judgement.notes {
        texts.push(format!("note: {}", escape(note)));
    }
    texts.iter().flat_map(|text| wrap(text, width)).collect()
}

/// A setting's value; an empty one is shown as such.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        "(none)".to_owned()
    } else {
        escape(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{
        drawn, inconclusive, invalid, no_baseline, pass, plain, regressed,
    };

    fn all() -> Vec<Record> {
        vec![
            pass(),
            regressed(),
            inconclusive(),
            invalid(),
            no_baseline(),
        ]
    }

    #[test]
    fn a_run_reads_at_eighty_columns() {
        let text = drawn(|out| verdict_table(out, &all(), plain(80)));
        insta::assert_snapshot!(text, @r#"
          metric           value (95 %)  baseline   change      limit  verdict
        sequential::direct  pass
          ratio     1.702 (1.634–1.771)     1.710   −0.4 %     −6.0 %  pass
          read       206 MB/s (198–214)  205 MB/s   +0.5 %     −6.0 %  pass, improved
          write      121 MB/s (116–126)  120 MB/s   +0.8 %     −6.0 %  pass
        sequential::direct  regressed
          ratio     0.545 (0.524–0.567)     1.710  −68.1 %     −6.0 %  regressed
          read    66.0 MB/s (63.4–68.6)  205 MB/s  −67.8 %     −6.0 %  regressed
          write      121 MB/s (116–126)  120 MB/s   +0.8 %     −6.0 %  pass
          read and ratio are below the limit in both sessions
          read fell
          changed: read_ahead_kb 128 → 0
          changed: scheduler mq-deadline → (none)
        sequential::buffered  inconclusive (budget)
          ratio     1.639 (1.574–1.705)     1.710   −4.1 %     −6.0 %  inconclusive
          read       200 MB/s (192–208)  205 MB/s   −2.4 %     −6.0 %  pass
          write      122 MB/s (117–127)  120 MB/s   +1.7 %     −6.0 %  pass
          ratio could have been told from the baseline at 8.2 %, not at 6.0 %; a second
          session or a larger budget would help
        sequential::direct  invalid
          41 % of the bytes read came from memory; the disk was asked for 59 %
        sequential::readers::workers-5  no-baseline
          ratio     1.702 (1.634–1.771)                     min 0.500  no-baseline
          read       206 MB/s (198–214)
          write      121 MB/s (116–126)
          nothing is accepted for this test on this disk
        "#);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn a_wide_terminal_shows_the_interval_of_the_change() {
        let text = drawn(|out| verdict_table(out, &[regressed()], plain(140)));
        insta::assert_snapshot!(text, @r#"
          metric           value (95 %)  baseline                   change   limit  resolves  verdict
        sequential::direct  regressed
          ratio     0.545 (0.524–0.567)     1.710  −68.1 % (−70.1…−66.1 %)  −6.0 %     4.5 %  regressed
          read    66.0 MB/s (63.4–68.6)  205 MB/s  −67.8 % (−69.8…−65.8 %)  −6.0 %     4.5 %  regressed
          write      121 MB/s (116–126)  120 MB/s     +0.8 % (−1.2…+2.8 %)  −6.0 %     4.5 %  pass
          read and ratio are below the limit in both sessions
          read fell
          changed: read_ahead_kb 128 → 0
          changed: scheduler mq-deadline → (none)
        "#);
        assert!(
            text.lines().all(|line| line.chars().count() <= 140),
            "{text}"
        );
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let colored = drawn(|out| {
            verdict_table(
                out,
                &all(),
                Style {
                    color: true,
                    width: 80,
                },
            )
        });
        let plain = drawn(|out| verdict_table(out, &all(), plain(80)));
        assert!(
            colored.contains("\u{1b}[1;31mregressed (suspect)")
                || colored.contains("\u{1b}[1;31mregressed")
        );
        assert!(!plain.contains('\u{1b}'));
        let stripped = regex::Regex::new("\u{1b}\\[[0-9;]*m")
            .unwrap()
            .replace_all(&colored, "")
            .into_owned();
        assert_eq!(stripped, plain);
    }

    #[test]
    fn the_last_line_counts_pass_and_regressed_alone() {
        assert_eq!(drawn(|out| decided_line(out, &all())), "decided 2 of 5\n");
        assert_eq!(drawn(|out| decided_line(out, &[])), "decided 0 of 0\n");
    }

    #[test]
    fn hostile_text_from_files_stays_text() {
        let mut record = regressed();
        record.suite = "s\u{1b}[2J".into();
        record.judgement.detail = "line\nforged: pass".into();
        record.judgement.suspects[0].now = "\u{1b}]0;title\u{7}".into();
        record.judgement.notes = vec!["a\rb".into()];
        let text = drawn(|out| verdict_table(out, &[record], plain(80)));
        assert!(!text.contains(['\u{1b}', '\r', '\u{7}']), "{text:?}");
        assert!(
            !text.lines().any(|line| line.starts_with("forged")),
            "{text}"
        );
    }
}
