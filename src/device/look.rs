//! The whole look at a target: is it one, may it be measured, what is below it, who is it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{self, Path, PathBuf};

use nix::libc;
use rustix::fs::{Access, AtFlags, CWD, StatxFlags};

use crate::facts::{Facts, FileSystem, TargetKind};
use crate::units::Bytes;

use super::identity::{self, RawIdentity};
use super::label::{self, Told};
use super::mounts::{Mount, Mounts};
use super::refusal::{Refusal, space};
use super::roots::{DevNo, Roots};
use super::stack::{self, Stack};
use super::{align, settings};

/// What a look is allowed to find.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookOptions {
    /// Measure tmpfs and ramfs all the same.
    pub allow_memory: bool,
    /// Measure an overlay all the same.
    pub allow_overlay: bool,
    /// Where the disk was mounted when its baseline was accepted: the directory must still lie on a mount there or
    /// below.
    pub expect_mount_point: Option<PathBuf>,
    /// Salt of the identity's hash, hex.
    pub salt: String,
    /// The user's own name for the disk.
    pub name: Option<String>,
}

/// A target that may be measured.
#[derive(Debug, Clone)]
pub struct Looked {
    /// Everything found.
    pub facts: Facts,
    /// Who the disk is, in clear: to compare with a baseline under its salt.
    pub raw: RawIdentity,
    /// The directory is itself a mount point.
    pub mount_point_of_its_own: bool,
    /// Size of the file system, of the device for a raw one.
    pub total: Bytes,
    /// Which directory or node this was: a path may lead elsewhere a moment later.
    pub place: Place,
}

/// A directory or node by what the kernel knows it as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    dev: u64,
    inode: u64,
}

impl Place {
    fn of(meta: &fs::Metadata) -> Self {
        Self {
            dev: meta.dev(),
            inode: meta.ino(),
        }
    }
}

/// Whether a target still leads where it led when it was looked at.
///
/// # Errors
/// [`Refusal::Moved`] when it does not: the disk was unmounted, or another was mounted over it.
pub fn still_there(target: &Path, place: Place) -> Result<(), Refusal> {
    match fs::metadata(target) {
        Ok(meta) if Place::of(&meta) == place => Ok(()),
        _ => Err(Refusal::Moved(target.to_owned())),
    }
}

/// Whether two paths lie on one file system. Subvolumes have device numbers of their own within one mount.
///
/// # Errors
/// One of them cannot be looked at.
pub fn on_one_disk(a: &Path, b: &Path) -> io::Result<bool> {
    let same_device = fs::metadata(a)?.dev() == fs::metadata(b)?.dev();
    let same_mount = mount_id(a).is_some_and(|id| Some(id) == mount_id(b));
    Ok(same_device || same_mount)
}

/// Looks at a target. Reads only: the one file it opens for writing has no name and no bytes.
///
/// # Errors
/// A [`Refusal`] when the target is not there, not a disk, or not ours to write to.
pub fn look(roots: &Roots, target: &Path, opts: &LookOptions) -> Result<Looked, Refusal> {
    let (path, meta) = resolve(target)?;
    let kind = meta.file_type();
    let unreadable = Refusal::unknown("read the table of mounts");
    let mounts = Mounts::read(roots).map_err(unreadable)?;
    if kind.is_block_device() {
        let mut looked = block_device(roots, &mounts, path, DevNo::from_raw(meta.rdev()), opts)?;
        looked.place = Place::of(&meta);
        return Ok(looked);
    }
    let found = match () {
        () if kind.is_dir() => {
            let mut looked = directory(roots, &mounts, path, opts)?;
            looked.place = Place::of(&meta);
            return Ok(looked);
        }
        () if kind.is_char_device() => return Err(Refusal::CharacterDevice(path)),
        () if kind.is_fifo() => "pipe",
        () if kind.is_socket() => "socket",
        () => "regular file",
    };
    Err(Refusal::NotADirectory { path, found })
}

