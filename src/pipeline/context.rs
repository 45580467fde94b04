//! What a process knows before it looks at any disk: configuration, places, environment. Read once, here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::{Arc, atomic::AtomicBool};

use crate::config::{Config, Resolved};
use crate::engine::Interrupt;
use crate::store::{self, Places, Where};

/// Whether a doubtful test gets its second session at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirm {
    /// In the same process, after the gap: plain `cargo test`.
    Inside,
    /// Not now: the caller comes back for it once all first sessions are done.
    Later,
    /// This is the second visit: the first session lies in the record folder.
    Now,
}

/// Everything a run needs beside the tests.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Settings with their sources.
    pub(crate) resolved: Resolved,
    /// Where files lie.
    pub(crate) places: Places,
    /// Names this run's folder of records.
    pub(crate) run: String,
    /// A pipeline is watching: nothing to compare with is a failure.
    pub(crate) ci: bool,
    /// Attempt of the runner; retries are never candidates.
    pub(crate) attempt: u32,
    /// Whether a doubtful test gets its second session at once.
    pub(crate) confirm: Confirm,
    /// Set by SIGINT and SIGTERM.
    pub(crate) interrupt: Interrupt,
}

/// The environment, as one value.
pub(crate) type Vars = BTreeMap<String, String>;

/// The environment of this process; variables that are not UTF-8 are left out, unless they are ours: a disk that was
/// named must not silently be none.
pub(crate) fn vars() -> Vars {
    std::env::vars_os()
        .filter_map(|(k, v)| {
            let (key, ours) = (k.into_string().ok()?, |v: &std::ffi::OsStr| {
                v.to_string_lossy().into_owned()
            });
            let value = match v.into_string() {
                Ok(value) => value,
                Err(raw) if key.starts_with("IOGATE_") => ours(&raw),
                Err(_) => return None,
            };
            Some((key, value))
        })
        .collect()
}

/// What `cargo metadata` told the command; the harness must do without.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workspace {
    /// The workspace root.
    pub(crate) root: Option<PathBuf>,
    /// Cargo's target directory.
    pub(crate) target: Option<PathBuf>,
}

impl Context {
    /// Reads environment and configuration files.
    ///
    /// # Errors
    /// One message a fault, each with file, line and column or the flag or variable it came from.
    pub(crate) fn gather(
        flags: &[(String, String)],
        vars: &Vars,
        workspace: Workspace,
    ) -> Result<Self, Vec<String>> {
        let one = |e: &dyn std::fmt::Display| vec![format!("failed to {e}")];
        let places = places(vars, workspace).map_err(|e| vec![e])?;
        let files = places.config_files().map_err(|e| one(&e))?;
        let own =
            |(k, v): (&String, &String)| k.starts_with("IOGATE_").then(|| (k.clone(), v.clone()));
        let own: Vec<_> = vars.iter().filter_map(own).collect();
        let shown = |t: store::Text| (t.path.display().to_string(), t.text);
        let (local, shared) = (files.local.map(shown), files.shared.map(shown));
        let local = local
            .as_ref()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        let shared = shared
            .as_ref()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        let resolved = Config::resolve(flags, &own, local, shared)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let config = &resolved.config;
        let places = places
            .with_dirs(config.suites.as_deref(), config.baselines.as_deref())
            .map_err(|e| one(&e))?;
        Ok(Self {
            places,
            run: vars.get("NEXTEST_RUN_ID").cloned().unwrap_or_else(run_name),
            ci: in_ci(vars),
            attempt: vars
                .get("NEXTEST_ATTEMPT")
                .and_then(|a| a.parse().ok())
                .unwrap_or(1),
            confirm: match vars.get("IOGATE_CONFIRM").map(String::as_str) {
                Some("later") => Confirm::Later,
                Some("now") => Confirm::Now,
                _ => Confirm::Inside,
            },
            interrupt: Interrupt::new(),
            resolved,
        })
    }

    /// From here on SIGINT and SIGTERM end a measurement between two requests; a second one ends the process at once.
    ///
    /// # Errors
    /// The kernel does not take the handlers.
    #[cfg(target_os = "linux")]
    pub(crate) fn catch_signals(&self) -> std::io::Result<()> {
        use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
        // A limit on file size is then an error of the write, with a record, and not a kill without a word.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        let asked_before = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or_default();
            // A disk may hang in a call no flag can end. The second request is taken at its word: scratch has no name.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&asked_before))?;
            signal_hook::flag::register(signal, Arc::clone(&asked_before))?;
            signal_hook::flag::register_usize(signal, self.interrupt.cell(), number)?;
        }
        Ok(())
    }

    /// Nothing is measured here, so nothing needs to end in order.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn catch_signals(&self) -> std::io::Result<()> {
        Ok(())
    }

    /// The settings.
    pub(crate) fn config(&self) -> &Config {
        &self.resolved.config
    }

    /// The first disk, if any is configured.
    pub(crate) fn disk(&self) -> Option<&Path> {
        self.config().disk.first().map(PathBuf::as_path)
    }
}

/// Where files lie, before any configuration is read.
///
/// # Errors
/// A root that is named and is none.
pub(crate) fn places(vars: &Vars, workspace: Workspace) -> Result<Places, String> {
    let place = place(vars, workspace)?;
    Places::find(&place).map_err(|e| format!("failed to {e}"))
}

fn place(vars: &Vars, workspace: Workspace) -> Result<Where, String> {
    let path = |key: &str| vars.get(key).filter(|v| !v.is_empty()).map(PathBuf::from);
    Ok(Where {
        metadata_root: workspace.root,
        nextest_root: path("NEXTEST_WORKSPACE_ROOT"),
        iogate_root: path("IOGATE_WORKSPACE_ROOT"),
        manifest_dir: path("CARGO_MANIFEST_DIR"),
        iogate_target_dir: workspace.target.or_else(|| path("IOGATE_TARGET_DIR")),
        cargo_target_dir: path("CARGO_TARGET_DIR"),
        record_dir: path("IOGATE_RECORD_DIR"),
        executable: std::env::current_exe().ok(),
        cwd: std::env::current_dir()
            .map_err(|e| {
            format!("failed to read the current directory: {e}; change to a directory that exists (`cd`)")
        })?,
        xdg_state_home: path("XDG_STATE_HOME"),
        home: path("HOME"),
    })
}

/// Time and process: sorts by age, never twice.
fn run_name() -> String {
    let seconds = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    format!("{seconds}-{}", std::process::id())
}

/// `CI` set and not `false`, `0` or empty; or Azure's `TF_BUILD`.
pub(crate) fn in_ci(vars: &Vars) -> bool {
    let off = |v: &String| matches!(v.to_ascii_lowercase().as_str(), "" | "false" | "0");
    vars.get("CI").is_some_and(|v| !off(v)) || vars.contains_key("TF_BUILD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_is_seen_as_its_makers_set_it() {
        let cases = [
            ("CI", "true", true),
            ("CI", "1", true),
            ("CI", "false", false),
            ("CI", "0", false),
            ("CI", "", false),
            ("TF_BUILD", "True", true),
            ("X", "1", false),
        ];
        for (key, value, expected) in cases {
            assert_eq!(
                in_ci(&Vars::from([(key.to_owned(), value.to_owned())])),
                expected,
                "{key}={value}"
            );
        }
    }
}
