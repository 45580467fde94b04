//! The test target: one libtest-mimic trial per test of the suites, measured one at a time.
//!
//! Owns argv, listing and what libtest sees of a verdict. Listing touches no disk, takes no lock and needs no
//! configuration; a test that cannot run is ignored while listing, since nextest counts one skipped at run time as
//! passed.

mod argv;
mod found;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) use argv::Argv;
pub(crate) use found::{Found, Standing, find};
use libtest_mimic::{ColorSetting, Completion, Failed, Trial};

use crate::pipeline::{self, Context, Purpose, Vars, Workspace};
use crate::report::{self, ColorChoice, Style};

/// Columns of the harness's text: it goes through runners that do not tell a width.
const WIDTH: usize = 100;

/// The harness of a test target: the suites of the workspace as tests.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     iogate::main()
/// }
/// ```
#[derive(Debug, Default)]
pub struct Harness {}

impl Harness {
    /// A harness that runs the suites found in the workspace.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }

    /// Lists or runs, as the arguments of the process say.
    ///
    /// Ends with 0 when every test passed or was ignored, 101 when one failed, 2 for a wrong argument.
    #[must_use]
    pub fn main(self) -> ExitCode {
        let argv = match Argv::parse(std::env::args_os().skip(1)) {
            Ok(argv) => argv,
            Err(message) => {
                pipeline::say(format_args!("error: {message}"));
                return ExitCode::from(2);
            }
        };
        let vars = pipeline::vars();
        let context = Context::gather(&[], &vars, Workspace::default());
        match context {
            Ok(context) if argv.mimic.list => {
                list(&find(&context.places, Some(context.config()), &argv), &argv)
            }
            Ok(context) => run(context, argv, &vars),
            Err(_) if argv.mimic.list => list_without_configuration(&vars, &argv),
            Err(errors) => fail_all(&errors),
        }
    }
}

fn fail_all(errors: &[String]) -> ExitCode {
    for error in errors {
        pipeline::say(format_args!("Error: {error}"));
    }
    ExitCode::from(101)
}

/// A broken configuration hides no test; running them tells what is wrong with it.
fn list_without_configuration(vars: &Vars, argv: &Argv) -> ExitCode {
    match pipeline::places(vars, Workspace::default()) {
        Ok(places) => list(&find(&places, None, argv), argv),
        Err(error) => fail_all(&[error]),
    }
}

/// Whether `--skip` leaves a test out.
fn left_out(found: &Found, argv: &Argv) -> bool {
    let mut skips = argv.mimic.skip.iter();
    skips.any(|s| found.matches(s, argv.mimic.exact))
}

/// Prints the names as libtest does. A reader that went away is no error.
fn list(found: &[Found], argv: &Argv) -> ExitCode {
    let shown = found
        .iter()
        .filter(|f| !argv.mimic.ignored || f.standing.is_ignored())
        .filter(|f| !left_out(f, argv));
    let mut text: String = shown.map(|f| format!("{}: test\n", f.name)).collect();
    if !argv.mimic.quiet && argv.mimic.format.is_none() {
        text += &format!("\n{} tests, 0 benchmarks\n", text.lines().count());
    }
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// Runs the selected tests one by one.
fn run(context: Context, mut argv: Argv, vars: &Vars) -> ExitCode {
    let found = find(&context.places, Some(context.config()), &argv);
    say_why_ignored(&found);
    let choice = argv.color.or_else(|| {
        vars.get("CARGO_TERM_COLOR")
            .and_then(|word| ColorChoice::parse(word))
    });
    let painted = |terminal: bool| report::color(choice, report::ColorEnv::of(vars), terminal);
    let color = if painted(std::io::stdout().is_terminal()) {
        ColorSetting::Always
    } else {
        ColorSetting::Never
    };
    let style = Style {
        color: painted(std::io::stderr().is_terminal()),
        width: WIDTH,
    };
    argv.mimic.color = Some(color);
    if context.confirm != pipeline::Confirm::Inside {
        end_with_the_command();
    }
    if let Err(error) = context.catch_signals() {
        return fail_all(&[format!("failed to catch SIGINT and SIGTERM: {error}")]);
    }
    leave_reasons(&context, &found, &argv);
    let context = Arc::new(context);
    let trials = found
        .into_iter()
        .map(|f| trial(&context, f, style))
        .collect();
    judged_or_unread(&argv.mimic, trials)
}

/// libtest-mimic panics when its reader goes away (`cargo test | head`); a trial's own panics it catches itself.
fn judged_or_unread(arguments: &libtest_mimic::Arguments, trials: Vec<Trial>) -> ExitCode {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let printing = |at: &std::panic::Location<'_>| at.file().contains("libtest-mimic");
        if !panic.location().is_some_and(printing) {
            before(panic);
        }
    }));
    let run = std::panic::AssertUnwindSafe(|| libtest_mimic::run(arguments, trials));
    match std::panic::catch_unwind(run) {
        Ok(conclusion) => conclusion.exit_code(),
        Err(_) => fail_all(&[
            "nobody reads stdout any more, so the tests still to come were not run; keep the pipe open, or give \
             `--logfile FILE`"
                .to_owned(),
        ]),
    }
}