/// The absolute path without links, and what lies there.
fn resolve(target: &Path) -> Result<(PathBuf, fs::Metadata), Refusal> {
    if target.as_os_str().is_empty() {
        return Err(Refusal::EmptyName);
    }
    let read = |p: &Path| {
        let whole = fs::canonicalize(p)?;
        let meta = fs::metadata(&whole)?;
        Ok((whole, meta))
    };
    read(target).map_err(|e: io::Error| match e.kind() {
        io::ErrorKind::NotFound => {
            let path = path::absolute(target).unwrap_or_else(|_| target.to_path_buf());
            let nearest = path.ancestors().find(|p| p.is_dir());
            let nearest = nearest.unwrap_or(Path::new("/")).to_path_buf();
            Refusal::Missing { path, nearest }
        }
        _ => Refusal::Unreachable {
            path: target.to_path_buf(),
            source: e,
        },
    })
}

fn directory(
    roots: &Roots,
    mounts: &Mounts,
    path: PathBuf,
    opts: &LookOptions,
) -> Result<Looked, Refusal> {
    if path.parent().is_none() {
        return Err(Refusal::Root(path));
    }
    let mount = mounts.holding(&path, mount_id(&path)).ok_or_else(|| {
        let none = io::Error::from(io::ErrorKind::NotFound);
        Refusal::unknown(format!("find the mount that holds {}", path.display()))(none)
    })?;
    allowed(roots, mount, &path, opts)?;
    let probe = writable(mount, &path)?;
    let stack = stack::of_mount(roots, mounts, mount);
    let dir = File::open(&path).ok();
    let told = label::of_mount(roots, mount, stack.layers.first(), dir.as_ref());
    let (free, total) = space(&path).map_err(Refusal::unknown(format!(
        "ask for the space of {}",
        path.display()
    )))?;
    let no_cow = dir.as_ref().is_some_and(has_no_cow);
    let fs = file_system(mount, &told, no_cow);
    let alignment = align::of(
        &path,
        TargetKind::Directory,
        probe.as_ref(),
        stack.layers.first(),
    );
    let own = mount.point == path;
    let mut looked = assemble(
        roots,
        mounts,
        Parts {
            target: path,
            filesystem: Some(fs),
            stack,
            told,
            alignment,
            free,
            total,
        },
        opts,
    );
    looked.mount_point_of_its_own = own;
    if no_cow && mount.kind == "btrfs" {
        let settings = &mut looked.facts.settings;
        settings.insert("nocow".to_owned(), "1".to_owned());
    }
    Ok(looked)
}

fn block_device(
    roots: &Roots,
    mounts: &Mounts,
    path: PathBuf,
    dev: DevNo,
    opts: &LookOptions,
) -> Result<Looked, Refusal> {
    let refuse = |source| Refusal::Unreadable {
        path: path.clone(),
        source,
    };
    File::open(&path).map_err(refuse)?;
    let stack = stack::of_device(roots, mounts, dev);
    let size = stack.layers.first().map_or(Bytes(0), |l| l.size);
    let told = match stack.layers.first() {
        Some(top) => label::of_device(roots, top),
        None => Told::default(),
    };
    let alignment = align::of(&path, TargetKind::BlockDevice, None, stack.layers.first());
    let parts = Parts {
        target: path,
        filesystem: None,
        stack,
        told,
        alignment,
        free: size,
        total: size,
    };
    Ok(assemble(roots, mounts, parts, opts))
}

struct Parts {
    target: PathBuf,
    filesystem: Option<FileSystem>,
    stack: Stack,
    told: Told,
    alignment: crate::facts::Alignment,
    free: Bytes,
    total: Bytes,
}

fn assemble(roots: &Roots, mounts: &Mounts, parts: Parts, opts: &LookOptions) -> Looked {
    let Parts {
        target,
        filesystem,
        stack,
        told,
        alignment,
        free,
        total,
    } = parts;
    let kind = filesystem.as_ref().map_or("raw", |fs| fs.kind.as_str());
    let visible = identity::visible(&stack, kind, total);
    // Network and pooled file systems are known by what is mounted; "tmpfs" on tmpfs tells nothing.
    let source = filesystem
        .as_ref()
        .filter(|fs| fs.source.contains(['/', ':']) || fs.kind == "zfs")
        .map(|fs| fs.source.as_str());
    let raw = identity::raw(roots, &stack, &told.label, source);
    let mut host = settings::host(roots, &stack.layers);
    if let Some(why) = told.missing {
        host.notes.insert("uuid".to_owned(), why);
    }
    let facts = Facts {
        identity: identity::identity(&visible, &raw, &opts.salt, opts.name.as_deref()),
        kind: match filesystem {
            Some(_) => TargetKind::Directory,
            None => TargetKind::BlockDevice,
        },
        settings: settings::gather(roots, mounts, &stack.layers, filesystem.as_ref()),
        target,
        filesystem,
        stack: stack.layers,
        alignment,
        free,
        host,
    };
    Looked {
        facts,
        raw,
        mount_point_of_its_own: false,
        total,
        place: Place::default(),
    }
}

