//! Before and after a test: what is accepted for it, and what of it is worth keeping.

#[cfg(target_os = "linux")]
use super::story::unreadable;
use super::story::{End, Known, Story};
use super::{Confirm, Context, Promote, Told, promote};
use crate::baseline::{self, AcceptOptions, CandidateSession};
use crate::config::{Require, Update};
#[cfg(target_os = "linux")]
use crate::device::Looked;
use crate::facts::Identity;
use crate::record::Record;
use crate::store::{self, Found, Pending, Records, Wanted};
use crate::suite::{EngineKind, Test};
use crate::verdict::Verdict;

/// What is accepted for the test on this disk; with [`Confirm::Now`] also the first session of the earlier process.
#[cfg(target_os = "linux")]
pub(super) fn known(
    context: &Context,
    story: &mut Story<'_>,
    looked: &Looked,
) -> Result<Known, End> {
    let test = story.test;
    if context.confirm == Confirm::Now {
        let before = Records::of(&context.places, &context.run)
            .read(&test.suite, &test.name)
            .map_err(unreadable)?;
        story.sessions = before.map(|r| r.sessions).unwrap_or_default();
        story.inherited = story.sessions.len();
    }
    if story.is_trial() {
        return Ok(Known::default());
    }
    let identity = &looked.facts.identity;
    let hash = |salt: &str| looked.raw.hash(salt);
    let wanted = Wanted {
        name: &identity.name,
        model: &identity.model,
        by_model: context.config().matching == crate::config::Match::Model,
        who: store::Who::Attached(&hash),
    };
    let (accepted, identity) =
        match store::find_baseline(&context.places, &test.suite, &wanted).map_err(unreadable)? {
            Found::Baseline(mut stored) => (
                stored.baseline.tests.remove(&test.name),
                Some(stored.baseline.disk),
            ),
            // Judged as another disk's: the verdict names both.
            Found::OtherDisk { path, identity } => {
                let mut other = store::read_baseline(&path).map_err(unreadable)?;
                (other.tests.remove(&test.name), Some(identity))
            }
            Found::None => (None, None),
        };
    Ok(Known {
        accepted,
        identity,
        pending: waiting(context, test, &looked.facts.identity),
    })
}

/// Sessions of the test on this disk that wait to be accepted. Candidates that cannot be read stop no measurement;
/// adding to them says why they cannot.
#[cfg(target_os = "linux")]
fn waiting(context: &Context, test: &Test, disk: &Identity) -> Vec<CandidateSession> {
    let all = Pending::of(&context.places).read_all().unwrap_or_default();
    let ours = all
        .into_iter()
        .map(|left| left.candidate)
        .find(|c| c.suite == test.suite && c.test == test.name && c.disk.hash == disk.hash);
    ours.map_or_else(Vec::new, |candidate| candidate.sessions)
}

/// Writes the record and, where they may be accepted one day, the sessions; decides whether the test failed.
pub(super) fn keep(context: &Context, story: Story<'_>, end: End) -> Told {
    let test = story.test;
    let mount_point = story.mount_point.clone();
    let inherited = story.inherited;
    let mut record = story.record(context, end);
    record.failed = fails(context, &mut record);
    if may_become_accepted(context, &record) {
        let kept = candidates(context, test, &record, mount_point.as_ref(), inherited)
            .and_then(|()| update(context, test, &record));
        if let Err(error) = kept {
            record
                .judgement
                .notes
                .push(format!("not kept as a candidate: {error}"));
        }
    }
    let records = Records::of(&context.places, &context.run);
    match records.write(&record) {
        Ok(path) => (record, Some(path)),
        Err(error) => {
            record.judgement.notes.push(format!("failed to {error}"));
            (record, None)
        }
    }
}

