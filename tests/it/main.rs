//! Integration tests: one binary, one module a subject.
//!
//! The harness is libtest-mimic, since libtest cannot find out at run time that a test does not apply here: one that
//! needs root or a program this machine has not is listed as ignored, and stderr says why.

mod arch;
#[cfg(target_os = "linux")]
mod disks;
#[cfg(target_os = "linux")]
mod support;

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
    pub(crate) const fn needing(name: &'static str, run: fn(), needs: &'static [&'static str]) -> Self {
        Self { name, run, needs }
    }

    /// What it needs and this machine has not.
    fn lacks(&self) -> Option<&'static str> {
        self.needs.iter().copied().find(|need| !available(need))
    }
}

/// Every test that runs.
const CASES: &[&[Case]] = &[
    arch::CASES,
    #[cfg(target_os = "linux")]
    disks::CASES,
];

#[cfg(target_os = "linux")]
fn available(need: &str) -> bool {
    match need {
        "root" => support::is_root(),
        "blkio" => std::path::Path::new("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device").exists(),
        program => support::has(program),
    }
}

#[cfg(not(target_os = "linux"))]
fn available(_: &str) -> bool {
    false
}

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let cases = CASES.iter().copied().flatten();
    let trials = cases.map(|case| {
        let lacks = case.lacks();
        if let Some(lacks) = lacks.filter(|_| !args.list) {
            eprintln!("ignored: {} needs {lacks}", case.name);
        }
        let run = case.run;
        let trial = Trial::test(case.name, move || {
            run();
            Ok(())
        });
        trial.with_ignored_flag(lacks.is_some())
    });
    let trials = trials.collect();
    libtest_mimic::run(&args, trials).exit_code()
}
