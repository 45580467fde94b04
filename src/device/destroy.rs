//! Whether a raw block device may be overwritten. Every check refuses; none repairs, and nothing is written here.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use super::mounts::{Mounts, unescape};
use super::refusal::Refusal;
use super::roots::{DevNo, Roots, attr, file_name, names, number};
use super::{stack, superblock};

/// Whether `device` may be overwritten: `named` (the value of `--destroy`) is the same device, and neither it nor
/// anything on it is mounted, swap, held by another layer, opened for itself by anyone, or bears a partition table or
/// a signature known here.
///
/// # Errors
/// [`Refusal::Destroy`] with what was found; [`Refusal::Unknown`] when a table could not be read, which refuses too.
pub fn may_destroy(roots: &Roots, device: &Path, named: &Path) -> Result<(), Refusal> {
    let refuse = |found: String| Refusal::Destroy {
        device: device.to_path_buf(),
        found,
    };
    let dev = number_of(device).map_err(&refuse)?;
    if dev != number_of(named).map_err(&refuse)? {
        return Err(refuse(format!(
            "--destroy names another device, {}",
            named.display()
        )));
    }
    let dir = roots
        .block(dev)
        .ok_or_else(|| refuse(format!("the kernel shows no device {dev} in sysfs")))?;
    in_use(roots, &dir).map_err(&refuse)?;
    mounted(roots, &dir)?.map_or(Ok(()), |found| Err(refuse(found)))?;
    swap(roots, &dir)?.map_or(Ok(()), |found| Err(refuse(found)))?;
    // A claim covers what the tables do not show: mounts of other namespaces, ZFS, an open in progress.
    let file = exclusive(device).map_err(|e| {
        refuse(match e.raw_os_error() {
            Some(libc::EBUSY) => "it is in use (an exclusive open says busy)".to_owned(),
            _ => format!("it cannot be opened: {e}"),
        })
    })?;
    if file.metadata().map(|m| m.rdev()).ok().map(DevNo::from_raw) != Some(dev) {
        return Err(refuse("the node was replaced meanwhile".to_owned()));
    }
    match superblock::signature(&file) {
        Ok(None) => Ok(()),
        Ok(Some(what)) => Err(refuse(format!(
            "it bears {what}; if it is to be lost, remove it yourself with `wipefs --all`"
        ))),
        Err(e) => Err(refuse(format!("it cannot be read: {e}"))),
    }
}

fn number_of(path: &Path) -> Result<DevNo, String> {
    let meta = fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if meta.file_type().is_block_device() {
        Ok(DevNo::from_raw(meta.rdev()))
    } else {
        Err(format!("{} is not a block device", path.display()))
    }
}

/// A claim that the kernel grants to one opener at a time, mounts and stacked devices included.
fn exclusive(device: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(device)
}

/// What sysfs says: read-only, partitions, holders, a loop over it, a member of a btrfs.
fn in_use(roots: &Roots, dir: &Path) -> Result<(), String> {
    if number(dir, "ro") == Some(1) {
        return Err("it is read-only".to_owned());
    }
    let partitions = partitions(dir);
    if let Some(first) = partitions.first() {
        return Err(format!("it has partitions ({}, …)", file_name(first)));
    }
    if let Some(holder) = names(&dir.join("holders")).first() {
        return Err(format!("{holder} is built on it"));
    }
    let name = file_name(dir);
    if let Some(fs) = stack::btrfs_of(roots, &name) {
        return Err(format!(
            "it belongs to the mounted btrfs {}",
            file_name(&fs)
        ));
    }
    let node = roots.node(&name);
    for other in names(&roots.sys.join("class/block")) {
        let path = roots.sys.join("class/block").join(&other);
        if attr(&path, "loop/backing_file").is_some_and(|f| Path::new(&f) == node) {
            return Err(format!("{other} is a loop over it"));
        }
    }
    Ok(())
}

fn partitions(dir: &Path) -> Vec<PathBuf> {
    names(dir)
        .into_iter()
        .map(|n| dir.join(n))
        .filter(|d| d.join("partition").exists())
        .collect()
}

