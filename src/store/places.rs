//! Where files lie: the workspace root, its folders, cargo's target directory, the user's state.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{Result, StoreError, read_text};

/// What the shells know about where they run; an unset or empty variable is `None`.
#[derive(Debug, Clone, Default)]
pub struct Where {
    /// The root as `cargo metadata` tells it; the command alone knows.
    pub metadata_root: Option<PathBuf>,
    /// `NEXTEST_WORKSPACE_ROOT`; remapped for archives, so it goes before everything read from the build.
    pub nextest_root: Option<PathBuf>,
    /// `IOGATE_WORKSPACE_ROOT`.
    pub iogate_root: Option<PathBuf>,
    /// `CARGO_MANIFEST_DIR` at run time.
    pub manifest_dir: Option<PathBuf>,
    /// `IOGATE_TARGET_DIR`, or the target directory of `cargo metadata`.
    pub iogate_target_dir: Option<PathBuf>,
    /// `CARGO_TARGET_DIR`.
    pub cargo_target_dir: Option<PathBuf>,
    /// `IOGATE_RECORD_DIR`: the folder of this run's records, shared by every process of the run.
    pub record_dir: Option<PathBuf>,
    /// The running executable.
    pub executable: Option<PathBuf>,
    /// Working directory, absolute.
    pub cwd: PathBuf,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
}

/// Every folder this tool reads or writes, absolute; most need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The workspace root; the working directory outside a workspace.
    pub root: PathBuf,
    /// Whether a workspace or package was found.
    pub workspace: bool,
    /// Where suite files lie; `None`: the embedded ones.
    pub suites_dir: Option<PathBuf>,
    /// Where baselines lie.
    pub baselines_dir: PathBuf,
    /// Cargo's target directory; the state folder outside a workspace.
    pub target_dir: PathBuf,
    /// `<target_dir>/iogate` or, outside a workspace, the state folder: pending, records, trials, salt.
    pub work_dir: PathBuf,
    /// Candidates.
    pub pending_dir: PathBuf,
    /// Records, one folder a run.
    pub records_dir: PathBuf,
    /// The one folder of this run, where `IOGATE_RECORD_DIR` names it.
    pub record_dir: Option<PathBuf>,
    /// `$XDG_STATE_HOME/iogate`, else `$HOME/.local/state/iogate`, else below the root.
    pub state_dir: PathBuf,
}

/// A file's text with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Where it was read.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
}

/// The two configuration files, each `None` when absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFiles {
    /// `.config/iogate.toml`, committed.
    pub shared: Option<Text>,
    /// `.config/iogate.local.toml`, the host's own.
    pub local: Option<Text>,
}

impl Places {
    /// Finds every place; looks at manifests and tags, creates nothing.
    ///
    /// # Errors
    /// A root that was named and is no directory.
    pub fn find(w: &Where) -> Result<Self> {
        let (root, workspace) = match root(w)? {
            Some(root) => (root, true),
            None => (plain(&w.cwd), false),
        };
        let state_dir = state_dir(w, &root);
        let target_dir = if workspace {
            target_dir(w, &root)
        } else {
            absolute(w, w.iogate_target_dir.as_deref()).unwrap_or_else(|| state_dir.clone())
        };
        let work_dir = if target_dir == state_dir {
            state_dir.clone()
        } else {
            target_dir.join("iogate")
        };
        let suites = root.join("suites");
        let suites_dir = suites.is_dir().then_some(suites);
        let here = root.join("baselines");
        // Outside a workspace nothing appears in a folder that knows nothing of iogate.
        let baselines_dir = if workspace || suites_dir.is_some() || here.is_dir() {
            here
        } else {
            state_dir.join("baselines")
        };
        Ok(Self {
            suites_dir,
            baselines_dir,
            pending_dir: work_dir.join("pending"),
            records_dir: work_dir.join("records"),
            record_dir: absolute(w, w.record_dir.as_deref()),
            root,
            workspace,
            target_dir,
            work_dir,
            state_dir,
        })
    }

    /// The same with the folders the configuration names; relative ones start at the root.
    ///
    /// # Errors
    /// A suites folder that is none: a gate without its suites would pass in silence.
    pub fn with_dirs(mut self, suites: Option<&Path>, baselines: Option<&Path>) -> Result<Self> {
        if let Some(dir) = suites {
            let dir = plain(&self.root.join(dir));
            if !dir.is_dir() {
                let what = "not a directory; correct the key `suites`";
                return Err(StoreError::bad(&dir, what));
            }
            self.suites_dir = Some(dir);
        }
        if let Some(dir) = baselines {
            self.baselines_dir = plain(&self.root.join(dir));
        }
        Ok(self)
    }