/// The rule of the verdict table: what fails a test under the settings of this run.
fn fails(context: &Context, record: &mut Record) -> bool {
    let config = context.config();
    if record.refused {
        return true;
    }
    if record.advisory || record.unconfirmed {
        return false;
    }
    match record.judgement.verdict {
        Verdict::Regressed | Verdict::Invalid | Verdict::NotComparable => {
            !record.trial || record.judgement.verdict == Verdict::Invalid
        }
        Verdict::Interrupted => true,
        Verdict::Inconclusive if record.trial => false,
        Verdict::Inconclusive if config.strict => true,
        Verdict::Inconclusive => {
            let often = undecided_too_often(context, record);
            if often {
                let runs = config.max_undecided;
                let note = format!("fails: undecided in {runs} runs in a row (max-undecided)");
                record.judgement.notes.push(note);
            }
            often
        }
        Verdict::NoBaseline => {
            !record.trial && (context.ci || config.require == Some(Require::Baseline))
        }
        Verdict::Pass | Verdict::Skipped => false,
    }
}

/// This run and the ones right before it were all undecided, `max-undecided` of them.
fn undecided_too_often(context: &Context, record: &Record) -> bool {
    let limit = context.config().max_undecided as usize;
    let before = Records::history(&context.places, &record.suite, &record.test, limit);
    let disk = |r: &Record| r.facts.as_ref().map(|f| f.identity.hash.clone());
    let undecided =
        |r: &&Record| r.judgement.verdict == Verdict::Inconclusive && disk(r) == disk(record);
    // What a first session left for its second one to decide is part of this run.
    let runs = before.iter().filter(|r| !r.unconfirmed);
    runs.take_while(undecided).count() + 1 >= limit
}

/// Sessions of a trial, a retry, an interrupted or invalid test, or without I/O never become a baseline.
fn may_become_accepted(context: &Context, record: &Record) -> bool {
    let sound = !matches!(
        record.judgement.verdict,
        Verdict::Invalid | Verdict::Interrupted | Verdict::Skipped
    );
    sound && !record.trial && !record.sessions.is_empty() && context.config().update != Update::No
}

fn candidates(
    context: &Context,
    test: &Test,
    record: &Record,
    mount_point: Option<&String>,
    inherited: usize,
) -> store::Result<()> {
    let Some(facts) = &record.facts else {
        return Ok(());
    };
    if test.workload.engine == EngineKind::Null {
        return Ok(());
    }
    for session in record.sessions.iter().skip(inherited) {
        let candidate = CandidateSession {
            text: test.text.clone(),
            barred: barred(record),
            session: baseline::without_series(session.clone()),
        };
        let name = (test.suite.as_str(), test.name.as_str());
        Pending::of(&context.places).append(
            &facts.identity,
            name,
            mount_point.cloned(),
            candidate,
        )?;
    }
    Ok(())
}

fn barred(record: &Record) -> Option<String> {
    (record.attempt > 1).then(|| {
        format!(
            "attempt {} of the runner: a retry picks the luckier run",
            record.attempt
        )
    })
}

/// `IOGATE_UPDATE=new` and `always`: what `accept` would do, at once.
fn update(context: &Context, test: &Test, record: &Record) -> store::Result<()> {
    let ask = match context.config().update {
        Update::New if record.judgement.verdict == Verdict::NoBaseline => AcceptOptions::default(),
        Update::Always => AcceptOptions {
            append: true,
            ..AcceptOptions::default()
        },
        _ => return Ok(()),
    };
    if record.unconfirmed || record.attempt > 1 {
        return Ok(());
    }
    let only = |suite: &str, name: &str| suite == test.suite && name == test.name;
    let hash = record.facts.as_ref().map(|f| &f.identity.hash);
    let this_disk = |disk: &Identity| hash == Some(&disk.hash);
    for outcome in promote(
        context,
        &Promote {
            options: ask,
            from: None,
            disk: &this_disk,
            write: true,
            only: &only,
        },
    )? {
        match &outcome.result {
            Ok((_, path)) => super::say(format_args!("iogate: accepted into {}", path.display())),
            Err(refused) => super::say(format_args!("iogate: {refused}")),
        }
    }
    Ok(())
}
