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
use clap::{ColorChoice, CommandFactory, FromArgMatches};
use exit::Exit;
use out::Out;

use crate::pipeline::{self, Vars};
use crate::report;

/// Parses the command line of the process, does what it says, and returns the exit code.
///
/// Cargo calls a subcommand with its own name as the first argument (`cargo-iogate iogate run`); called directly the
/// name is absent. Both are understood.
#[doc(hidden)]
#[must_use]
pub fn main() -> ExitCode {
    let cli = match parse(without_cargos_word(std::env::args_os())) {
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

fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command().color(color_of_help(&arguments, &pipeline::vars()));
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

/// Help and usage errors are coloured by the rules of everything else, before the command line is understood.
fn color_of_help(arguments: &[OsString], vars: &Vars) -> ColorChoice {
    let mut words = arguments.iter().filter_map(|a| a.to_str());
    let flag = words.find_map(|word| word.strip_prefix("--color"));
    let flag = flag.and_then(|rest| rest.strip_prefix('=').or_else(|| words.next()));
    let choice = flag.or_else(|| vars.get("CARGO_TERM_COLOR").map(String::as_str));
    let choice = choice.and_then(report::ColorChoice::parse);
    let painted = |terminal| report::color(choice, report::ColorEnv::of(vars), terminal);
    match (painted(false), painted(true)) {
        (true, _) => ColorChoice::Always,
        (false, true) => ColorChoice::Auto,
        (false, false) => ColorChoice::Never,
    }
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
        Cli::command().debug_assert();
    }

    #[test]
    fn help_is_coloured_as_asked() {
        let choice = |line: &[&str], vars: &[(&str, &str)]| {
            let arguments: Vec<_> = line.iter().map(OsString::from).collect();
            let vars = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            color_of_help(&arguments, &vars.collect())
        };
        let no_color = ("NO_COLOR", "1");
        let always = ("CARGO_TERM_COLOR", "always");
        assert_eq!(choice(&["run", "--help"], &[]), ColorChoice::Auto);
        assert_eq!(choice(&["--help"], &[no_color]), ColorChoice::Never);
        assert_eq!(choice(&["--help"], &[always]), ColorChoice::Always);
        for flag in [&["--color", "always"][..], &["--color=always"]] {
            assert_eq!(choice(flag, &[no_color]), ColorChoice::Always);
        }
        assert_eq!(choice(&["--color=never"], &[always]), ColorChoice::Never);
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