    /// The report of the newest run.
    #[must_use]
    pub fn report_file(&self) -> PathBuf {
        self.work_dir.join("report.json")
    }

    /// Texts of the two configuration files.
    ///
    /// # Errors
    /// A file that is there and cannot be read: running without a configuration that exists would measure elsewhere.
    pub fn config_files(&self) -> Result<ConfigFiles> {
        let read = |name: &str| -> Result<Option<Text>> {
            let path = self.root.join(".config").join(name);
            Ok(read_text(&path)?.map(|text| Text { path, text }))
        };
        Ok(ConfigFiles {
            shared: read("iogate.toml")?,
            local: read("iogate.local.toml")?,
        })
    }
}

/// The workspace root, by the first source that names one.
fn root(w: &Where) -> Result<Option<PathBuf>> {
    let named = [
        ("cargo metadata", &w.metadata_root),
        ("NEXTEST_WORKSPACE_ROOT", &w.nextest_root),
        ("IOGATE_WORKSPACE_ROOT", &w.iogate_root),
    ];
    for (source, value) in named {
        if let Some(dir) = absolute(w, value.as_deref()) {
            if dir.is_dir() {
                return Ok(Some(dir));
            }
            let what = format!("named by {source} as the workspace root, but not a directory");
            return Err(StoreError::bad(&dir, what));
        }
    }
    let package = absolute(w, w.manifest_dir.as_deref());
    Ok(package.map(|dir| topmost_workspace(&dir).unwrap_or(dir)))
}

/// The topmost ancestor whose manifest has `[workspace]`: members may be workspaces of their own in a checkout.
fn topmost_workspace(package: &Path) -> Option<PathBuf> {
    let has_workspace = |dir: &&Path| {
        let text = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        text.contains("workspace")
            && toml::from_str::<toml::Table>(&text).is_ok_and(|t| t.contains_key("workspace"))
    };
    package
        .ancestors()
        .filter(has_workspace)
        .last()
        .map(Path::to_owned)
}

/// Cargo's target directory as a test of it can tell.
fn target_dir(w: &Where, root: &Path) -> PathBuf {
    if let Some(dir) = absolute(w, w.iogate_target_dir.as_deref()) {
        return dir;
    }
    // A relative one counts from where cargo was called, which a test cannot know: its cwd is the package.
    if let Some(dir) = &w.cargo_target_dir
        && dir.is_absolute()
    {
        return plain(dir);
    }
    if let Some(dir) = w.executable.as_deref().and_then(tagged_ancestor) {
        return dir;
    }
    let relative = w.cargo_target_dir.as_deref();
    plain(&root.join(relative.unwrap_or(Path::new("target"))))
}

/// The nearest ancestor of an executable with cargo's `CACHEDIR.TAG`, or the one above when it has a tag too:
/// cargo tags `target/<triple>` as well as `target`.
fn tagged_ancestor(executable: &Path) -> Option<PathBuf> {
    let tagged = |dir: &Path| dir.join("CACHEDIR.TAG").is_file();
    let nearest = executable.ancestors().skip(1).find(|dir| tagged(dir))?;
    let above = nearest.parent().filter(|dir| tagged(dir));
    Some(above.unwrap_or(nearest).to_owned())
}

/// The XDG base directory rules: a relative variable is invalid and ignored.
fn state_dir(w: &Where, root: &Path) -> PathBuf {
    let absolute = |dir: &Option<PathBuf>| dir.clone().filter(|d| d.is_absolute());
    let home = absolute(&w.xdg_state_home)
        .or_else(|| absolute(&w.home).map(|home| home.join(".local/state")));
    match home {
        Some(dir) => dir.join("iogate"),
        None => root.join(".iogate"),
    }
}

/// A variable's path made absolute; `None` when unset or empty.
fn absolute(w: &Where, path: Option<&Path>) -> Option<PathBuf> {
    let path = path.filter(|p| !p.as_os_str().is_empty())?;
    Some(plain(&w.cwd.join(path)))
}

/// Without `.` and trailing slashes, so that one folder prints one way; links and `..` stay as they are.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|c| !matches!(c, Component::CurDir))
        .collect()
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
