//! Why a target must not be measured: what was found, and what to do about it. Also the space check.

use std::io;
use std::path::{Path, PathBuf};

use crate::units::{Bytes, GIB};

/// A target that is not measured. Each text is a whole sentence for the person who named it.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// An empty name: most often a variable that is not set.
    #[error(
        "the name of the disk is empty (is a variable not set?); name a directory on the disk to measure"
    )]
    EmptyName,
    /// Nothing there.
    #[error(
        "{} does not exist; the nearest directory that does is {}. Create it, or mount the disk first",
        path.display(), nearest.display()
    )]
    Missing {
        /// As named, made absolute.
        path: PathBuf,
        /// The deepest directory above it that exists.
        nearest: PathBuf,
    },
    /// The root directory.
    #[error(
        "{} is the root directory; name a directory below it, so that scratch files have a place of their own",
        .0.display()
    )]
    Root(PathBuf),
    /// A regular file, socket or pipe.
    #[error(
        "{} is a {found}, neither a directory nor a block device; to read an existing file, name its directory here \
         and the file in the suite (`file = …`)",
        path.display()
    )]
    NotADirectory {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A character device.
    #[error(
        "{} is a character device, which has no blocks to read; a disk is a block device or a directory on one",
        .0.display()
    )]
    CharacterDevice(PathBuf),
    /// Inside the device tree, and not a block device.
    #[error(
        "{} lies in the device tree ({kind} at {}) and is not a block device: a scratch file would take memory, not \
         disk. Name a directory on the disk, or the device node itself",
        path.display(), mount_point.display()
    )]
    DeviceTree {
        /// The path.
        path: PathBuf,
        /// File system type there.
        kind: String,
        /// Where that is mounted.
        mount_point: PathBuf,
    },
    /// proc, sysfs, cgroup and the like.
    #[error(
        "{} lies on {kind}, which the kernel makes up and no disk stores; name a directory on the disk",
        path.display()
    )]
    KernelFiles {
        /// The path.
        path: PathBuf,
        /// File system type there.
        kind: String,
    },
    /// tmpfs or ramfs, told by the file-system type and never by an error of a system call.
    #[error(
        "{} lies on {kind} (mounted at {}): memory, not a disk. Name a directory on the disk, or say --allow-memory",
        path.display(), mount_point.display()
    )]
    Memory {
        /// The path.
        path: PathBuf,
        /// `tmpfs`, `ramfs` or `rootfs`.
        kind: String,
        /// Where that is mounted.
        mount_point: PathBuf,
    },
    /// A container's layered root.
    #[error(
        "{} lies on an overlay (mounted at {}): which disk is below cannot be told. Name a directory on a volume, or \
         say --allow-overlay",
        path.display(), mount_point.display()
    )]
    Overlay {
        /// The path.
        path: PathBuf,
        /// Where that is mounted.
        mount_point: PathBuf,
    },
    /// Mounted read-only.
    #[error(
        "{} is mounted read-only at {} ({options}); remount it with `mount -o remount,rw`, or name another directory",
        path.display(), mount_point.display()
    )]
    ReadOnlyMount {
        /// The path.
        path: PathBuf,
        /// Where the file system is mounted.
        mount_point: PathBuf,
        /// Mount and super options.
        options: String,
    },
    /// This user may not write there.
    #[error(
        "{} is not writable for this user: {source}. Give the user a directory of its own there (mkdir, chown)",
        path.display()
    )]
    Unwritable {
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The path cannot be followed: no right to search, a loop of links, a name too long.
    #[error(
        "{} cannot be reached: {source}. Name an existing directory, all of whose parents this user may enter",
        path.display()
    )]
    Unreachable {
        /// The path as given.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The path led elsewhere a moment ago.
    #[error(
        "{} is not the directory it was a moment ago: its disk was unmounted, or another was mounted over it. Nothing \
         was written to what is there now; run again once the disk is back",
        .0.display()
    )]
    Moved(PathBuf),
    /// The baseline was taken on a mount of its own, and now the directory lies on another file system.
    #[error(
        "{} was a mount point when its baseline was accepted and is none now: it lies on {kind} mounted at {}. Mount \
         the disk, or accept a new baseline if it moved",
        path.display(), mount_point.display()
    )]
    NotAMountPoint {
        /// The path.
        path: PathBuf,
        /// File system type it lies on now.
        kind: String,
        /// Where that is mounted.
        mount_point: PathBuf,
    },
    /// A block device that this user cannot read.
    #[error(
        "{} cannot be read: {source}. Run as root or as a member of the group that owns it; a container must be given the device",
        path.display()
    )]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Not enough room.
    #[error(
        "{} has {free} free and this needs {needs} and leaves {reserve} for others; free {}, or set a smaller `size`",
        path.display(), short(*needs, *reserve, *free)
    )]
    Space {
        /// The path.
        path: PathBuf,
        /// Bytes of the plan.
        needs: Bytes,
        /// Bytes left for others, see [`reserve`].
        reserve: Bytes,
        /// Bytes free for this user.
        free: Bytes,
    },
    /// A device that must not be written to.
    #[error(
        "{} must not be overwritten: {found}. Nothing was written",
        device.display()
    )]
    Destroy {
        /// The device named.
        device: PathBuf,
        /// What stands in the way.
        found: String,
    },
    /// The kernel's tables could not be read.
    #[error("failed to {what}: {source}")]
    Unknown {
        /// What was being looked at.
        what: String,
        /// The error.
        source: io::Error,
    },
}

