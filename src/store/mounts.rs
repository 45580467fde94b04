//! Whether a directory was a mount point when its numbers were taken.
//!
//! A vanished mount leaves an empty folder on the root disk, which would be measured under the old name. Paths of one
//! machine do not belong into committed files, so only a salted hash of the path is stored.

use std::path::{Path, PathBuf};

use super::baselines::read_baseline;
use super::{Pending, Places, Result, StoreError, names_in};
use crate::facts::salted_hash;

/// Hash of an absolute path under a disk's salt, hex.
#[must_use]
pub fn path_hash(salt: &str, path: &Path) -> String {
    salted_hash(salt, path.as_os_str().as_encoded_bytes())
}

/// The mount point at or above a directory that accepted or pending numbers come from.
///
/// On the disk itself and in the folders above, since the user's own folder on a disk vanishes with its mount.
///
/// A file that does not parse tells nothing here; where it is the one that matters, reading it tells what is wrong.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn was_mount_point(places: &Places, target: &Path) -> Result<Option<PathBuf>> {
    // The stored path is where a link led, so the question must follow it too.
    let path = std::fs::canonicalize(target)
        .or_else(|_| std::path::absolute(target))
        .unwrap_or_else(|_| target.to_owned());
    let find = |salt: &str, stored: Option<&String>| {
        let stored = stored?;
        let mut above = path.ancestors();
        above
            .find(|p| *stored == path_hash(salt, p))
            .map(Path::to_owned)
    };
    for file in baseline_files(&places.baselines_dir)? {
        let baseline = match read_baseline(&file) {
            Ok(baseline) => baseline,
            Err(StoreError::Content(_)) => continue,
            Err(error) => return Err(error),
        };
        let mut tests = baseline.tests.values();
        let point = tests.find_map(|t| find(&baseline.disk.salt, t.mount_point.as_ref()));
        if point.is_some() {
            return Ok(point);
        }
    }
    let pending = Pending::of(places).read_all()?;
    let mut pending = pending.iter().map(|l| &l.candidate);
    Ok(pending.find_map(|c| find(&c.disk.salt, c.mount_point.as_ref())))
}

fn baseline_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in names_in(dir)? {
        let folder = dir.join(folder);
        if folder.is_dir() {
            files.extend(names_in(&folder)?.into_iter().map(|name| folder.join(name)));
        }
    }
    files.retain(|file| file.extension().is_some_and(|e| e == "json"));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_path_hashes_alike_only_under_the_same_salt() {
        let path = Path::new("/mnt/disk");
        assert_eq!(path_hash("ab", path), path_hash("ab", path));
        assert_ne!(path_hash("ab", path), path_hash("ac", path));
        assert_ne!(
            path_hash("ab", path),
            path_hash("ab", Path::new("/mnt/disk2"))
        );
    }
}
