//! Locks on folders and files replaced whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::{Result, StoreError, is_symlink};

/// Marks a file that is being written; one found under the lock was left by a killed process.
const PREFIX: &str = ".iogate-";
const SUFFIX: &str = ".tmp";

/// An exclusive lock on a folder, held by the kernel until this is dropped or the process dies.
///
/// On the folder itself, so that no lock file appears in a work tree. Where a folder cannot be locked (NFS wants a
/// writable descriptor for an exclusive lock, Windows opens no folders) writers go on without: a replaced file is
/// whole either way.
#[derive(Debug)]
pub(super) struct FolderLock {
    held: Option<File>,
}

impl FolderLock {
    /// Makes the folder if need be and waits for its lock; holders keep it for milliseconds.
    pub(super) fn take(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(StoreError::io("make", dir))?;
        if cfg!(not(unix)) {
            return Ok(Self { held: None });
        }
        let file = File::open(dir).map_err(StoreError::io("open", dir))?;
        loop {
            match file.lock() {
                Ok(()) => return Ok(Self { held: Some(file) }),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if cannot_lock(&e) => return Ok(Self { held: None }),
                Err(e) => return Err(StoreError::io("lock", dir)(e)),
            }
        }
    }

    /// Replaces `path`, which lies at or below the locked folder, and clears what a killed writer left beside it.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let dir = folder_of(path)?;
        if is_symlink(dir) {
            let what = "a symbolic link where a folder is expected; put a real folder there";
            return Err(StoreError::bad(dir, what));
        }
        make_synced(dir)?;
        if self.held.is_some() {
            sweep(dir);
        }
        replace_file(path, bytes)
    }
}

/// EBADF and ENOLCK (equal on Linux and macOS up to the latter) beside what std calls unsupported.
fn cannot_lock(e: &io::Error) -> bool {
    const EBADF: i32 = 9;
    const ENOLCK: [i32; 2] = [37, 77];
    e.kind() == io::ErrorKind::Unsupported
        || e.raw_os_error()
            .is_some_and(|n| n == EBADF || ENOLCK.contains(&n))
}

/// Writes a sibling, syncs it, renames it over `path` and syncs the folder. At any moment `path` is the old file or
/// the new one; on an error it is the old one and the sibling is gone.
///
/// # Errors
/// A full or read-only file system, a missing folder.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let dir = folder_of(path)?;
    let write = || -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any file the user makes, not the private mode of a temporary one; the umask applies.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut sibling = builder.tempfile_in(dir)?;
        sibling.write_all(bytes)?;
        sibling.as_file().sync_all()?;
        sibling.persist(path).map_err(|e| e.error)?;
        sync_folder(dir)
    };
    write().map_err(StoreError::io("write", path))
}

/// Makes a folder and syncs its name into the one above.
fn make_synced(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(dir).map_err(StoreError::io("make", dir))?;
    match dir.parent() {
        Some(above) => sync_folder(above).map_err(StoreError::io("sync", above)),
        None => Ok(()),
    }
}

/// Makes a rename last. Some network file systems refuse to sync a folder; the rename is whole all the same.
fn sync_folder(dir: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(dir)?.sync_all() {
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Removes what killed writers left; under the lock nobody else is writing.
fn sweep(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|n| n.starts_with(PREFIX) && n.ends_with(SUFFIX));
        if ours && entry.file_type().is_ok_and(|t| t.is_file()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The folder a file lies in.
fn folder_of(path: &Path) -> Result<&Path> {
    path.parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .ok_or_else(|| StoreError::bad(path, "expected a file below a folder"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::scratch;

    #[test]
    fn a_replaced_file_is_new_and_nothing_is_left_beside_it() {
        let dir = scratch();
        let path = dir.path().join("a/b.json");
        let lock = FolderLock::take(dir.path()).unwrap();
        lock.replace(&path, b"one").unwrap();
        lock.replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_writer_left_is_swept_and_nothing_else() {
        let dir = scratch();
        let keep = [".iogate-config", "x.tmp", "notes"];
        for name in keep.iter().chain([&".iogate-ab12.tmp"]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let lock = FolderLock::take(dir.path()).unwrap();
        lock.replace(&dir.path().join("new"), b"1").unwrap();
        assert!(!dir.path().join(".iogate-ab12.tmp").exists());
        assert!(keep.iter().all(|name| dir.path().join(name).exists()));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_a_link_is_not_written_through() {
        let dir = scratch();
        let outside = scratch();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("disk")).unwrap();
        let lock = FolderLock::take(dir.path()).unwrap();
        let error = lock
            .replace(&dir.path().join("disk/s.json"), b"1")
            .unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_second_taker_waits_for_the_first() {
        let dir = scratch();
        let first = FolderLock::take(dir.path()).unwrap();
        let other = File::open(dir.path()).unwrap();
        assert!(matches!(
            other.try_lock(),
            Err(fs::TryLockError::WouldBlock)
        ));
        drop(first);
        other.try_lock().unwrap();
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_sibling() {
        let dir = scratch();
        // A folder in the way makes the rename fail after the sibling was written.
        let path = dir.path().join("taken");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("old"), "old").unwrap();
        assert!(replace_file(&path, b"new").is_err());
        assert_eq!(fs::read_to_string(path.join("old")).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    const CHILD: &str = "IOGATE_TEST_REPLACE";
    const CHILD_ARGS: [&str; 3] = [
        "store::replace::tests::child_that_replaces_for_ever",
        "--exact",
        "--ignored",
    ];

    /// Long enough that a kill falls into the middle of a write.
    fn text(n: u64) -> Vec<u8> {
        format!("{n}\n").repeat(200_000).into_bytes()
    }

    #[test]
    #[ignore = "writes until the test below kills it"]
    fn child_that_replaces_for_ever() {
        let Some(path) = std::env::var_os(CHILD) else {
            return;
        };
        let path = Path::new(&path);
        for n in 0.. {
            let lock = FolderLock::take(path.parent().unwrap()).unwrap();
            lock.replace(path, &text(n)).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_kill_leaves_the_old_file_or_the_new_one_and_a_free_lock() {
        let dir = scratch();
        let path = dir.path().join("b.json");
        fs::write(&path, text(0)).unwrap();
        for pause in 1..=12 {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(CHILD_ARGS)
                .env(CHILD, &path)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_millis(10 + 7 * pause));
            child.kill().unwrap();
            child.wait().unwrap();
            let found = fs::read_to_string(&path).unwrap();
            let first: u64 = found.lines().next().unwrap().parse().unwrap();
            assert!(found.as_bytes() == text(first), "torn after {first}");
        }
        let lock = FolderLock::take(dir.path()).unwrap();
        lock.replace(&path, b"last").unwrap();
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "leftovers are swept"
        );
    }

    #[cfg(unix)]
    #[test]
    fn running_out_of_space_is_an_error_that_leaves_the_old_file_alone() {
        let dir = scratch();
        let path = dir.path().join("b.json");
        fs::write(&path, "old").unwrap();
        // A limit on file size fails a write as a full disk does, without mounting one.
        let output = std::process::Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(CHILD_ARGS)
            .env(CHILD, &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(
            !output.status.success() && said.contains("b.json"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
