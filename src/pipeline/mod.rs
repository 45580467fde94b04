//! The line, one call per arrow: look, plan, measure, estimate, judge, keep. The only loop, that of the verdict
//! asking for another session, stands in [`line()`].

mod context;
mod keep;
mod promote;
mod story;
#[cfg(target_os = "linux")]
mod turn;

pub(crate) use context::{Confirm, Context, Vars, Workspace, places, vars};
#[cfg(feature = "cli")]
pub(crate) use promote::Outcome;
pub(crate) use promote::{Promote, promote};

#[cfg(feature = "cli")]
use crate::facts::Identity;
use crate::record::Record;
use crate::suite::Test;
#[cfg(target_os = "linux")]
use crate::verdict::Look;
#[cfg(feature = "cli")]
pub(crate) use story::now;
use story::{End, Story};

/// One line for a person on stderr. Where nobody reads it any more, that is no reason to stop: `eprintln!` would panic.
pub(crate) fn say(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// The record of a test and the file it lies in, unless that could not be written.
pub(crate) type Told = (Record, Option<std::path::PathBuf>);

/// Whether this is the gate or the quick look without configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose<'a> {
    /// On the configured disk, against its baseline.
    Gate,
    /// In this directory, against the last trial there.
    #[cfg_attr(
        not(feature = "cli"),
        expect(dead_code, reason = "only the command makes a trial")
    )]
    Trial(&'a std::path::Path),
}

/// Picks disks by who they are.
#[cfg(feature = "cli")]
pub(crate) type IsDisk = Box<dyn Fn(&Identity) -> bool>;

/// Whether an identity is that of the disk a directory lies on.
///
/// # Errors
/// Why the directory tells of no disk.
#[cfg(all(feature = "cli", target_os = "linux"))]
pub(crate) fn is_disk_of(context: &Context, dir: &std::path::Path) -> Result<IsDisk, String> {
    turn::is_disk_of(context, dir)
}

/// Disks are known on Linux only.
#[cfg(all(feature = "cli", not(target_os = "linux")))]
pub(crate) fn is_disk_of(_: &Context, _: &std::path::Path) -> Result<IsDisk, String> {
    Err("--disk names a disk on Linux only; use --disk-name".to_owned())
}

/// Measures and judges one test and keeps what is worth keeping. Never panics on what a user or a disk does: every
/// ending is a record.
pub(crate) fn run_test(context: &Context, test: &Test, purpose: Purpose<'_>) -> Told {
    let mut story = Story::begin(test, purpose);
    let end = line(context, &mut story).unwrap_or_else(|end| end);
    keep::keep(context, story, end)
}

/// Keeps the record of a test that was selected and cannot run here: whoever reads the records finds the reason, not
/// a gap.
pub(crate) fn skipped(context: &Context, test: &Test, reason: &str) -> Told {
    let story = Story::begin(test, Purpose::Gate);
    keep::keep(context, story, End::Skipped(reason.to_owned()))
}

/// Measuring needs Linux; elsewhere every test is listed as ignored, and one asked for all the same ends so.
#[cfg(not(target_os = "linux"))]
fn line(_: &Context, _: &mut Story<'_>) -> Result<End, End> {
    Err(End::Skipped("measuring needs Linux".to_owned()))
}

/// From the target to the judgement.
#[cfg(target_os = "linux")]
fn line(context: &Context, story: &mut Story<'_>) -> Result<End, End> {
    let looked = turn::look(context, story)?;
    let known = keep::known(context, story, &looked)?;
    let plan = turn::plan(context, story, &looked, &known)?;
    let turn = turn::take(context, &looked, &plan)?;
    if !story.sessions.is_empty() {
        story.so_far = Some(Box::new(story.judge(context, &known).into_judgement()));
        turn.wait_for_gap(context, story)?;
    }
    loop {
        let session = turn.measure(context, story, &plan)?;
        story.sessions.push(session);
        match story.judge(context, &known) {
            Look::Done(judgement) => return Ok(End::Judged(Box::new(judgement))),
            Look::AnotherSession(so_far) if context.confirm == Confirm::Later => {
                return Ok(End::Unconfirmed(Box::new(so_far)));
            }
            Look::AnotherSession(so_far) => {
                story.so_far = Some(Box::new(so_far));
                turn.wait_for_gap(context, story)?;
            }
        }
    }
}
