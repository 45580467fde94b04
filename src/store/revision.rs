//! The source revision of a work tree, read from git's files without calling git.

use std::fs;
use std::path::{Path, PathBuf};

/// The commit checked out at or above `root`, 40 or 64 hex digits; `None` where git's files do not tell
/// (no repository, no commit yet, references in a reftable).
#[must_use]
pub fn revision(root: &Path) -> Option<String> {
    let git = root.ancestors().find_map(git_dir)?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    match head.trim().strip_prefix("ref:") {
        Some(name) => reference(&git, name.trim()),
        None => commit(&head),
    }
}

/// `.git` itself, or where a work tree's or submodule's `.git` file points.
fn git_dir(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    let path = text.trim().strip_prefix("gitdir:")?.trim();
    Some(dir.join(path))
}

/// Resolves `refs/heads/…`: loose in the work tree's folder or the common one, else packed.
fn reference(git: &Path, name: &str) -> Option<String> {
    let plain = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
    if !plain {
        return None;
    }
    let common = fs::read_to_string(git.join("commondir"))
        .map_or_else(|_| git.to_owned(), |text| git.join(text.trim()));
    for dir in [git, &common] {
        if let Ok(text) = fs::read_to_string(dir.join(name)) {
            return commit(&text);
        }
    }
    let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
    let line = packed
        .lines()
        .find(|line| line.split_once(' ').is_some_and(|(_, n)| n.trim() == name))?;
    commit(line.split(' ').next()?)
}

/// The text as a commit: SHA-1 or SHA-256 in hex.
fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    let fine = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    fine.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::scratch;

    const A: &str = "0123456789abcdef0123456789abcdef01234567";
    const B: &str = "89abcdef0123456789abcdef0123456789abcdef";

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn a_branch_is_read_loose_before_packed() {
        let dir = scratch();
        let packed = format!("# pack-refs with: peeled\n{A} refs/heads/main\n^{B}\n");
        write(
            dir.path(),
            &[
                (".git/HEAD", "ref: refs/heads/main\n"),
                (".git/packed-refs", &packed),
            ],
        );
        assert_eq!(revision(dir.path()).as_deref(), Some(A));
        write(
            dir.path(),
            &[(".git/refs/heads/main", &format!("{B}\n")), ("sub/x", "")],
        );
        assert_eq!(revision(&dir.path().join("sub")).as_deref(), Some(B));
    }

    #[test]
    fn a_detached_head_is_the_commit_itself() {
        let dir = scratch();
        write(dir.path(), &[(".git/HEAD", &format!("{A}\n"))]);
        assert_eq!(revision(dir.path()).as_deref(), Some(A));
    }

    #[test]
    fn a_linked_work_tree_follows_gitdir_and_commondir() {
        let dir = scratch();
        write(
            dir.path(),
            &[
                ("main/.git/refs/heads/topic", A),
                ("main/.git/worktrees/wt/HEAD", "ref: refs/heads/topic"),
                ("main/.git/worktrees/wt/commondir", "../..\n"),
                ("wt/.git", "gitdir: ../main/.git/worktrees/wt\n"),
            ],
        );
        assert_eq!(revision(&dir.path().join("wt")).as_deref(), Some(A));
    }

    #[test]
    fn what_is_no_commit_gives_none() {
        let dir = scratch();
        for head in [
            "",
            "ref: refs/heads/.invalid",
            "ref: ../../secret",
            "not a hash",
            "ref: refs/heads/new",
        ] {
            write(dir.path(), &[(".git/HEAD", head), ("secret", A)]);
            assert_eq!(revision(dir.path()), None, "{head}");
        }
    }
}
