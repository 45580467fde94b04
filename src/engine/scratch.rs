//! The files of a session: scratch that has no name from birth, or an existing file that is only read.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::sample::MeasureError;
use crate::units::Bytes;

/// Where the kernel shows this process's open files; opening one of them anew keeps an unlinked file.
const OPEN_FILES: &str = "/proc/self/fd";
/// Only the owner: what lies in scratch is nobody's business.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Errors by which file systems without `O_TMPFILE` (NFS, FUSE, vfat, overlay of old) or kernels say so.
const NO_TMPFILE: [Errno; 4] = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT, Errno::INVAL];

/// One file, held open for as long as the session lasts.
pub(super) struct Anchor {
    file: File,
    writable: bool,
}

impl Anchor {
    /// A new file without a name in `dir`: a kill leaves nothing.
    pub(super) fn scratch(dir: &Path) -> Result<Self, MeasureError> {
        let setup = |e: Errno| MeasureError::Setup {
            what: format!("create a scratch file in {}", dir.display()),
            source: e.into(),
        };
        let open = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = rustix::fs::open(dir, open, Mode::empty()).map_err(setup)?;
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&parent, ".", flags, PRIVATE) {
            Err(e) if NO_TMPFILE.contains(&e) => create_and_unlink(&parent),
            other => other,
        };
        Ok(Self {
            file: File::from(fd.map_err(setup)?),
            writable: true,
        })
    }

    /// An existing file or block device, never changed.
    pub(super) fn existing(path: &Path) -> Result<Self, MeasureError> {
        let file = File::open(path);
        let what = || format!("open {} for reading", path.display());
        let file = file.map_err(|source| MeasureError::Setup {
            what: what(),
            source,
        })?;
        Ok(Self {
            file,
            writable: false,
        })
    }

    /// The file as held: through the page cache.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Opens the same file anew, with a read-ahead state of its own.
    pub(super) fn reopen(&self, direct: bool) -> Result<File, MeasureError> {
        let path = format!("{OPEN_FILES}/{}", self.file.as_raw_fd());
        let mut flags = if self.writable {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        flags |= OFlags::CLOEXEC;
        if direct {
            flags |= OFlags::DIRECT;
        }
        // Only an owner may leave the access time alone.
        let open = |flags| rustix::fs::open(&path, flags, Mode::empty());
        let fd = match open(flags | OFlags::NOATIME) {
            Err(Errno::PERM) => open(flags),
            other => other,
        };
        let what = || {
            format!(
                "open the file anew{}",
                if direct { " for direct I/O" } else { "" }
            )
        };
        fd.map(File::from).map_err(|e| MeasureError::Setup {
            what: what(),
            source: e.into(),
        })
    }

    /// Reserves blocks, where the file system can.
    pub(super) fn allocate(&self, length: u64) -> Result<(), MeasureError> {
        match rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, length) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(e) => Err(MeasureError::Setup {
                what: format!("reserve {} for scratch", Bytes(length)),
                source: e.into(),
            }),
        }
    }

    /// Makes written data durable.
    pub(super) fn sync(&self) -> Result<(), MeasureError> {
        let source = match rustix::fs::fdatasync(&self.file) {
            Ok(()) => return Ok(()),
            Err(e) => e.into(),
        };
        Err(MeasureError::Io {
            op: "fdatasync",
            offset: 0,
            len: 0,
            source,
        })
    }

    /// Drops clean pages of the whole file from the page cache.
    pub(super) fn evict(&self) -> Result<(), MeasureError> {
        let dropped = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
        dropped.map_err(|e| MeasureError::Io {
            op: "posix_fadvise",
            offset: 0,
            len: 0,
            source: e.into(),
        })
    }
}

/// The next best: a name nobody can guess, gone at once.
fn create_and_unlink(parent: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names = fastrand::Rng::new();
    loop {
        let name =
            CString::new(format!(".iogate-{:016x}", names.u64(..))).map_err(|_| Errno::INVAL)?;
        match rustix::fs::openat(parent, &name, flags, PRIVATE) {
            Err(Errno::EXIST) => {}
            Err(e) => return Err(e),
            Ok(fd) => {
                rustix::fs::unlinkat(parent.as_fd(), &name, AtFlags::empty())?;
                return Ok(fd);
            }
        }
    }
}

/// Whether an error says that the file cannot be opened for, or asked to do, direct I/O.
pub(super) fn refuses_direct(error: &MeasureError) -> bool {
    let refuses = |e: &io::Error| {
        matches!(
            Errno::from_io_error(e),
            Some(Errno::INVAL | Errno::OPNOTSUPP)
        )
    };
    match error {
        MeasureError::Setup { source, .. } | MeasureError::Io { source, .. } => refuses(source),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn scratch_has_no_name_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let anchor = Anchor::scratch(dir.path()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let meta = anchor.file().metadata().unwrap();
        assert_eq!((meta.nlink(), meta.mode() & 0o777), (0, 0o600));
    }

    #[test]
    fn without_a_nameless_file_the_name_is_gone_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let parent = OwnedFd::from(File::open(dir.path()).unwrap());
        let file = File::from(create_and_unlink(&parent).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        file.write_all_at(b"still here", 0).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_reopened_scratch_is_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let anchor = Anchor::scratch(dir.path()).unwrap();
        anchor.file().write_all_at(b"data", 0).unwrap();
        let again = anchor.reopen(false).unwrap();
        let mut read = [0; 4];
        again.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"data");
        assert_ne!(again.as_raw_fd(), anchor.file().as_raw_fd());
    }

    #[test]
    fn an_existing_file_cannot_be_written_through_its_anchor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, b"data").unwrap();
        let anchor = Anchor::existing(&path).unwrap();
        assert!(anchor.file().write_all_at(b"x", 0).is_err());
        assert!(anchor.reopen(false).unwrap().write_all_at(b"x", 0).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"data");
    }

    #[test]
    fn a_directory_that_is_missing_is_named() {
        let error = Anchor::scratch(Path::new("/nowhere/at/all")).err().unwrap();
        assert!(
            error
                .to_string()
                .starts_with("create a scratch file in /nowhere/at/all: "),
            "{error}"
        );
    }
}