/// The id of the mount a path lies on (Linux 5.8), as in the first field of mountinfo.
fn mount_id(path: &Path) -> Option<u64> {
    let s = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (s.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(s.stx_mnt_id)
}

/// File systems the kernel makes up.
const MADE_UP: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// Whether a directory on this mount may be measured, by file-system type alone.
pub(crate) fn allowed(
    roots: &Roots,
    mount: &Mount,
    path: &Path,
    opts: &LookOptions,
) -> Result<(), Refusal> {
    let (path, kind, mount_point) = (path.to_path_buf(), mount.kind.clone(), mount.point.clone());
    // A container's /dev is a tmpfs: there the place tells, not the type.
    if matches!(kind.as_str(), "devtmpfs" | "devpts")
        || roots.dev == mount_point
        || path == roots.dev
    {
        return Err(Refusal::DeviceTree {
            path,
            kind,
            mount_point,
        });
    }
    if MADE_UP.contains(&kind.as_str()) {
        return Err(Refusal::KernelFiles { path, kind });
    }
    if let Some(expected) = &opts.expect_mount_point
        && !mount_point.starts_with(expected)
    {
        return Err(Refusal::NotAMountPoint {
            path: expected.clone(),
            kind,
            mount_point,
        });
    }
    if mount.in_memory() && !opts.allow_memory {
        return Err(Refusal::Memory {
            path,
            kind,
            mount_point,
        });
    }
    let layered = matches!(kind.as_str(), "overlay" | "aufs" | "fuse.fuse-overlayfs");
    if layered && !opts.allow_overlay {
        return Err(Refusal::Overlay { path, mount_point });
    }
    Ok(())
}

/// Tries it: access(2), then a file without a name. `None` where the file system makes no such files.
fn writable(mount: &Mount, path: &Path) -> Result<Option<File>, Refusal> {
    let read_only = || Refusal::ReadOnlyMount {
        path: path.to_path_buf(),
        mount_point: mount.point.clone(),
        options: mount.all_options(),
    };
    if mount.read_only() {
        return Err(read_only());
    }
    let refuse = |source: io::Error| match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem => read_only(),
        _ => Refusal::Unwritable {
            path: path.to_path_buf(),
            source,
        },
    };
    rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK).map_err(|e| refuse(e.into()))?;
    match align::unlinked(path, 0) {
        Ok(file) => Ok(Some(file)),
        // NFS, FUSE and vfat answer that they do not know it; old kernels that it is a directory.
        Err(e)
            if matches!(
                e.raw_os_error(),
                Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL)
            ) =>
        {
            Ok(None)
        }
        Err(e) => Err(refuse(e)),
    }
}

/// `chattr +C`: new files in the directory are overwritten in place.
fn has_no_cow(dir: &File) -> bool {
    rustix::fs::ioctl_getflags(dir).is_ok_and(|f| f.contains(rustix::fs::IFlags::NOCOW))
}

fn file_system(mount: &Mount, told: &Told, no_cow: bool) -> FileSystem {
    let in_place = no_cow || mount.super_options.split(',').any(|o| o == "nodatacow");
    FileSystem {
        kind: mount.kind.clone(),
        source: mount.source.clone(),
        mount_point: mount.point.clone(),
        dev: mount.dev.to_string(),
        options: mount.all_options(),
        uuid: told.label.uuid.clone(),
        label: told.label.label.clone(),
        copy_on_write: match mount.kind.as_str() {
            "btrfs" => !in_place,
            "bcachefs" | "zfs" | "nilfs2" | "f2fs" => true,
            _ => false,
        },
    }
}
