//! One test's outcome: the line that starts with `Error: `, and the block below it.

use std::io::{self, Write};
use std::path::Path;

use super::columns::Columns;
use super::numbers::with_interval;
use super::style::{Style, Tone, escape};
use super::table::{bound_word, header, remarks, rows, word};
use crate::record::Record;
use crate::suite::is_name;
use crate::units::figures::{percent, value};
use crate::verdict::{MetricResult, Reason, Verdict};

/// Tells one test's outcome: for a failure the line `Error: …`, which runners copy into their reports, then metrics,
/// detail, the disk, changed settings, both ways to update, the record's place.
///
/// # Errors
/// The writer's.
pub fn one_test(
    out: &mut dyn Write,
    record: &Record,
    path: Option<&Path>,
    style: Style,
) -> io::Result<()> {
    let line = tell(record);
    if record.failed {
        // Never painted: runners look for a line that starts so, escapes and all.
        writeln!(out, "Error: {line}")?;
    } else {
        let tone = Tone::of(record.judgement.verdict);
        writeln!(out, "{}", style.paint(tone, &line))?;
    }
    let mut columns = Columns::default();
    if !record.judgement.metrics.is_empty() {
        columns.head(header(style));
        rows(&mut columns, record, style);
    }
    for line in remarks(record, true, style.width.saturating_sub(2)) {
        columns.line(format!("  {line}"));
    }
    columns.draw(out, style)?;
    if let Some(facts) = &record.facts {
        let disk = &facts.identity;
        let hash: String = disk.hash.chars().take(12).collect();
        let (name, by, hash) = (escape(&disk.name), escape(&disk.by), escape(&hash));
        let target = facts.target.to_string_lossy();
        writeln!(out, "  disk: {name} ({by} {hash}) at {}", escape(&target))?;
    }
    ways_to_update(out, record)?;
    if let Some(path) = path {
        writeln!(out, "  record: {}", escape(&path.to_string_lossy()))?;
    }
    Ok(())
}

/// The outcome in one line:
/// `regressed: sequential::direct ratio 0.544 (0.520–0.570) against baseline 1.710, limit 1.607 (−6.0 %); read fell`.
#[must_use]
pub fn tell(record: &Record) -> String {
    let judgement = &record.judgement;
    let word = word(record);
    let name = format!("{}::{}", record.suite, record.test);
    let name = escape(&name);
    let Some(m) = judgement.decisive() else {
        return if judgement.detail.is_empty() {
            format!("{word}: {name}")
        } else {
            format!("{word}: {name}: {}", escape(&judgement.detail))
        };
    };
    let mut line = format!("{word}: {name} {}", escape(&m.metric.to_string()));
    line.push_str(&format!(" {}", with_interval(m)));
    match m.baseline {
        Some(baseline) => {
            line.push_str(&format!(" against baseline {}", value(&m.unit, baseline)));
        }
        None if judgement.verdict == Verdict::NoBaseline => {
            line.push_str(&format!(", no baseline for {}", disk_name(record)));
        }
        None => {}
    }
    if let Some(limit) = limit(m, judgement.reason) {
        line.push_str(&format!(", limit {limit}"));
    }
    if let Some(moved) = judgement.moved {
        line.push_str(&format!("; {}", moved.word()));
    }
    line
}

/// The limit as a value, and where it comes from.
fn limit(m: &MetricResult, reason: Option<Reason>) -> Option<String> {
    let floor = m
        .floor
        .map(|floor| format!("{} ({})", value(&m.unit, floor), bound_word(m)));
    if reason == Some(Reason::Floor) && floor.is_some() {
        return floor;
    }
    let share = m.limit().zip(m.baseline).map(|(share, baseline)| {
        format!(
            "{} ({})",
            value(&m.unit, baseline * (1.0 + share)),
            percent(share)
        )
    });
    share.or(floor)
}

/// The disk's name, or that none was found.
fn disk_name(record: &Record) -> String {
    match &record.facts {
        Some(facts) => escape(&facts.identity.name).into_owned(),
        None => "an unknown disk".to_owned(),
    }
}