/// `cargo iogate run` killed outright cannot hand a signal on, and nobody would wait for what its child still measures.
fn end_with_the_command() {
    #[cfg(target_os = "linux")]
    {
        let signal = rustix::process::Signal::TERM;
        // Where the kernel refuses, the test runs to its end, as it would have.
        let _ = rustix::process::set_parent_process_death_signal(Some(signal));
    }
}

/// One line a reason, however many tests share it.
fn say_why_ignored(found: &[Found]) {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for reason in found.iter().filter_map(|f| f.standing.reason()) {
        match reasons.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    for (reason, count) in reasons {
        pipeline::say(format_args!(
            "iogate: {count} {} ignored: {reason}",
            if count == 1 { "test" } else { "tests" }
        ));
    }
}

/// A record for each test that cannot run here, so that the run's folder tells of every test selected.
fn leave_reasons(context: &Context, found: &[Found], argv: &Argv) {
    for found in found.iter().filter(|f| !left_out(f, argv)) {
        let Standing::Ignored(test, reason) = &found.standing else {
            continue;
        };
        // The same fault would be told once a test.
        if let (record, None) = pipeline::skipped(context, test, reason) {
            eprintln!(
                "iogate: {}",
                report::escape(&record.judgement.notes.join("; "))
            );
            return;
        }
    }
}

fn trial(context: &Arc<Context>, found: Found, style: Style) -> Trial {
    let context = Arc::clone(context);
    let ignored = found.standing.is_ignored();
    let name = found.name.clone();
    Trial::ignorable_test(name, move || body(&context, found, style)).with_ignored_flag(ignored)
}

/// What a trial does: measure, tell stderr, and turn the record into what libtest knows.
fn body(context: &Context, found: Found, style: Style) -> Result<Completion, Failed> {
    if context.interrupt.raised().is_some() {
        return Ok(Completion::ignored_with("a signal came before it started"));
    }
    let test = match found.standing {
        Standing::Runs(test) | Standing::Slow(test) => test,
        Standing::Broken(reason) => return fail(&reason),
        Standing::Ignored(_, reason) => return fail(&format!("skipped: {reason}")),
    };
    let (record, path) = pipeline::run_test(context, &test, Purpose::Gate);
    let text = |style| {
        let mut text = Vec::new();
        // Writing into memory does not fail.
        let _ = report::one_test(&mut text, &record, path.as_deref(), style);
        String::from_utf8_lossy(&text).into_owned()
    };
    let _ = std::io::stderr().lock().write_all(text(style).as_bytes());
    if record.failed {
        return Err(Failed::from(text(Style {
            color: false,
            ..style
        })));
    }
    Ok(Completion::Completed)
}

/// Fails with the reason on stderr in the form nextest looks for.
fn fail(reason: &str) -> Result<Completion, Failed> {
    pipeline::say(format_args!("Error: {}", report::escape(reason)));
    Err(Failed::from(reason))
}
