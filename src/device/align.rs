//! What direct I/O needs: asked of the file system, else taken from the block device, else the page size.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;
use rustix::fs::{AtFlags, StatxFlags};

use crate::facts::{Alignment, Layer, TargetKind};

use super::sys;

/// The alignment of a target. For a directory the question is put to an unlinked file in it, since a directory itself
/// has none; `probe` is such a file where one could be made.
pub(crate) fn of(
    target: &Path,
    kind: TargetKind,
    probe: Option<&File>,
    top: Option<&Layer>,
) -> Alignment {
    let device = (kind == TargetKind::BlockDevice)
        .then(|| File::open(target).ok())
        .flatten();
    if let Some(told) = device.as_ref().or(probe).and_then(by_statx) {
        return told;
    }
    let direct = match kind {
        TargetKind::BlockDevice => true,
        TargetKind::Directory => takes_direct(target),
    };
    let logical = top
        .and_then(|l| l.queue.as_ref())
        .map(|q| q.logical_block_size);
    let (unit, source) = match logical {
        Some(n) if n > 0 => (n, "logical block size"),
        _ => (sys::page_size(), "page size"),
    };
    Alignment {
        offset: unit,
        memory: unit,
        source: source.to_owned(),
        direct,
    }
}

/// `STATX_DIOALIGN` (Linux 6.1): an offset alignment of 0 says that the file takes no direct I/O.
fn by_statx(file: &File) -> Option<Alignment> {
    let s = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    if s.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return None;
    }
    let direct = s.stx_dio_offset_align > 0 && s.stx_dio_mem_align > 0;
    let or_page = |n: u32| if direct { n.into() } else { sys::page_size() };
    Some(Alignment {
        offset: or_page(s.stx_dio_offset_align),
        memory: or_page(s.stx_dio_mem_align),
        source: "statx".to_owned(),
        direct,
    })
}

/// Whether an unlinked file can be opened with `O_DIRECT`. Where no unlinked file can be made the answer is yes: the
/// engine will see.
fn takes_direct(dir: &Path) -> bool {
    match unlinked(dir, libc::O_DIRECT) {
        Ok(_) => true,
        Err(e) => e.raw_os_error() != Some(libc::EINVAL) || unlinked(dir, 0).is_err(),
    }
}

/// A file without a name in `dir`: it leaves nothing behind, however the process ends.
pub(crate) fn unlinked(dir: &Path, flags: i32) -> std::io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE | flags)
        .open(dir)
}