/// The command and the variable, where the numbers may become a baseline at all.
fn ways_to_update(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let verdict = record.judgement.verdict;
    let acceptable = matches!(
        verdict,
        Verdict::Regressed | Verdict::NoBaseline | Verdict::NotComparable | Verdict::Inconclusive
    );
    if !acceptable || record.sessions.is_empty() {
        return Ok(());
    }
    let name = shell_word(&format!("{}::{}", record.suite, record.test));
    let reason = if verdict == Verdict::Regressed {
        " --reason '…'"
    } else {
        ""
    };
    writeln!(out, "  to accept: cargo iogate accept {name}{reason}")?;
    writeln!(
        out,
        "  or: IOGATE_UPDATE=always cargo test --test gate -- --exact {name}"
    )
}

/// A name as one word of a shell, printable in any case.
fn shell_word(name: &str) -> String {
    if is_name(name) {
        return name.to_owned();
    }
    format!("'{}'", escape(name).replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{
        drawn, inconclusive, invalid, no_baseline, pass, plain, regressed,
    };

    fn block(record: &Record) -> String {
        let path = Path::new("target/iogate/records/17/sequential--direct.json");
        drawn(|out| one_test(out, record, Some(path), plain(80)))
    }

    #[test]
    fn a_regression_names_value_baseline_limit_suspects_and_both_ways_to_update() {
        insta::assert_snapshot!(block(&regressed()), @r#"
        Error: regressed: sequential::direct ratio 0.545 (0.524–0.567) against baseline 1.710, limit 1.607 (−6.0 %); read fell
          metric           value (95 %)  baseline   change   limit  verdict
          ratio     0.545 (0.524–0.567)     1.710  −68.1 %  −6.0 %  regressed
          read    66.0 MB/s (63.4–68.6)  205 MB/s  −67.8 %  −6.0 %  regressed
          write      121 MB/s (116–126)  120 MB/s   +0.8 %  −6.0 %  pass
          read and ratio are below the limit in both sessions
          changed: read_ahead_kb 128 → 0
          changed: scheduler mq-deadline → (none)
          disk: acme-1GiB-ext4 (serial 0123456789ab) at /mnt/disk
          to accept: cargo iogate accept sequential::direct --reason '…'
          or: IOGATE_UPDATE=always cargo test --test gate -- --exact sequential::direct
          record: target/iogate/records/17/sequential--direct.json
        "#);
    }

    #[test]
    fn a_floor_is_told_as_the_limit() {
        let mut record = regressed();
        record.judgement.reason = Some(Reason::Floor);
        record.judgement.metrics[0].floor = Some(0.6);
        insta::assert_snapshot!(tell(&record), @r#"regressed: sequential::direct ratio 0.545 (0.524–0.567) against baseline 1.710, limit 0.600 (min); read fell"#);
        record.judgement.metrics[0].baseline = None;
        record.judgement.moved = None;
        insta::assert_snapshot!(tell(&record), @r#"regressed: sequential::direct ratio 0.545 (0.524–0.567), limit 0.600 (min)"#);
    }

    #[test]
    fn a_pass_is_told_without_error_and_without_ways_to_update() {
        insta::assert_snapshot!(block(&pass()), @r#"
        pass: sequential::direct ratio 1.702 (1.634–1.771) against baseline 1.710, limit 1.607 (−6.0 %)
          metric         value (95 %)  baseline  change   limit  verdict
          ratio   1.702 (1.634–1.771)     1.710  −0.4 %  −6.0 %  pass
          read     206 MB/s (198–214)  205 MB/s  +0.5 %  −6.0 %  pass, improved
          write    121 MB/s (116–126)  120 MB/s  +0.8 %  −6.0 %  pass
          disk: acme-1GiB-ext4 (serial 0123456789ab) at /mnt/disk
          record: target/iogate/records/17/sequential--direct.json
        "#);
    }

    #[test]
    fn an_inconclusive_test_is_a_loud_note() {
        insta::assert_snapshot!(block(&inconclusive()), @r#"
        inconclusive: sequential::buffered ratio 1.639 (1.574–1.705) against baseline 1.710, limit 1.607 (−6.0 %)
          metric         value (95 %)  baseline  change   limit  verdict
          ratio   1.639 (1.574–1.705)     1.710  −4.1 %  −6.0 %  inconclusive
          read     200 MB/s (192–208)  205 MB/s  −2.4 %  −6.0 %  pass
          write    122 MB/s (117–127)  120 MB/s  +1.7 %  −6.0 %  pass
          ratio could have been told from the baseline at 8.2 %, not at 6.0 %; a second
          session or a larger budget would help
          disk: acme-1GiB-ext4 (serial 0123456789ab) at /mnt/disk
          to accept: cargo iogate accept sequential::buffered
          or: IOGATE_UPDATE=always cargo test --test gate -- --exact sequential::buffered
          record: target/iogate/records/17/sequential--direct.json
        "#);
    }

    #[test]
    fn invalid_numbers_are_told_with_their_reason_and_cannot_be_accepted() {
        insta::assert_snapshot!(block(&invalid()), @r#"
        Error: invalid: sequential::direct: 41 % of the bytes read came from memory; the disk was asked for 59 %
          disk: acme-1GiB-ext4 (serial 0123456789ab) at /mnt/disk
          record: target/iogate/records/17/sequential--direct.json
        "#);
    }

    #[test]
    fn a_refusal_is_called_one() {
        let mut record = invalid();
        record.judgement.verdict = Verdict::Skipped;
        record.refused = true;
        assert!(block(&record).starts_with("Error: refused: sequential::direct: "));
    }

    #[test]
    fn without_a_baseline_in_ci_the_disk_and_the_command_are_named() {
        insta::assert_snapshot!(block(&no_baseline()), @r#"
        Error: no-baseline: sequential::readers::workers-5 ratio 1.702 (1.634–1.771), no baseline for acme-1GiB-ext4, limit 0.500 (min)
          metric         value (95 %)      limit  verdict
          ratio   1.702 (1.634–1.771)  min 0.500  no-baseline
          read     206 MB/s (198–214)
          write    121 MB/s (116–126)
          nothing is accepted for this test on this disk
          disk: acme-1GiB-ext4 (serial 0123456789ab) at /mnt/disk
          to accept: cargo iogate accept sequential::readers::workers-5
          or: IOGATE_UPDATE=always cargo test --test gate -- --exact sequential::readers::workers-5
          record: target/iogate/records/17/sequential--direct.json
        "#);
    }

    #[test]
    fn a_lower_is_better_metric_has_its_limit_above_the_baseline() {
        let mut record = regressed();
        let m = &mut record.judgement.metrics[0];
        m.metric = "read_p99".parse().unwrap();
        record.judgement.metric = Some(m.metric.clone());
        m.unit = "ns".into();
        (m.value, m.lower, m.upper, m.baseline) = (2e5, 1.9e5, 2.1e5, Some(1e5));
        m.tolerance = Some(0.2);
        insta::assert_snapshot!(tell(&record), @r#"regressed: sequential::direct read_p99 200 µs (190–210) against baseline 100 µs, limit 120 µs (+20.0 %); read fell"#);
    }

    #[test]
    fn the_first_line_stays_one_line_whatever_stands_in_the_files() {
        let mut record = invalid();
        record.judgement.detail = "a\nError: pass".into();
        record.test = "x'; rm -rf /\u{1b}[1A".into();
        let text = block(&record);
        assert!(text.starts_with("Error: invalid: "), "{text}");
        assert!(
            text.lines().next().unwrap().ends_with("a\\nError: pass"),
            "{text}"
        );
        assert!(
            !text.lines().skip(1).any(|l| l.starts_with("Error: ")) && !text.contains('\u{1b}')
        );
        assert_eq!(shell_word("a'b"), r"'a'\''b'");
    }
}
