//! `cargo iogate accept` and `diff`: pending sessions become the baseline, or are shown beside it.

use std::path::Path;

use super::args::{Accept, Cli, Diff, Select, Settings};
use super::exit::Exit;
use super::out::Out;
use super::workspace;
use crate::baseline::AcceptOptions;
use crate::harness::Argv;
use crate::pipeline::{self, Outcome, Promote, promote};
use crate::report;

pub(crate) fn accept(cli: &Cli, ask: &Accept, out: &mut Out) -> Exit {
    let options = AcceptOptions {
        append: ask.append,
        provisional: ask.provisional,
        reason: ask.reason.clone(),
        new_anchor: ask.new_anchor,
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
    let ask = Promote {
        options: wish.options.clone(),
        from: wish.from,
        disk: context.config().disk_name.as_deref(),
        write: wish.write,
        only: &only,
    };
    match promote(&context, &ask) {
        Err(error) => out.errors(&[format!("failed to {error}")]),
        Ok(outcomes) if outcomes.is_empty() => {
            out.note("nothing is pending; run the tests on the disk first, then accept");
            Exit::Fine
        }
        Ok(outcomes) => outcomes.iter().fold(Exit::Fine, |exit, outcome| {
            exit.worst(show(outcome, wish.write, out))
        }),
    }
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
