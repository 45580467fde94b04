//! `cargo iogate accept` and `diff`: pending sessions become the baseline, or are shown beside it.

use std::collections::BTreeMap;
use std::path::Path;

use super::args::{Accept, Cli, Diff, Select, Settings};
use super::exit::Exit;
use super::out::Out;
use super::workspace;
use crate::baseline::{AcceptOptions, Promotion};
use crate::harness::{Argv, Found, find};
use crate::pipeline::{self, Context, Outcome, Promote, promote};
use crate::report;

pub(crate) fn accept(cli: &Cli, ask: &Accept, out: &mut Out) -> Exit {
    let options = AcceptOptions {
        append: ask.append,
        provisional: ask.provisional,
        reason: ask.reason.clone(),
        new_anchor: ask.new_anchor,
        allow_regime: ask.allow_regime,
        ..AcceptOptions::default()
    };
    serve(
        cli,
        &Wish {
            select: &ask.select,
            settings: &ask.settings,
            from: ask.from.as_deref(),
            options,
            write: true,
        },
        out,
    )
}

pub(crate) fn diff(cli: &Cli, ask: &Diff, out: &mut Out) -> Exit {
    // Shown, never written: whatever would need consent is shown as well.
    let options = AcceptOptions {
        preview: true,
        ..AcceptOptions::default()
    };
    serve(
        cli,
        &Wish {
            select: &ask.select,
            settings: &ask.settings,
            from: ask.from.as_deref(),
            options,
            write: false,
        },
        out,
    )
}

struct Wish<'a> {
    select: &'a Select,
    settings: &'a Settings,
    from: Option<&'a Path>,
    options: AcceptOptions,
    write: bool,
}

fn serve(cli: &Cli, wish: &Wish<'_>, out: &mut Out) -> Exit {
    let context = match workspace::context(cli, &wish.settings.pairs(), out) {
        Ok((context, _)) => context,
        Err(errors) => return out.errors(&errors),
    };
    let argv = Argv::of(wish.select.filters.clone(), wish.select.exact);
    let only = |suite: &str, test: &str| {
        let name = format!("{suite}::{test}");
        argv.selects(&name) && !wish.select.skip.iter().any(|s| name.contains(s.as_str()))
    };
    let disk = match which_disk(&context, wish.settings) {
        Ok(disk) => disk,
        Err(error) => return out.errors(&[error]),
    };
    let ask = Promote {
        options: wish.options.clone(),
        from: wish.from,
        disk: &disk,
        write: wish.write,
        only: &only,
    };
    match promote(&context, &ask) {
        Err(error) => out.errors(&[format!("failed to {error}")]),
        Ok(outcomes) if outcomes.is_empty() => {
            out.note("nothing is pending; run the tests on the disk first, then accept");
            Exit::Fine
        }
        Ok(outcomes) => {
            let exit = outcomes.iter().fold(Exit::Fine, |exit, outcome| {
                exit.worst(show(outcome, wish.write, out))
            });
            if wish.write {
                sum_up(&context, &outcomes, out);
            }
            exit
        }
    }
}

/// `--disk DIR` means the disk the directory lies on, `--disk-name` the folder of that name; neither, every disk.
fn which_disk(context: &Context, settings: &Settings) -> Result<pipeline::IsDisk, String> {
    let asked = settings.pairs().into_iter().find(|(key, _)| key == "disk");
    if let Some((_, dir)) = asked {
        return pipeline::is_disk_of(context, Path::new(&dir));
    }
    let name = context.config().disk_name.clone();
    Ok(Box::new(move |disk| {
        name.as_ref().is_none_or(|n| *n == disk.name)
    }))
}

/// Says for each baseline file touched which tests are new in it, which stayed byte for byte, and which have none.
fn sum_up(context: &Context, outcomes: &[Outcome], out: &Out) {
    let everything = Argv::of(Vec::new(), false);
    let all = find(&context.places, Some(context.config()), &everything);
    // The last promotion of a file holds what the ones before put there.
    let mut files: BTreeMap<&Path, (&Outcome, &Promotion, Vec<&str>)> = BTreeMap::new();
    for outcome in outcomes {
        let Ok((promotion, path)) = &outcome.result else {
            continue;
        };
        let file = files
            .entry(path)
            .or_insert((outcome, promotion, Vec::new()));
        file.1 = promotion;
        file.2.push(&outcome.test);
    }
    for (outcome, promotion, replaced) in files.into_values() {
        let baseline = &promotion.baseline;
        let in_suite = |f: &Found| {
            let (suite, test) = f.name.split_once("::")?;
            (suite == baseline.suite).then(|| test.to_owned())
        };
        let kept = baseline
            .tests
            .keys()
            .filter(|t| !replaced.contains(&t.as_str()));
        let kept: Vec<&str> = kept.map(String::as_str).collect();
        let absent = all
            .iter()
            .filter_map(in_suite)
            .filter(|t| !baseline.tests.contains_key(t));
        let absent: Vec<String> = absent.collect();
        let absent: Vec<&str> = absent.iter().map(String::as_str).collect();
        out.human(|w, _| {
            let head = format!("{} on {}", baseline.suite, outcome.disk);
            writeln!(
                w,
                "{}: accepted {}",
                report::escape(&head),
                listed(&replaced)
            )?;
            writeln!(w, "  kept as they were: {}", listed(&kept))?;
            writeln!(w, "  without a baseline: {}", listed(&absent))
        });
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    report::escape(&names.join(", ")).into_owned()
}

fn show(outcome: &Outcome, written: bool, out: &Out) -> Exit {
    let now = pipeline::now() as u64;
    let (promotion, path) = match &outcome.result {
        Ok(result) => result,
        Err(refusal) => return out.errors(&[format!("{}: {refusal}", outcome.name)]),
    };
    let title = format!("{} on {}", outcome.name, outcome.disk);
    let new = promotion.baseline.tests.get(&outcome.test);
    if let Some(new) = new {
        out.human(|w, style| {
            report::diff(
                w,
                &title,
                outcome.old.as_ref(),
                new,
                &promotion.shown,
                now,
                style,
            )
        });
    }
    for (session, why) in &promotion.left_out {
        out.human(|w, _| {
            writeln!(
                w,
                "  left out session {}: {}",
                report::escape(session),
                report::escape(why)
            )
        });
    }
    let what = match (written, promotion.unchanged) {
        (false, _) => "would be written to",
        (true, true) => "already in",
        (true, false) => "written to",
    };
    out.human(|w, _| writeln!(w, "  {what} {}", report::escape(&path.to_string_lossy())));
    Exit::Fine
}
