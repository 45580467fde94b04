//! What libtest takes and libtest-mimic does not: several filters, newer spellings, flags without effect here,
//! and a thread count that must not be zero.

use std::ffi::OsString;

use libtest_mimic::{Arguments, ColorSetting};

use crate::report::ColorChoice;

/// Arguments of the test executable, made fit for libtest-mimic.
#[derive(Debug, Clone)]
pub(crate) struct Argv {
    /// What libtest-mimic gets: no filter, one thread.
    pub(crate) mimic: Arguments,
    /// Positional filters; a test runs if any matches.
    pub(crate) filters: Vec<String>,
    /// The colour asked for, if any.
    pub(crate) color: Option<ColorChoice>,
}

/// Flags of libtest that change nothing here: output is never captured, tests run one by one in the order listed.
const WITHOUT_EFFECT: &[&str] = &[
    "--report-time",
    "--ensure-time",
    "--shuffle",
    "--fail-fast",
    "--force-run-in-process",
    "--exclude-should-panic",
    // A measurement is run either way; libtest-mimic would ignore every test and exit 0.
    "--bench",
    "--test",
];

/// Flags whose value may stand in the next argument.
const WITH_VALUE: &[&str] = &[
    "--skip",
    "--test-threads",
    "--logfile",
    "--color",
    "--format",
    "-Z",
    "--shuffle-seed",
];

impl Argv {
    /// Reads the arguments behind the executable's name.
    ///
    /// # Errors
    /// A sentence for arguments that libtest would refuse or that would hang: exit code 2.
    pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let arguments: Vec<String> = arguments
            .map(|a| {
                a.into_string()
                    .map_err(|a| format!("argument {} is not UTF-8", a.display()))
            })
            .collect::<Result<_, _>>()?;
        let (kept, filters) = split(&arguments)?;
        let mut mimic = Arguments::from_iter(std::iter::once("gate".to_owned()).chain(kept));
        if mimic.test_threads == Some(0) {
            return Err(
                "--test-threads must be 1 or more, found 0; tests of one disk run one at a time \
                        whatever the number"
                    .to_owned(),
            );
        }
        // One disk, one test at a time; more than one thread would also hide a running test's name.
        mimic.test_threads = Some(1);
        let color = match mimic.color {
            Some(ColorSetting::Always) => Some(ColorChoice::Always),
            Some(ColorSetting::Never) => Some(ColorChoice::Never),
            _ => None,
        };
        Ok(Self {
            mimic,
            filters,
            color,
        })
    }

    /// As if these filters had been typed; for the command, which has its own flags.
    #[cfg(any(feature = "cli", test))]
    pub(crate) fn of(filters: Vec<String>, exact: bool) -> Self {
        Self {
            mimic: Arguments {
                exact,
                ..Arguments::default()
            },
            filters,
            color: None,
        }
    }

    /// Whether a test of this name is selected by the filters (skips are libtest-mimic's).
    pub(crate) fn selects(&self, name: &str) -> bool {
        let hit = |f: &String| {
            if self.mimic.exact {
                name == f
            } else {
                name.contains(f.as_str())
            }
        };
        self.filters.is_empty() || self.filters.iter().any(hit)
    }
}

/// Splits into what libtest-mimic understands and the positional filters.
fn split(arguments: &[String]) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut kept, mut filters) = (Vec::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let name = argument.split('=').next().unwrap_or(argument);
        if WITHOUT_EFFECT.contains(&name) || argument.starts_with("--shuffle-seed=") {
            continue;
        }
        if argument == "--" {
            filters.extend(rest.by_ref().cloned());
        } else if argument == "--shuffle-seed" {
            rest.next();
        } else if argument == "--no-capture" {
            kept.push("--nocapture".to_owned());
        } else if WITH_VALUE.contains(&argument.as_str()) {
            let value = rest
                .next()
                .ok_or_else(|| format!("{argument} needs a value"))?;
            kept.extend([argument.clone(), value.clone()]);
        } else if argument.starts_with('-') {
            kept.push(argument.clone());
        } else {
            filters.push(argument.clone());
        }
    }
    Ok((kept, filters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Argv, String> {
        Argv::parse(arguments.iter().map(|a| OsString::from(*a)))
    }

    #[test]
    fn several_filters_run_the_union() {
        let argv = parse(&["seq", "rand", "--no-capture"]).unwrap();
        assert!(
            argv.selects("sequential::direct")
                && argv.selects("random::read")
                && !argv.selects("smoke::null")
        );
        assert_eq!(argv.mimic.filter, None);
    }

    #[test]
    fn exact_compares_whole_names() {
        let argv = parse(&["--exact", "a::b"]).unwrap();
        assert!(argv.selects("a::b") && !argv.selects("a::bc"));
    }

    #[test]
    fn zero_threads_are_refused_and_many_become_one() {
        assert!(
            parse(&["--test-threads=0"])
                .unwrap_err()
                .contains("found 0")
        );
        assert_eq!(
            parse(&["--test-threads", "8"]).unwrap().mimic.test_threads,
            Some(1)
        );
    }

    #[test]
    fn flags_of_libtest_without_effect_are_taken() {
        let argv = parse(&[
            "--shuffle-seed",
            "7",
            "--shuffle",
            "--report-time",
            "--bench",
            "--shuffle-seed=9",
            "x",
        ]);
        let argv = argv.unwrap();
        assert_eq!(argv.filters, ["x"]);
        assert!(!argv.mimic.bench);
    }

    #[test]
    fn a_flag_that_lost_its_value_is_named() {
        assert_eq!(parse(&["--skip"]).unwrap_err(), "--skip needs a value");
    }
}
