//! Which tests there are and which of them can run, told without touching a disk.

use super::argv::Argv;
use crate::config::Config;
use crate::engine;
use crate::store::{self, Places, SuiteText};
use crate::suite::{self, EngineKind, Test};

/// One test as listed.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// `suite::test`.
    pub(crate) name: String,
    /// What becomes of it.
    pub(crate) standing: Standing,
}

/// What becomes of a listed test.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    /// It runs.
    Runs(Box<Test>),
    /// It runs when ignored tests are asked for.
    Slow(Box<Test>),
    /// It cannot run here; asked for all the same, it fails with this reason.
    Ignored(Box<Test>, String),
    /// Its suite file cannot be read: it fails with what is wrong.
    Broken(String),
}

impl Standing {
    /// Shown as ignored.
    pub(crate) fn is_ignored(&self) -> bool {
        matches!(self, Self::Slow(_) | Self::Ignored(..))
    }

    /// Why it cannot run here.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Ignored(_, reason) => Some(reason),
            _ => None,
        }
    }
}

impl Found {
    /// Whether a filter hits the name.
    pub(crate) fn matches(&self, filter: &str, exact: bool) -> bool {
        if exact {
            self.name == filter
        } else {
            self.name.contains(filter)
        }
    }
}

/// Every test the arguments select, in the order of the files.
///
/// A broken configuration (`config` is `None`) hides no test: listing must do without one.
pub(crate) fn find(places: &Places, config: Option<&Config>, argv: &Argv) -> Vec<Found> {
    let mut probe = Probe::default();
    let mut found = Vec::new();
    for file in texts(places, argv) {
        match file.and_then(|f| {
            suite::parse(&f.name, &f.origin, &f.text).map_err(|errors| (f.name, join(&errors)))
        }) {
            Ok(suite) => found.extend(
                suite
                    .tests
                    .into_iter()
                    .map(|t| stand(config, t, &mut probe)),
            ),
            Err((name, errors)) => {
                found.push(Found {
                    name: format!("{name}::suite-file"),
                    standing: Standing::Broken(errors),
                });
            }
        }
    }
    keep_selected(&mut found, argv);
    found
}

/// A suite that cannot be read may hold what was asked for: it stays when a filter names it, and when nothing else
/// is left. Else `small::pair` of a broken `small` would be no test, and no test passes.
fn keep_selected(found: &mut Vec<Found>, argv: &Argv) {
    let broken = |f: &Found| matches!(f.standing, Standing::Broken(_));
    let begins = |name: &str| {
        let suite = name.split("::").next();
        argv.filters.iter().any(|f| f.split("::").next() == suite)
    };
    let asked = |f: &Found| argv.selects(&f.name) || broken(f) && begins(&f.name);
    if found.iter().any(asked) {
        found.retain(asked);
    } else {
        found.retain(broken);
    }
}

fn join(errors: &[suite::SuiteError]) -> String {
    errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Texts of the suite files that may hold a selected test; one that cannot be read with its name and the reason.
fn texts(places: &Places, argv: &Argv) -> Vec<Result<SuiteText, (String, String)>> {
    let names = match store::suite_names(places, suite::embedded()) {
        Ok(names) => names,
        Err(error) => return vec![Err(("suites".to_owned(), format!("failed to {error}")))],
    };
    let read = |name: String| match store::suite_text(places, suite::embedded(), &name) {
        Ok(text) => text.map(Ok),
        Err(error) => Some(Err((name, format!("failed to {error}")))),
    };
    names
        .into_iter()
        .filter(|n| may_hold_selected(n, argv))
        .filter_map(read)
        .collect()
}

/// With `--exact`, only the files whose name begins a selected test's are read: nextest starts one process a test,
/// and each would otherwise read every suite.
fn may_hold_selected(suite: &str, argv: &Argv) -> bool {
    let begins = |f: &String| f.split("::").next() == Some(suite);
    !argv.mimic.exact || argv.filters.is_empty() || argv.filters.iter().any(begins)
}

fn stand(config: Option<&Config>, test: Test, probe: &mut Probe) -> Found {
    let name = test.full_name();
    let standing = match reason_to_ignore(config, &test, probe) {
        Some(reason) => Standing::Ignored(Box::new(test), reason),
        None if test.slow => Standing::Slow(Box::new(test)),
        None => Standing::Runs(Box::new(test)),
    };
    Found { name, standing }
}

fn reason_to_ignore(config: Option<&Config>, test: &Test, probe: &mut Probe) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("measuring needs Linux".to_owned());
    }
    if let Some(key) = test.workload.not_yet() {
        return Some(format!("{} ({key})", crate::plan::NOT_YET));
    }
    let config = config?;
    if config.disk.is_empty() && config.require.is_none() {
        return Some(NO_DISK.to_owned());
    }
    probe.engine(test.workload.engine)
}

/// Why nothing is measured without a disk.
pub(crate) const NO_DISK: &str = "no disk is configured, and a test run must not write gigabytes unasked; \
    name one with IOGATE_DISK=DIR or `disk = \"DIR\"` in .config/iogate.local.toml";

/// Engines asked once a process.
#[derive(Default)]
struct Probe {
    uring: Option<Option<String>>,
}

impl Probe {
    fn engine(&mut self, kind: EngineKind) -> Option<String> {
        match kind {
            EngineKind::IoUring => self
                .uring
                .get_or_insert_with(|| engine::probe(kind).err())
                .clone(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_suite_stays_when_what_was_asked_for_may_be_in_it() {
        let broken = |suite: &str| Found {
            name: format!("{suite}::suite-file"),
            standing: Standing::Broken("why".to_owned()),
        };
        let sound = || Found {
            name: "good::pair".to_owned(),
            standing: Standing::Broken("stands for a sound one".to_owned()),
        };
        let kept = |filter: &str, exact| {
            let mut found = vec![broken("bad"), sound()];
            keep_selected(&mut found, &Argv::of(vec![filter.to_owned()], exact));
            found.into_iter().map(|f| f.name).collect::<Vec<_>>()
        };
        assert_eq!(kept("bad::pair", true), ["bad::suite-file"]);
        assert_eq!(kept("bad::pair", false), ["bad::suite-file"]);
        assert_eq!(kept("good::pair", true), ["good::pair"]);
        assert!(kept("nothing", false).contains(&"bad::suite-file".to_owned()));
    }
}
