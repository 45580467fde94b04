//! Files of suites, baselines, candidates and records: found, read, locked, replaced whole.
//!
//! Owns where files lie and how they change: every write is a synced sibling renamed over the old file under a lock,
//! so a kill leaves the old or the new one. Leaves to `baseline` and `record` what stands in them, to `suite` and
//! `config` what their text means. Knows no environment: variables and roots come in as [`Where`]. Nothing here
//! touches a disk under test.

mod baselines;
mod mounts;
mod names;
mod pending;
mod places;
mod records;
mod replace;
mod revision;
mod suites;
#[cfg(test)]
mod testing;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use baselines::{
    BaselinesLock, Found, Stored, Wanted, Who, Written, find_baseline, folder_for_writing,
    read_baseline, salt,
};
pub use mounts::{path_hash, was_mount_point};
pub use pending::{Leftover, Pending, pending_from};
pub use places::{ConfigFiles, Places, Text, Where};
pub use records::{Records, last_trial, store_trial};
pub use replace::replace_file;
pub use revision::revision;
pub use suites::{Embedded, SuiteText, suite_names, suite_text, suite_texts};

use crate::baseline::{BaselineError, Fault};

/// Largest text file that is read; a larger one is not one of ours.
const MAX_TEXT: u64 = 256 << 20;

/// Why a file could not be used. The text fits after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system said no.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// `read`, `lock`, `replace`, …
        doing: &'static str,
        /// Which file or folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A name or content that cannot be what was expected: found, expected, what to do.
    #[error("use {}: {what}", path.display())]
    Bad {
        /// Which file or folder.
        path: PathBuf,
        /// The complaint.
        what: String,
    },
    /// What stands in a file is not what its parser expects; the sentence names the path.
    #[error("use {0}")]
    Content(Box<BaselineError>),
}

impl StoreError {
    /// For `map_err`: the path and what was being done to it.
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// A baseline or candidate of a version this one does not read.
    #[must_use]
    pub fn is_other_schema(&self) -> bool {
        matches!(self, Self::Content(error) if error.fault == Fault::Schema)
    }

    /// A complaint about a path.
    fn bad(path: &Path, what: impl Into<String>) -> Self {
        Self::Bad {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}

/// Result of this module.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Whole text of a regular file; `None` when there is no such file.
///
/// A pipe or device is refused before it is opened, since opening it could block for ever.
fn read_text(path: &Path) -> Result<Option<String>> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::io("read", path)(e)),
    };
    if !meta.is_file() {
        let what = "expected a regular file; remove it or put a file in its place";
        return Err(StoreError::bad(path, what));
    }
    if meta.len() > MAX_TEXT {
        let what = format!("{} bytes long, at most {MAX_TEXT} expected", meta.len());
        return Err(StoreError::bad(path, what));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MAX_TEXT).read_to_end(&mut bytes))
        .map_err(StoreError::io("read", path))?;
    String::from_utf8(bytes).map(Some).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        StoreError::bad(path, format!("not UTF-8 at byte {at}; save it as UTF-8"))
    })
}

/// Names in a folder, sorted, hidden ones left out; empty when there is no such folder.
fn names_in(dir: &Path) -> Result<Vec<std::ffi::OsString>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::io("list", dir)(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(StoreError::io("list", dir))?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Whether the path itself, not what it may point to, is a symbolic link.
fn is_symlink(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}