fn short(needs: Bytes, reserve: Bytes, free: Bytes) -> Bytes {
    Bytes(needs.0.saturating_add(reserve.0).saturating_sub(free.0))
}

impl Refusal {
    pub(crate) fn unknown(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Unknown { what, source }
    }
}

/// Free and total bytes of the file system that holds `path`; free are those an unprivileged writer may take.
///
/// # Errors
/// Those of statvfs(3).
pub fn space(path: &Path) -> io::Result<(Bytes, Bytes)> {
    let s = rustix::fs::statvfs(path)?;
    Ok((
        Bytes(s.f_bavail.saturating_mul(s.f_frsize)),
        Bytes(s.f_blocks.saturating_mul(s.f_frsize)),
    ))
}

/// What a measurement leaves free: 5 % of the file system, since allocators scatter files on a disk that is nearly
/// full, but at most 16 GiB. A fixed gigabyte would take half of a small test disk.
#[must_use]
pub fn reserve(total: Bytes) -> Bytes {
    Bytes((total.0 / 20).min(16 * GIB))
}

/// Whether `needs` bytes fit into `free` of `total` with the [`reserve`] left over.
///
/// # Errors
/// [`Refusal::Space`] with the bytes needed and free.
pub fn check_space(
    path: &Path,
    needs: Bytes,
    (free, total): (Bytes, Bytes),
) -> Result<(), Refusal> {
    let reserve = reserve(total);
    if needs.0.saturating_add(reserve.0) <= free.0 {
        return Ok(());
    }
    Err(Refusal::Space {
        path: path.to_owned(),
        needs,
        reserve,
        free,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_enough_up_to_the_reserve_and_not_a_byte_beyond() {
        let total = Bytes(20 * GIB);
        let check = |needs| check_space(Path::new("/d"), Bytes(needs), (Bytes(5 * GIB), total));
        assert!(check(4 * GIB).is_ok());
        let refused = check(4 * GIB + 1).unwrap_err().to_string();
        assert!(
            refused.contains("5 GiB free") && refused.contains("free 1 B"),
            "{refused}"
        );
        assert!(check(u64::MAX).is_err());
    }

    #[test]
    fn the_reserve_is_a_twentieth_and_bounded() {
        assert_eq!(reserve(Bytes(2 * GIB)), Bytes(GIB / 10));
        assert_eq!(reserve(Bytes(1000 * GIB)), Bytes(16 * GIB));
        assert_eq!(reserve(Bytes(0)), Bytes(0));
    }

    #[test]
    fn space_of_a_missing_path_is_an_error() {
        assert!(space(Path::new("/nonexistent/iogate")).is_err());
    }
}
