//! The command `cargo iogate`: one file per subcommand, and the table of exit codes.
//!
//! Owns the command line and what goes to stdout and stderr. What a verdict is, and how it looks, is decided before.

mod accept;
mod args;
mod exit;
mod list;
mod out;
mod run;
mod schema;
mod targets;
mod trial;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;
use exit::Exit;
use out::Out;

/// Parses the command line of the process, does what it says, and returns the exit code.
///
/// Cargo calls a subcommand with its own name as the first argument (`cargo-iogate iogate run`); called directly the
/// name is absent. Both are understood.
#[doc(hidden)]
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(without_cargos_word(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with 0, everything else to stderr with 2.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let mut out = Out::new(cli.color);
    let exit = match &cli.command {
        Command::Run(ask) => run::run(&cli, ask, &mut out),
        Command::List(ask) => list::list(&cli, ask, &mut out),
        Command::Accept(ask) => accept::accept(&cli, ask, &mut out),
        Command::Diff(ask) => accept::diff(&cli, ask, &mut out),
        Command::Schema(ask) => schema::schema(ask, &mut out),
    };
    out.delivered(exit).into()
}

fn without_cargos_word(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<_> = arguments.collect();
    if arguments.get(1).is_some_and(|word| word == "iogate") {
        arguments.remove(1);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn cargos_own_word_is_dropped_once() {
        let words = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        let cut = |list: &[&str]| without_cargos_word(words(list).into_iter());
        assert_eq!(
            cut(&["cargo-iogate", "iogate", "run"]),
            words(&["cargo-iogate", "run"])
        );
        assert_eq!(
            cut(&["cargo-iogate", "run", "iogate"]),
            words(&["cargo-iogate", "run", "iogate"])
        );
    }
}
