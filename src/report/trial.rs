//! The quick look without configuration: numbers, what the last look said, how to attach a disk.

use std::io::{self, Write};

use super::numbers::age;
use super::style::{Style, Tone, escape};
use super::verdict_table;
use crate::record::Record;
use crate::units::figures::{percent, percent_between, value};
use crate::verdict::{TrialChange, Verdict, compare_trials};

/// Draws a trial. `last` is the trial before on this disk, `now` seconds since 1970.
///
/// # Errors
/// The writer's.
pub fn trial(
    out: &mut dyn Write,
    record: &Record,
    last: Option<&Record>,
    now: u64,
    style: Style,
) -> io::Result<()> {
    verdict_table(out, std::slice::from_ref(record), style)?;
    let verdict = record.judgement.verdict;
    let word = verdict.word();
    let meaning = match verdict {
        Verdict::NoBaseline | Verdict::Pass => {
            "a trial compares with the last one only and never fails on a rate"
        }
        Verdict::Inconclusive => "the numbers stand, but nothing vouches for them",
        Verdict::Invalid => "these are not the disk's numbers",
        _ => "nothing can be said about this disk",
    };
    writeln!(out, "{}: {meaning}", style.paint(Tone::of(verdict), word))?;
    writeln!(out)?;
    if verdict != Verdict::Invalid {
        compare(out, record, last, now)?;
    }
    attach(out, record)
}

/// Every metric both trials have.
fn compare(
    out: &mut dyn Write,
    record: &Record,
    last: Option<&Record>,
    now: u64,
) -> io::Result<()> {
    let Some(last) = last else {
        return writeln!(
            out,
            "first trial on this disk; the next one is compared with it"
        );
    };
    // A clock before 1970 or a damaged window is no time at all.
    let then = if last.window[1] > 0.0 {
        last.window[1] as u64
    } else {
        0
    };
    writeln!(
        out,
        "against the last trial on this disk, {}:",
        age(then, now)
    )?;
    let sessions = last.sessions.last().zip(record.sessions.last());
    let changes = sessions.map(|(before, now)| compare_trials(before, now));
    let changes = changes.unwrap_or_default();
    for change in &changes {
        writeln!(out, "  {}", in_words(change))?;
    }
    if changes.is_empty() {
        writeln!(out, "  it did other work than this one")?;
    }
    Ok(())
}

/// `ratio 1.700 → 1.290, −24.1 % (−25.3…−22.8 %)`.
fn in_words(change: &TrialChange) -> String {
    let unit = change.metric.kind.unit();
    let (share, spread) = (change.change, change.change.lower..=change.change.upper);
    format!(
        "{} {} → {}, {} ({}){}",
        escape(&change.metric.to_string()),
        value(unit, change.before.value),
        value(unit, change.now.value),
        percent(share.value),
        percent_between(share.lower, share.upper),
        if spread.contains(&0.0) {
            ": no change that two sessions could tell"
        } else {
            ""
        }
    )
}

/// What to do for a gate instead of a look.
fn attach(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let here = match &record.facts {
        Some(facts) => {
            let target = facts.target.to_string_lossy();
            format!("{} ({})", escape(&target), escape(&facts.identity.name))
        }
        None => "a scratch folder of this checkout".to_owned(),
    };
    writeln!(
        out,
        "\nThis was one short session in {here}.\n\
         To gate a disk, name a directory on it:\n  \
         cargo iogate run --disk DIR\n\
         or write into .config/iogate.local.toml:\n  \
         disk = \"DIR\"\n\
         Three runs and `cargo iogate accept` make the baseline; from then on\n\
         `cargo test --test gate` holds the disk to it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{drawn, invalid, plain, trial_record};

    #[test]
    fn a_first_trial_shows_the_numbers_and_how_to_attach_a_disk() {
        let record = trial_record(1.71);
        let text = drawn(|out| trial(out, &record, None, 1_700_000_000, plain(80)));
        insta::assert_snapshot!(text, @r#"
          metric         value (95 %)
        sequential::direct  no-baseline
          ratio   1.710 (1.642–1.778)
          read     205 MB/s (197–213)
          write    120 MB/s (115–125)
        no-baseline: a trial compares with the last one only and never fails on a rate

        first trial on this disk; the next one is compared with it

        This was one short session in /mnt/disk (acme-1GiB-ext4).
        To gate a disk, name a directory on it:
          cargo iogate run --disk DIR
        or write into .config/iogate.local.toml:
          disk = "DIR"
        Three runs and `cargo iogate accept` make the baseline; from then on
        `cargo test --test gate` holds the disk to it.
        "#);
    }

    #[test]
    fn a_second_trial_compares_with_the_first() {
        let (last, record) = (trial_record(1.70), trial_record(1.29));
        let now = last.window[1] as u64 + 7300;
        let text = drawn(|out| trial(out, &record, Some(&last), now, plain(80)));
        assert!(
            text.contains("last trial on this disk, 2 h ago:\n  ratio 1.700 → 1.290, −24.1 % ("),
            "{text}"
        );
        let same = drawn(|out| trial(out, &last, Some(&last), now, plain(80)));
        assert!(
            same.contains("ratio 1.700 → 1.700, 0.0 % (")
                && same.contains("): no change that two sessions could tell"),
            "{same}"
        );
    }

    #[test]
    fn a_trial_of_other_work_is_not_compared() {
        let (last, mut record) = (trial_record(1.70), trial_record(1.29));
        record.sessions[0]
            .workload
            .insert("block".into(), "4 KiB".into());
        let text = drawn(|out| trial(out, &record, Some(&last), 1, plain(80)));
        assert!(text.contains("other work") && !text.contains("→"), "{text}");
    }

    #[test]
    fn an_invalid_trial_is_compared_with_nothing() {
        let text = drawn(|out| trial(out, &invalid(), Some(&trial_record(1.7)), 1, plain(80)));
        assert!(
            !text.contains("last trial") && text.contains("not the disk's numbers"),
            "{text}"
        );
    }
}
