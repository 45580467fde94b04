//! From a mount or a device number down to the disks at the bottom: partition → disk, device mapper and md → their
//! slaves, loop → the disk of its file, btrfs → its devices, NVMe multipath → its hidden paths.
//!
//! Only links are followed, no name is cut. A stack that cannot be told whole is empty: never a wrong disk.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::facts::{Layer, LayerKind};

use super::layer;
use super::mounts::{Mount, Mounts};
use super::roots::{DevNo, Roots, file_name, names};
use super::sys;

/// Deeper is a circle, not a stack.
const DEEPEST: u32 = 16;

/// The block devices below a target.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stack {
    /// Top first; empty when unknown.
    pub(crate) layers: Vec<Layer>,
    /// A leaf lies in memory: loop over tmpfs, zram, RAM disk.
    pub(crate) memory: bool,
}

/// The stack below a mounted file system; empty for FUSE, NFS, ZFS, overlay and memory.
pub(crate) fn of_mount(roots: &Roots, mounts: &Mounts, mount: &Mount) -> Stack {
    let walk = Walk { roots, mounts };
    walk.down(walk.tops(mount).unwrap_or_default())
}

/// The stack below a block device, itself on top.
pub(crate) fn of_device(roots: &Roots, mounts: &Mounts, dev: DevNo) -> Stack {
    Walk { roots, mounts }.down(roots.block(dev).into_iter().collect())
}

/// The sysfs folder of the device a mount source names, by node name or by the link udev keeps for it.
pub(crate) fn source_dir(roots: &Roots, source: &str) -> Option<PathBuf> {
    if !source.starts_with('/') {
        return None;
    }
    let node = roots.rebase(Path::new(source));
    if let Ok(meta) = fs::metadata(&node)
        && meta.file_type().is_block_device()
    {
        return roots.block(DevNo::from_raw(meta.rdev()));
    }
    let target = match fs::read_link(&node) {
        Ok(link) => node.parent()?.join(link),
        Err(_) => node,
    };
    // The link is relative (`../dm-0`); what is left after the device folder is the kernel's name.
    let name = match target.strip_prefix(&roots.dev) {
        Ok(rest) if !rest.components().any(|c| c.as_os_str() == "..") => {
            rest.to_string_lossy().replace('/', "!")
        }
        _ => file_name(&target),
    };
    roots.named(&name)
}

/// UUID of the btrfs that has this kernel name among its devices: the name of its sysfs folder.
pub(crate) fn btrfs_of(roots: &Roots, name: &str) -> Option<PathBuf> {
    let all = roots.sys.join("fs/btrfs");
    names(&all)
        .into_iter()
        .map(|uuid| all.join(uuid))
        .find(|fs| fs.join("devices").join(name).exists())
}

struct Walk<'a> {
    roots: &'a Roots,
    mounts: &'a Mounts,
}

