//! The quick look without configuration: one test in a scratch folder of cargo's target directory.

use super::args::{MessageFormat, Run};
use super::exit::Exit;
use super::out::Out;
use super::run::{answer, keep_report};
use crate::pipeline::{self, Context, Purpose};
use crate::record::{Record, SummaryLine, VerdictLine};
use crate::report;
use crate::store;
use crate::suite::{self, Test};
use crate::verdict::Verdict;

/// The suite and test of a trial.
const SUITE: &str = "sequential";
const TEST: &str = "direct";

pub(crate) fn run(context: &Context, ask: &Run, out: &mut Out) -> Exit {
    let Some(test) = test() else {
        return out.errors(&[format!("the embedded suite {SUITE} has no test {TEST}")]);
    };
    let dir = context.places.work_dir.join("scratch");
    if let Err(error) = std::fs::create_dir_all(&dir) {
        return out.errors(&[format!("failed to make {}: {error}", dir.display())]);
    }
    out.note("no disk is configured: this is a trial in cargo's target directory");
    let (record, _) = pipeline::run_test(context, &test, Purpose::Trial(&dir));
    // Fails while something else lies there, as it should.
    let _ = std::fs::remove_dir(&dir);
    if record.refused || record.judgement.verdict == Verdict::Interrupted {
        return answer(context, ask, vec![record], Exit::Fine, out);
    }
    tell(context, ask, &record, out)
}

fn test() -> Option<Test> {
    let (name, text) = suite::embedded().iter().find(|(name, _)| *name == SUITE)?;
    let suite = suite::parse(name, "embedded", text).ok()?;
    suite.tests.into_iter().find(|t| t.name == TEST)
}

fn tell(context: &Context, ask: &Run, record: &Record, out: &Out) -> Exit {
    let last = record
        .facts
        .as_ref()
        .and_then(|f| store::last_trial(&context.places, &f.identity).ok()?);
    let exit = if record.judgement.verdict == Verdict::Invalid {
        Exit::Undecided
    } else {
        Exit::Fine
    };
    let exit = keep_report(
        &context.places.report_file(),
        std::slice::from_ref(record),
        exit,
        out,
    );
    if ask.message_format == MessageFormat::Json {
        out.object(&VerdictLine::from(record));
        out.object(&SummaryLine::of(std::slice::from_ref(record), exit.code()));
    }
    let now = record.window[1] as u64;
    out.human(|w, style| report::trial(w, record, last.as_ref(), now, style));
    if record.judgement.verdict != Verdict::Invalid
        && let Err(error) = store::store_trial(&context.places, record)
    {
        out.note(&format!(
            "failed to {error}; the next trial has nothing to compare with"
        ));
    }
    exit
}