/// A mount of the device itself, by number or by source. Partitions and holders were refused before.
fn mounted(roots: &Roots, dir: &Path) -> Result<Option<String>, Refusal> {
    let mounts = Mounts::read(roots).map_err(Refusal::unknown("read the table of mounts"))?;
    let dev: Option<DevNo> = attr(dir, "dev").and_then(|d| d.parse().ok());
    let on_it = mounts.0.iter().find(|m| {
        Some(m.dev) == dev
            || (m.source.starts_with('/')
                && stack::source_dir(roots, &m.source).is_some_and(|d| d == dir))
    });
    Ok(on_it.map(|m| format!("it is mounted at {}", m.point.display())))
}

/// A line of `swaps` that names the device. Paths are escaped as in mountinfo.
fn swap(roots: &Roots, dir: &Path) -> Result<Option<String>, Refusal> {
    let text = match roots.proc_text("swaps") {
        Ok(text) => text,
        // A kernel without swap has no such file.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Refusal::unknown("read the table of swap")(e)),
    };
    let on_it = text
        .lines()
        .skip(1)
        .filter_map(|l| l.split_whitespace().next())
        .any(|path| {
            let path = String::from_utf8_lossy(&unescape(path.as_bytes())).into_owned();
            stack::source_dir(roots, &path).is_some_and(|d| d == dir)
        });
    Ok(on_it.then(|| "it is swap space in use".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fake::Tree;

    fn sda(t: &Tree) -> PathBuf {
        t.block("pci/sda", "8:0", "size=1000;ro=0");
        t.roots.named("sda").unwrap()
    }

    #[test]
    fn partitions_holders_members_loops_and_read_only_devices_are_in_use() {
        let t = Tree::new();
        assert_eq!(in_use(&t.roots, &sda(&t)), Ok(()));
        let says = |build: &dyn Fn(&Tree), want: &str| {
            let t = Tree::new();
            let dir = sda(&t);
            build(&t);
            let found = in_use(&t.roots, &dir).unwrap_err();
            assert!(found.contains(want), "{found}");
        };
        says(&|t| t.sys("devices/pci/sda/ro", "1"), "read-only");
        says(
            &|t| {
                t.block("pci/sda/sda1", "8:1", "partition=1");
            },
            "sda1",
        );
        says(
            &|t| {
                t.block("virtual/dm-3", "252:3", "dm=@");
                t.slave("virtual/dm-3", "pci/sda");
            },
            "dm-3",
        );
        says(
            &|t| t.sys_link("fs/btrfs/1111-22/devices/sda", "devices/pci/sda"),
            "1111-22",
        );
        says(
            &|t| {
                let node = t.roots.dev.join("sda").display().to_string();
                t.block("virtual/loop4", "7:4", &format!("loop/backing_file={node}"));
            },
            "loop4",
        );
    }

    #[test]
    fn a_mount_is_told_by_number_or_by_source_and_swap_by_its_line() {
        let t = Tree::new();
        let dir = sda(&t);
        t.mounts("9 1 8:0 / /a\\040b rw - ext4 /dev/other rw");
        assert!(mounted(&t.roots, &dir).unwrap().unwrap().contains("/a b"));
        t.mounts("9 1 0:40 / /pool rw - btrfs /dev/sda rw");
        assert!(mounted(&t.roots, &dir).unwrap().unwrap().contains("/pool"));
        t.mounts("9 1 8:16 / /x rw - ext4 /dev/sdb rw");
        assert_eq!(mounted(&t.roots, &dir).unwrap(), None);
        assert_eq!(swap(&t.roots, &dir).unwrap(), None);
        t.proc(
            "swaps",
            "Filename Type Size Used Priority\n/dev/sda partition 1 0 -2\n",
        );
        assert!(swap(&t.roots, &dir).unwrap().is_some());
    }

    #[test]
    fn a_table_that_cannot_be_read_refuses_too() {
        let t = Tree::new();
        let dir = sda(&t);
        assert!(matches!(
            mounted(&t.roots, &dir),
            Err(Refusal::Unknown { .. })
        ));
    }

    #[test]
    fn what_is_no_block_device_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [
            file.path(),
            Path::new("/dev/null"),
            Path::new("/nonexistent"),
        ] {
            let refused = may_destroy(&Roots::real(), path, path);
            assert!(
                matches!(refused, Err(Refusal::Destroy { .. })),
                "{}",
                path.display()
            );
        }
    }
}
