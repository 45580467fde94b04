//! `cargo iogate run`: first sessions of all tests, then a second one for those in doubt, then the answer.

use std::cell::RefCell;
use std::path::Path;

use super::args::{Cli, MessageFormat, Run};
use super::exit::Exit;
use super::out::Out;
use super::{list, targets, trial, workspace};
use crate::config::Require;
use crate::harness::{Found, Standing};
use crate::pipeline::{self, Confirm, Context, Purpose};
use crate::record::{Record, Report, SummaryLine, VerdictLine};
use crate::report;
use crate::store::{self, Records};

pub(crate) fn run(cli: &Cli, ask: &Run, out: &mut Out) -> Exit {
    if ask.message_format == MessageFormat::Json {
        out.json();
    }
    let settings = absolute(ask.settings.pairs());
    let (context, metadata) = match workspace::context(cli, &settings, out) {
        Ok(found) => found,
        Err(errors) => return out.errors(&errors),
    };
    if let Err(error) = context.catch_signals() {
        return out.errors(&[format!("failed to catch SIGINT and SIGTERM: {error}")]);
    }
    let found = list::selected(&context, &ask.select);
    if found.is_empty() {
        out.note(&nothing_selected(&ask.select.filters));
        return answer(&context, ask, Vec::new(), Exit::NothingCompared, out);
    }
    if context.disk().is_none() {
        return without_disk(&context, ask, out);
    }
    let targets = match &metadata {
        Some(metadata) => {
            let found = targets::find(metadata, &context.config().targets, &ask.build.package);
            targets::build(cli, &ask.build, &found, out)
        }
        None => Ok(Vec::new()),
    };
    match targets {
        Ok(targets) => measured(&context, ask, &settings, &found, targets.first(), out),
        Err(errors) => out.errors(&errors),
    }
}

fn nothing_selected(filters: &[String]) -> String {
    let what = match filters {
        [] => "no test is selected".to_owned(),
        filters => format!("no test is selected by {}", filters.join(", ")),
    };
    what + "; `cargo iogate list` shows them all"
}

/// Paths of a command line start where it was typed, not where a test runs.
fn absolute(settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let path = |value: String| match std::path::absolute(&value) {
        Ok(path) if !value.is_empty() => path.to_string_lossy().into_owned(),
        _ => value,
    };
    let keys = ["disk", "destroy", "suites", "baselines"];
    let one = |(key, value): (String, String)| {
        if keys.contains(&key.as_str()) {
            (key, path(value))
        } else {
            (key, value)
        }
    };
    settings.into_iter().map(one).collect()
}

fn without_disk(context: &Context, ask: &Run, out: &mut Out) -> Exit {
    let required = matches!(
        context.config().require,
        Some(Require::Disk | Require::Baseline)
    );
    if context.ci || required {
        out.note("no disk is configured, so nothing can be compared; name one with --disk DIR, IOGATE_DISK or \
                  `disk = \"DIR\"` in .config/iogate.local.toml");
        return answer(context, ask, Vec::new(), Exit::NothingCompared, out);
    }
    trial::run(context, ask, out)
}

fn measured(
    context: &Context,
    ask: &Run,
    settings: &[(String, String)],
    found: &[Found],
    target: Option<&targets::Target>,
    out: &mut Out,
) -> Exit {
    let records = Records::of(&context.places, &context.run);
    let pass = Pass {
        context,
        settings,
        found,
        target,
        records: &records,
        unwritten: RefCell::default(),
    };
    let slow = ask.select.include_ignored || ask.select.ignored;
    let first: Vec<String> = found
        .iter()
        .filter(|f| runs(f, slow))
        .map(|f| f.name.clone())
        .collect();
    let mut errors = pass.run(&first, Confirm::Later, out);
    if context.interrupt.raised().is_none() {
        let unconfirmed = read(&records).into_iter().filter(|r| r.unconfirmed);
        let again: Vec<String> = unconfirmed
            .map(|r| format!("{}::{}", r.suite, r.test))
            .collect();
        errors.extend(pass.run(&again, Confirm::Now, out));
    }
    let mut exit = if errors.is_empty() {
        Exit::Fine
    } else {
        out.errors(&errors)
    };
    let mut all = read(&records);
    all.extend(pass.unwritten.take());
    let broken = |name: &str| {
        let broken = |f: &Found| matches!(f.standing, Standing::Broken(_));
        found.iter().any(|f| f.name == name && broken(f))
    };
    // A suite that cannot be read has said so above.
    for name in first.iter().filter(|n| !broken(n)).filter(|n| {
        !all.iter()
            .any(|r| format!("{}::{}", r.suite, r.test) == **n)
    }) {
        let interrupted = context.interrupt.raised().is_some();
        if !interrupted {
            exit = exit.worst(out.errors(&[format!(
                "{name} left no record; it ended without saying why"
            )]));
        }
    }
    all.extend(found.iter().filter_map(|f| match &f.standing {
        Standing::Ignored(test, reason) => Some(pipeline::skipped(context, test, reason).0),
        _ => None,
    }));
    let _ = records.set_last(&context.places);
    answer(context, ask, all, exit, out)
}

