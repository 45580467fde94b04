//! Integration tests: one binary, one module a subject.
//!
//! The harness is libtest-mimic, since libtest cannot find out at run time that a test does not apply here: one that
//! needs root or a program this machine has not is listed as ignored, and stderr says why.

mod arch;
#[cfg(target_os = "linux")]
mod live;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// One test: its name is a sentence.
pub(crate) struct Case {
    name: &'static str,
    run: fn(),
    needs: &'static [&'static str],
}

impl Case {
    /// A test that runs everywhere.
    pub(crate) const fn plain(name: &'static str, run: fn()) -> Self {
        Self::needing(name, run, &[])
    }

    /// A test that needs `root`, `blkio` (the throttle) or programs by name.
    pub(crate) const fn needing(
        name: &'static str,
        run: fn(),
        needs: &'static [&'static str],
    ) -> Self {
        Self { name, run, needs }
    }

    fn trial(&self, quiet: bool) -> Trial {
        let lacks = self.needs.iter().find(|need| !available(need));
        if let Some(lacks) = lacks.filter(|_| !quiet) {
            eprintln!("ignored: {} needs {lacks}", self.name);
        }
        let run = self.run;
        let trial = Trial::test(self.name, move || {
            run();
            Ok(())
        });
        trial.with_ignored_flag(lacks.is_some())
    }
}

#[cfg(target_os = "linux")]
use live::available;

#[cfg(not(target_os = "linux"))]
fn available(_: &str) -> bool {
    false
}

/// Every test that runs.
fn cases() -> Vec<&'static Case> {
    #[cfg(target_os = "linux")]
    let live = live::CASES;
    #[cfg(not(target_os = "linux"))]
    let live: &[&[Case]] = &[];
    arch::CASES
        .iter()
        .chain(live.iter().copied().flatten())
        .collect()
}

/// Tests at once unless the command line says otherwise: they spend their time waiting for disks to settle, each on a
/// disk of its own.
const THREADS: usize = 6;

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    args.test_threads.get_or_insert(THREADS);
    let trials = cases()
        .into_iter()
        .map(|case| case.trial(args.list))
        .collect();
    let conclusion = libtest_mimic::run(&args, trials);
    #[cfg(target_os = "linux")]
    live::leave();
    conclusion.exit_code()
}
