//! From `pending/` to `baselines/`: what `accept` does and `diff` shows, one candidate after the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Context;
use super::story::now;
use crate::baseline::Candidate;
use crate::baseline::{self, AcceptOptions, Accepted, Promotion};
use crate::facts::Identity;
use crate::store::{self, BaselinesLock, Leftover, Pending};
use crate::suite::{self, Suite, Test};

/// What to promote, and how.
pub(crate) struct Promote<'a> {
    /// The person's decisions; time and revision are filled in here.
    pub(crate) options: AcceptOptions,
    /// Candidates brought from elsewhere.
    pub(crate) from: Option<&'a Path>,
    /// Which disks.
    pub(crate) disk: &'a dyn Fn(&Identity) -> bool,
    /// Write, or only show.
    pub(crate) write: bool,
    /// Which tests, by suite and name.
    pub(crate) only: &'a dyn Fn(&str, &str) -> bool,
}

/// What became of one candidate.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "cli"),
    expect(dead_code, reason = "only the command tells them")
)]
pub(crate) struct Outcome {
    /// `suite::test`.
    pub(crate) name: String,
    /// Test name without the suite.
    pub(crate) test: String,
    /// Folder of the disk.
    pub(crate) disk: String,
    /// What was accepted before.
    pub(crate) old: Option<Accepted>,
    /// What is (or would be) accepted, and the file; or why nothing is.
    pub(crate) result: Result<(Promotion, PathBuf), String>,
}

/// Promotes every selected candidate.
///
/// # Errors
/// A file that cannot be read or written. A candidate that is refused is an outcome, not an error.
pub(crate) fn promote(context: &Context, ask: &Promote<'_>) -> store::Result<Vec<Outcome>> {
    let pending = Pending::of(&context.places);
    let leftovers = match ask.from {
        Some(dir) => store::pending_from(dir)?,
        None => pending.read_all()?,
    };
    let mut suites = Suites {
        context,
        read: BTreeMap::new(),
    };
    let mut outcomes = Vec::new();
    // Taken before anything is read, so that of two accepts the second sees what the first did.
    let lock = if ask.write {
        Some(BaselinesLock::take(&context.places)?)
    } else {
        None
    };
    let wanted = |c: &Candidate| (ask.disk)(&c.disk) && (ask.only)(&c.suite, &c.test);
    let leftovers = leftovers.iter().filter(|l| wanted(&l.candidate));
    for Gathered { candidate, parts } in gather(context, leftovers) {
        let outcome = one(context, ask, lock.as_ref(), &candidate, &mut suites)?;
        if ask.write && outcome.result.is_ok() {
            parts.iter().try_for_each(|part| pending.clear(part))?;
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// The sessions that become one test's baseline, and the files they lie in.
struct Gathered<'a> {
    candidate: Candidate,
    parts: Vec<&'a Leftover>,
}

/// One candidate a file; with `match = "model"` those of one test on several disks of a model are one, since a runner
/// that gets a new disk each time leaves one session on each.
fn gather<'a>(
    context: &Context,
    leftovers: impl Iterator<Item = &'a Leftover>,
) -> Vec<Gathered<'a>> {
    let by_model = context.config().matching == crate::config::Match::Model;
    let mut all: Vec<Gathered<'a>> = Vec::new();
    for leftover in leftovers {
        let new = &leftover.candidate;
        let same = |g: &&mut Gathered<'_>| {
            let old = &g.candidate;
            by_model
                && (&old.suite, &old.test, &old.disk.model)
                    == (&new.suite, &new.test, &new.disk.model)
        };
        match all.iter_mut().find(same) {
            Some(gathered) => {
                gathered
                    .candidate
                    .sessions
                    .extend(new.sessions.iter().cloned());
                gathered
                    .candidate
                    .sessions
                    .sort_by_key(|s| s.session.started);
                if let Some(newest) = gathered.candidate.sessions.last() {
                    gathered.candidate.text.clone_from(&newest.text);
                }
                gathered.parts.push(leftover);
            }
            None => all.push(Gathered {
                candidate: new.clone(),
                parts: vec![leftover],
            }),
        }
    }
    all
}

fn one(
    context: &Context,
    ask: &Promote<'_>,
    lock: Option<&BaselinesLock>,
    candidate: &Candidate,
    suites: &mut Suites<'_>,
) -> store::Result<Outcome> {
    let by_model = context.config().matching == crate::config::Match::Model;
    let folder =
        store::folder_for_writing(&context.places.baselines_dir, &candidate.disk, by_model)?;
    let path = context
        .places
        .baselines_dir
        .join(&folder)
        .join(format!("{}.json", candidate.suite));
    let existing = match lock {
        Some(lock) => lock.read(&folder, &candidate.suite)?,
        None => path
            .is_file()
            .then(|| store::read_baseline(&path))
            .transpose()?,
    };
    let old = existing
        .as_ref()
        .and_then(|b| b.tests.get(&candidate.test))
        .cloned();
    let name = format!("{}::{}", candidate.suite, candidate.test);
    let mut outcome = Outcome {
        name,
        test: candidate.test.clone(),
        disk: folder.clone(),
        old,
        result: Err(String::new()),
    };
    let test = match suites.test(&candidate.suite, &candidate.test) {
        Ok(test) => test,
        Err(why) => {
            outcome.result = Err(why);
            return Ok(outcome);
        }
    };
    let options = AcceptOptions {
        now: now() as u64,
        revision: store::revision(&context.places.root),
        by_model,
        ..ask.options.clone()
    };
    outcome.result = match baseline::accept(existing.as_ref(), candidate, &test, &options) {
        Err(refusal) => Err(refusal.to_string()),
        Ok(promotion) => {
            let path = match lock {
                Some(lock) => lock.write(&folder, &promotion.baseline)?.0,
                None => path,
            };
            Ok((promotion, path))
        }
    };
    Ok(outcome)
}

/// Suite files as they stand now, each read once.
struct Suites<'a> {
    context: &'a Context,
    read: BTreeMap<String, Result<Suite, String>>,
}

impl Suites<'_> {
    fn test(&mut self, suite: &str, test: &str) -> Result<Test, String> {
        let context = self.context;
        let read = self
            .read
            .entry(suite.to_owned())
            .or_insert_with(|| load(context, suite));
        let found = read.as_ref().map_err(Clone::clone)?;
        let gone = || {
            format!(
                "{suite}::{test} is in no suite file any more; remove its pending file or restore the test"
            )
        };
        found
            .tests
            .iter()
            .find(|t| t.name == test)
            .cloned()
            .ok_or_else(gone)
    }
}

fn load(context: &Context, name: &str) -> Result<Suite, String> {
    let file = store::suite_text(&context.places, suite::embedded(), name)
        .map_err(|e| format!("failed to {e}"))?;
    let file = file.ok_or_else(|| format!("there is no suite {name} any more"))?;
    suite::parse(&file.name, &file.origin, &file.text).map_err(|errors| {
        errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })
}
