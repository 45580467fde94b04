//! One measurement at a time per disk: flock(2) on the mount point's directory and on the node of every leaf disk.
//!
//! The directory alone would miss two partitions, subvolumes or bind mounts of one disk; the nodes need the right to
//! read them. No file is made, and the kernel frees both when the process is gone. Waiting is the caller's: it calls
//! again and prints what [`Busy`] says.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;

use super::label::open_node;
use super::look::Looked;
use super::roots::{DevNo, Roots, attr};

/// Holds the disk until dropped. Its descriptors are close-on-exec.
#[derive(Debug)]
#[must_use = "the disk is free again when this is dropped"]
pub struct DiskLock {
    held: Vec<File>,
    note: Option<String>,
}

impl DiskLock {
    /// `lock: mount only (…)` when a disk's node could not be locked too; for the record.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// How many descriptors hold the disk.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Never: a lock holds something.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

impl Drop for DiskLock {
    /// Closing alone would leave the lock with a child that was forked and has not yet called exec.
    fn drop(&mut self) {
        for file in &self.held {
            // The descriptor is closed next, which frees it too.
            let _ = file.unlock();
        }
    }
}

/// Why the disk was not locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else measures it: try again later.
    #[error("{0}")]
    Busy(Busy),
    /// Not even the directory can be locked.
    #[error("failed to lock {what}: {source}")]
    Failed {
        /// What was to be locked.
        what: String,
        /// The error.
        source: io::Error,
    },
}

/// Somebody else has the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// The directory or node that is locked.
    pub what: String,
    /// Who holds it, where /proc/locks shows it.
    pub holder: Option<Holder>,
}

/// The process that took a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its command name; empty when it is gone.
    pub comm: String,
    /// It is gone or a zombie. With writes in flight through io_uring the kernel needs a second or two to reap a killed
    /// process; until then the lock stays.
    pub dead: bool,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holder {
            None => write!(f, "waiting for another measurement on {}", self.what),
            Some(h) if h.dead => write!(
                f,
                "waiting for {} on {}: dead, I/O draining",
                h.pid, self.what
            ),
            Some(h) => write!(f, "waiting for {} ({}) on {}", h.pid, h.comm, self.what),
        }
    }
}

/// Tries once to take the disk for this process alone.
///
/// # Errors
/// [`LockError::Busy`] when somebody has it, nothing being held then; [`LockError::Failed`] when the directory or
/// device itself cannot be opened or locked at all.
pub fn try_lock(roots: &Roots, looked: &Looked) -> Result<DiskLock, LockError> {
    let facts = &looked.facts;
    let mut lock = DiskLock {
        held: Vec::new(),
        note: None,
    };
    let (file, what, dev) = match &facts.filesystem {
        // btrfs shows a number of its own in stat; locks bear that of the mount.
        Some(fs) => {
            let first = File::open(&fs.mount_point).map(|f| (f, &fs.mount_point));
            let opened = first.or_else(|_| File::open(&facts.target).map(|f| (f, &facts.target)));
            let failed = |source| LockError::Failed {
                what: fs.mount_point.display().to_string(),
                source,
            };
            let (file, path) = opened.map_err(failed)?;
            (file, path.display().to_string(), fs.dev.parse().ok())
        }
        None => {
            let what = facts.target.display().to_string();
            match File::open(&facts.target) {
                Ok(file) => (file, what, None),
                Err(source) => return Err(LockError::Failed { what, source }),
            }
        }
    };
    take(roots, &mut lock, file, &what, dev)?;
    let mut leaves: Vec<_> = facts.leaves().filter(|l| !l.dev.is_empty()).collect();
    // The same order in every process.
    leaves.sort_by(|a, b| a.name.cmp(&b.name));
    if facts.leaves().count() == 0 {
        lock.note = Some("lock: mount only (no block device known)".to_owned());
    }
    for leaf in leaves {
        match open_node(roots, leaf) {
            // The raw device itself is locked already.
            Ok(node) if facts.filesystem.is_none() && same(&node, &lock.held[0]) => {}
            Ok(node) => take(roots, &mut lock, node, &leaf.name, None)?,
            Err(why) => lock.note = Some(format!("lock: mount only ({why})")),
        }
    }
    Ok(lock)
}

fn same(a: &File, b: &File) -> bool {
    let inode = |f: &File| f.metadata().map(|m| (m.dev(), m.ino())).ok();
    inode(a).is_some() && inode(a) == inode(b)
}