fn runs(found: &Found, slow: bool) -> bool {
    match found.standing {
        Standing::Runs(_) | Standing::Broken(_) => true,
        Standing::Slow(_) => slow,
        Standing::Ignored(..) => false,
    }
}

fn read(records: &Records) -> Vec<Record> {
    records
        .read_all()
        .unwrap_or_default()
        .into_iter()
        .map(|(_, record)| record)
        .collect()
}

/// One pass over some tests, in the harness's process or in this one.
struct Pass<'a> {
    context: &'a Context,
    settings: &'a [(String, String)],
    found: &'a [Found],
    target: Option<&'a targets::Target>,
    records: &'a Records,
    /// Records that could not be written; they have been told, and count all the same.
    unwritten: RefCell<Vec<Record>>,
}

impl Pass<'_> {
    /// Faults that are no test's.
    fn run(&self, names: &[String], confirm: Confirm, out: &Out) -> Vec<String> {
        let broken = self
            .found
            .iter()
            .filter(|f| names.contains(&f.name))
            .filter_map(|f| match &f.standing {
                Standing::Broken(reason) => Some(reason.clone()),
                _ => None,
            });
        let broken: Vec<String> = if confirm == Confirm::Later {
            broken.collect()
        } else {
            Vec::new()
        };
        if names.is_empty() {
            return broken;
        }
        match self.target {
            Some(target) => {
                let ended = target.run(
                    self.context,
                    self.settings,
                    names,
                    confirm,
                    self.records.dir(),
                );
                broken
                    .into_iter()
                    .chain(
                        ended
                            .err()
                            .map(|e| format!("failed to run the test target: {e}")),
                    )
                    .collect()
            }
            None => {
                self.here(names, confirm, out);
                broken
            }
        }
    }

    fn here(&self, names: &[String], confirm: Confirm, out: &Out) {
        let context = Context {
            confirm,
            ..self.context.clone()
        };
        for found in self.found.iter().filter(|f| names.contains(&f.name)) {
            let (Standing::Runs(test) | Standing::Slow(test)) = &found.standing else {
                continue;
            };
            if context.interrupt.raised().is_some() {
                return;
            }
            let (record, path) = pipeline::run_test(&context, test, Purpose::Gate);
            out.aside(|w, style| report::one_test(w, &record, path.as_deref(), style));
            if path.is_none() {
                self.unwritten.borrow_mut().push(record);
            }
        }
    }
}

/// Tells the whole: table or JSON, the report file, and last how many were decided.
pub(super) fn answer(
    context: &Context,
    ask: &Run,
    records: Vec<Record>,
    exit: Exit,
    out: &Out,
) -> Exit {
    let exit = records
        .iter()
        .fold(exit, |exit, record| exit.worst(Exit::of(record)));
    let exit = match context.interrupt.raised() {
        Some(signal) => exit.worst(Exit::Interrupted(signal)),
        None => exit,
    };
    let exit = keep_report(&context.places.report_file(), &records, exit, out);
    if ask.message_format == MessageFormat::Json {
        records
            .iter()
            .for_each(|r| out.object(&VerdictLine::from(r)));
        out.object(&SummaryLine::of(&records, exit.code()));
    }
    out.human(|w, style| {
        if !out.one_screen {
            report::verdict_table(w, &records, style)?;
        }
        report::decided_line(w, &records)
    });
    exit
}

/// Written and synced before the exit code is known to anyone.
pub(super) fn keep_report(path: &Path, records: &[Record], exit: Exit, out: &Out) -> Exit {
    let report = Report::of(records, exit.code());
    let text = serde_json::to_vec_pretty(&report).map_err(|e| e.to_string());
    let kept = text.and_then(|mut text| {
        text.push(b'\n');
        // No record was written before it when no test was selected.
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.map_err(|e| format!("make the folder of {}: {e}", path.display()))?;
        store::replace_file(path, &text).map_err(|e| e.to_string())
    });
    match kept {
        Ok(()) => exit,
        Err(error) => exit.worst(out.errors(&[format!("failed to {error}")])),
    }
}
