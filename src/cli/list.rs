//! `cargo iogate list`: the tests, touching no disk.

use super::args::{Cli, List, Select};
use super::exit::Exit;
use super::out::Out;
use super::workspace;
use crate::harness::{Argv, Found, Standing, find};
use crate::pipeline::Context;

pub(crate) fn list(cli: &Cli, ask: &List, out: &mut Out) -> Exit {
    let context = match workspace::context(cli, &ask.settings.pairs(), out) {
        Ok((context, _)) => context,
        Err(errors) => return out.errors(&errors),
    };
    let mut exit = Exit::Fine;
    for found in selected(&context, &ask.select) {
        let line = match &found.standing {
            Standing::Runs(_) => found.name,
            Standing::Slow(_) => format!("{}  (slow: runs with --include-ignored)", found.name),
            Standing::Ignored(_, reason) => format!("{}  (ignored: {reason})", found.name),
            Standing::Broken(reason) => {
                exit = out.errors(std::slice::from_ref(reason));
                continue;
            }
        };
        out.human(|w, _| writeln!(w, "{line}"));
    }
    exit
}

/// The tests a command line selects, in the order of the files.
pub(crate) fn selected(context: &Context, select: &Select) -> Vec<Found> {
    let argv = Argv::of(select.filters.clone(), select.exact);
    let mut found = find(&context.places, Some(context.config()), &argv);
    found.retain(|f| !select.skip.iter().any(|s| f.matches(s, select.exact)));
    if select.ignored {
        found.retain(|f| f.standing.is_ignored());
    }
    found
}