fn take(
    roots: &Roots,
    lock: &mut DiskLock,
    file: File,
    what: &str,
    dev: Option<DevNo>,
) -> Result<(), LockError> {
    match file.try_lock() {
        Ok(()) => {
            lock.held.push(file);
            Ok(())
        }
        Err(TryLockError::WouldBlock) => Err(LockError::Busy(Busy {
            what: what.to_owned(),
            holder: holder(roots, &file, dev),
        })),
        Err(TryLockError::Error(source)) => Err(LockError::Failed {
            what: what.to_owned(),
            source,
        }),
    }
}

fn holder(roots: &Roots, file: &File, dev: Option<DevNo>) -> Option<Holder> {
    let meta = file.metadata().ok()?;
    let dev = dev.unwrap_or_else(|| DevNo::from_raw(meta.dev()));
    let locks = roots.proc_text("locks").ok()?;
    let pid = holding_pid(&locks, dev, meta.ino())?;
    let dir = roots.proc.join(pid.to_string());
    // `pid (comm) state …`; a command name may hold anything, so the state is what follows the last bracket.
    let state = attr(&dir, "stat").and_then(|s| s.rsplit_once(')')?.1.trim().chars().next());
    Some(Holder {
        pid,
        comm: attr(&dir, "comm").unwrap_or_default(),
        dead: matches!(state, None | Some('Z' | 'X')),
    })
}

/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:12345 0 EOF`: numbers of the device in hex, waiters marked with `->`. A pid
/// outside of this pid namespace shows as 0 or -1.
fn holding_pid(locks: &str, dev: DevNo, inode: u64) -> Option<u32> {
    let id = format!("{:02x}:{:02x}:{inode}", dev.major, dev.minor);
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, at, ..] = fields[..] else {
            return None;
        };
        (at == id)
            .then(|| pid.parse().ok())
            .flatten()
            .filter(|p| *p > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fake::Tree;

    const LOCKS: &str = "1: POSIX  ADVISORY  WRITE 11 fe:00:2 0 EOF\n\
                         2: FLOCK  ADVISORY  WRITE 22 fe:00:20 0 EOF\n\
                         2: -> FLOCK  ADVISORY  WRITE 33 fe:00:20 0 EOF\n\
                         3: FLOCK  ADVISORY  WRITE 0 00:27:256 0 EOF\n\
                         4: FLOCK  ADVISORY  READ 44 103:1a:256 0 EOF\n";

    #[test]
    fn the_holder_is_the_flock_on_that_very_inode_and_not_a_waiter() {
        let pid = |major, minor, inode| holding_pid(LOCKS, DevNo { major, minor }, inode);
        assert_eq!(pid(254, 0, 20), Some(22));
        assert_eq!(pid(254, 0, 2), None);
        assert_eq!(pid(259, 26, 256), Some(44));
        assert_eq!(pid(0, 39, 256), None, "a pid of another namespace");
        assert_eq!(holding_pid("", DevNo { major: 1, minor: 1 }, 1), None);
        assert_eq!(
            holding_pid("garbage\n1:\n", DevNo { major: 1, minor: 1 }, 1),
            None
        );
    }

    #[test]
    fn a_holder_that_is_gone_or_a_zombie_is_dead() {
        let t = Tree::new();
        let file = tempfile::tempfile().unwrap();
        let meta = file.metadata().unwrap();
        let dev = DevNo::from_raw(meta.dev());
        let line = |pid| {
            format!(
                "1: FLOCK ADVISORY WRITE {pid} {:02x}:{:02x}:{} 0 EOF\n",
                dev.major,
                dev.minor,
                meta.ino()
            )
        };
        t.proc("locks", &line(77));
        assert!(holder(&t.roots, &file, None).unwrap().dead);
        t.proc("77/comm", "a) Z (b\n");
        t.proc("77/stat", "77 (a) Z (b) S 1 2 3\n");
        let alive = holder(&t.roots, &file, None).unwrap();
        assert_eq!((alive.comm.as_str(), alive.dead), ("a) Z (b", false));
        t.proc("77/stat", "77 (a) Z (b) Z 1 2 3\n");
        assert!(holder(&t.roots, &file, None).unwrap().dead);
    }

    #[test]
    fn what_is_waited_for_is_named() {
        let busy = |holder| {
            Busy {
                what: "/mnt".into(),
                holder,
            }
            .to_string()
        };
        let h = |dead| {
            Some(Holder {
                pid: 7,
                comm: "gate".into(),
                dead,
            })
        };
        assert_eq!(busy(h(false)), "waiting for 7 (gate) on /mnt");
        assert_eq!(busy(h(true)), "waiting for 7 on /mnt: dead, I/O draining");
        assert_eq!(busy(None), "waiting for another measurement on /mnt");
    }
}