impl Walk<'_> {
    /// The devices directly below a mount; `None` when they cannot all be told.
    fn tops(&self, mount: &Mount) -> Option<Vec<PathBuf>> {
        if !mount.dev.anonymous() {
            return Some(vec![self.roots.block(mount.dev)?]);
        }
        match mount.kind.as_str() {
            "btrfs" => {
                let one = source_dir(self.roots, &mount.source)?;
                let Some(fs) = btrfs_of(self.roots, &file_name(&one)) else {
                    // Without the list there may be a second device: say nothing rather than half.
                    return None;
                };
                names(&fs.join("devices"))
                    .iter()
                    .map(|name| self.roots.named(name))
                    .collect()
            }
            "bcachefs" => mount
                .source
                .split(':')
                .map(|s| source_dir(self.roots, s))
                .collect(),
            _ => None,
        }
    }

    /// Level by level; a device met again further down (two partitions of one disk) moves there.
    fn down(&self, tops: Vec<PathBuf>) -> Stack {
        let mut stack = Stack::default();
        let mut level = tops;
        for depth in 0..DEEPEST {
            let mut next = Vec::new();
            for dir in &level {
                let below = self.below(dir);
                stack.memory |= below.memory || layer::in_memory(&file_name(dir));
                stack.layers.retain(|l| l.name != file_name(dir));
                let leaf = below.dirs.is_empty();
                stack
                    .layers
                    .push(layer::layer(dir, depth, leaf, below.backing_file));
                next.extend(below.dirs);
            }
            next.sort();
            next.dedup();
            level = next;
        }
        if level.is_empty() {
            stack
        } else {
            Stack::default()
        }
    }

    fn below(&self, dir: &Path) -> Below {
        match layer::kind(dir) {
            LayerKind::Partition => Below::dirs(vec![layer::whole_disk(dir)]),
            LayerKind::Loop => self.behind_loop(dir),
            _ => {
                let slaves = linked(&dir.join("slaves"));
                if slaves.is_empty() {
                    Below::dirs(self.nvme_paths(dir))
                } else {
                    Below::dirs(slaves)
                }
            }
        }
    }

    /// The hidden paths of an NVMe multipath head: its `multipath` folder (Linux 6.15), else by the names the driver
    /// gives them: head `nvme{S}n{N}`, path `nvme{S}c{C}n{N}`.
    fn nvme_paths(&self, dir: &Path) -> Vec<PathBuf> {
        let listed = linked(&dir.join("multipath"));
        if !listed.is_empty() {
            return listed;
        }
        let Some((subsystem, None, namespace)) = nvme_name(&file_name(dir)) else {
            return Vec::new();
        };
        names(&self.roots.sys.join("class/block"))
            .iter()
            .filter(|n| matches!(nvme_name(n), Some((s, Some(_), ns)) if s == subsystem && ns == namespace))
            .filter_map(|n| self.roots.named(n))
            .collect()
    }

    /// What a loop device stands on. The device itself knows device and inode of its file; without the right to ask,
    /// the path in sysfs serves if such a file exists here.
    fn behind_loop(&self, dir: &Path) -> Below {
        let Some(path) = backing_path(dir) else {
            return Below::default();
        };
        let told = File::open(self.roots.node(&file_name(dir)))
            .and_then(|node| sys::loop_backing(&node))
            .ok();
        // A file of that name may be another one, where the loop was set up in another mount namespace.
        let found = fs::metadata(&path)
            .ok()
            .filter(|m| told.is_none_or(|(dev, ino)| (m.dev(), m.ino()) == (dev, ino)));
        let rdev = found
            .as_ref()
            .filter(|m| m.file_type().is_block_device())
            .map(|m| DevNo::from_raw(m.rdev()));
        let stack = match (told.map(|(dev, _)| DevNo::from_raw(dev)), rdev) {
            (_, Some(rdev)) => Self::ends(self.roots.block(rdev)),
            (Some(dev), None) if !dev.anonymous() => Self::ends(self.roots.block(dev)),
            (dev, None) => {
                let by_path = found.and_then(|_| self.mounts.holding(&path, None));
                let by_dev = || dev.and_then(|d| self.mounts.0.iter().find(|m| m.dev == d));
                self.under(by_path.or_else(by_dev))
            }
        };
        Below {
            backing_file: Some(path),
            ..stack
        }
    }

    fn ends(dir: Option<PathBuf>) -> Below {
        Below::dirs(dir.into_iter().collect())
    }

    fn under(&self, mount: Option<&Mount>) -> Below {
        let Some(mount) = mount else {
            return Below::default();
        };
        Below {
            dirs: self.tops(mount).unwrap_or_default(),
            memory: mount.in_memory(),
            backing_file: None,
        }
    }
}

#[derive(Default)]
struct Below {
    dirs: Vec<PathBuf>,
    memory: bool,
    backing_file: Option<PathBuf>,
}

impl Below {
    fn dirs(dirs: Vec<PathBuf>) -> Self {
        Self {
            dirs,
            ..Self::default()
        }
    }
}

/// `loop/backing_file` without the newline and without the note that the file has no name any more.
fn backing_path(dir: &Path) -> Option<PathBuf> {
    let mut bytes = fs::read(dir.join("loop/backing_file")).ok()?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    const DELETED: &[u8] = b" (deleted)";
    let real = Path::new(&OsString::from_vec(bytes.clone())).exists();
    if !real && bytes.ends_with(DELETED) {
        bytes.truncate(bytes.len() - DELETED.len());
    }
    (!bytes.is_empty()).then(|| OsString::from_vec(bytes).into())
}

/// Where the links in a folder lead; all of them or none.
fn linked(dir: &Path) -> Vec<PathBuf> {
    names(dir)
        .iter()
        .map(|name| fs::canonicalize(dir.join(name)).ok())
        .collect::<Option<Vec<_>>>()
        .unwrap_or_default()
}

/// `nvme0n1` → (0, None, 1); `nvme0c2n1` → (0, Some(2), 1).
fn nvme_name(name: &str) -> Option<(u32, Option<u32>, u32)> {
    let (before, namespace) = name.strip_prefix("nvme")?.rsplit_once('n')?;
    let (subsystem, path) = match before.split_once('c') {
        Some((s, c)) => (s, Some(c.parse().ok()?)),
        None => (before, None),
    };
    Some((subsystem.parse().ok()?, path, namespace.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvme_heads_and_paths_are_told_apart_by_their_whole_names() {
        assert_eq!(nvme_name("nvme0n1"), Some((0, None, 1)));
        assert_eq!(nvme_name("nvme12c3n40"), Some((12, Some(3), 40)));
        for other in [
            "nvme0n1p1",
            "nvme0",
            "nvmen1",
            "sda",
            "nvme0cn1",
            "nvme0c1n",
        ] {
            assert_eq!(nvme_name(other), None, "{other}");
        }
    }
}
