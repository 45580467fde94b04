//! The system calls no crate wraps: cachestat, mincore, FIEMAP, the UUID and label of a mounted file system, what lies
//! behind a loop device. All the `unsafe` of this folder; each function is safe to call with any open file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::libc;

/// Bytes in a page.
pub(crate) fn page_size() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let n = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(n).unwrap_or(4096)
}

/// `_IOC` of asm-generic/ioctl.h, as on every architecture this runs on but PowerPC, MIPS and SPARC.
const fn ioc(direction: u64, kind: u8, number: u8, size: usize) -> libc::c_ulong {
    ((direction << 30) | ((size as u64) << 16) | ((kind as u64) << 8) | number as u64)
        as libc::c_ulong
}

const READ: u64 = 2;
const READ_WRITE: u64 = 3;

/// An ioctl that fills one plain structure.
///
/// # Safety
/// `request` must be one that reads and writes no more than a `T`, for which every bit pattern is valid.
unsafe fn ioctl_into<T>(file: &File, request: libc::c_ulong, arg: &mut T) -> io::Result<()> {
    // SAFETY: the descriptor is open while `file` is borrowed; the caller vouches for the size behind the pointer.
    let r = unsafe { libc::ioctl(file.as_raw_fd(), request as _, std::ptr::from_mut(arg)) };
    if r < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Pages of the whole file in the page cache, by cachestat(2) (Linux 6.5).
pub(crate) fn cachestat(file: &File) -> io::Result<u64> {
    /// Same number on every architecture: added after the tables were unified.
    const SYS_CACHESTAT: libc::c_long = 451;
    #[repr(C)]
    struct Range {
        off: u64,
        len: u64,
    }
    // nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted
    let mut stat = [0_u64; 5];
    // A length of zero means to the end of the file.
    let range = Range { off: 0, len: 0 };
    // SAFETY: both pointers are to live structures of the sizes of linux/mman.h; the descriptor is open.
    let r = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            std::ptr::from_ref(&range),
            stat.as_mut_ptr(),
            0,
        )
    };
    if r < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(stat[0])
    }
}

/// Pages of the first `size` bytes in the page cache, by mincore(2) in windows of 1 GiB. Since Linux 5.2 it answers
/// "all resident" to callers that neither own the file nor may write it; a scratch file is our own.
pub(crate) fn mincore(file: &File, size: u64) -> io::Result<u64> {
    const WINDOW: u64 = 1 << 30;
    let page = page_size();
    let mut resident = 0;
    let mut offset = 0;
    while offset < size {
        let bytes = (size - offset).min(WINDOW);
        resident += mincore_window(file, offset, bytes, page)?;
        offset += bytes;
    }
    Ok(resident)
}

fn mincore_window(file: &File, offset: u64, bytes: u64, page: u64) -> io::Result<u64> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let len = usize::try_from(bytes).map_err(too_large)?;
    let start = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    let pages = usize::try_from(bytes.div_ceil(page)).map_err(too_large)?;
    let mut state = vec![0_u8; pages];
    // SAFETY: a fresh mapping at an address of the kernel's choice; PROT_NONE, so nothing is ever read through it.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_NONE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            start,
        )
    };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `map` covers `len` bytes and `state` has one byte for each of its pages.
    let r = unsafe { libc::mincore(map, len, state.as_mut_ptr()) };
    let result = if r < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(state.iter().filter(|s| **s & 1 == 1).count() as u64)
    };
    // SAFETY: exactly the mapping made above, not used after.
    unsafe { libc::munmap(map, len) };
    result
}

/// One extent as FIEMAP shows it, in bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) logical: u64,
    pub(crate) physical: u64,
    pub(crate) length: u64,
    reserved64: [u64; 2],
    pub(crate) flags: u32,
    reserved: [u32; 3],
}

impl Extent {
    /// No more extents follow.
    pub(crate) const LAST: u32 = 0x1;
    /// No physical place yet.
    pub(crate) const UNKNOWN: u32 = 0x2;
    /// Still in the page cache only.
    pub(crate) const DELALLOC: u32 = 0x4;
    /// Compressed or encrypted: data all the same.
    #[cfg(test)]
    pub(crate) const ENCODED: u32 = 0x8;
    /// Inside the inode.
    pub(crate) const INLINE: u32 = 0x200;
    /// Packed with other tails.
    pub(crate) const TAIL: u32 = 0x400;
    /// Allocated, never written: reads as zeros without touching the device.
    pub(crate) const UNWRITTEN: u32 = 0x800;

    /// An extent for tests of what is made of them.
    #[cfg(test)]
    pub(crate) fn of(logical: u64, physical: u64, length: u64, flags: u32) -> Self {
        Self {
            logical,
            physical,
            length,
            flags,
            ..Self::default()
        }
    }
}

/// Extents asked for at a time.
const BATCH: usize = 128;

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; BATCH],
}

/// All extents of a file in logical order, without forcing delayed ones out first.
pub(crate) fn fiemap(file: &File) -> io::Result<Vec<Extent>> {
    /// `FS_IOC_FIEMAP`: the size is that of the head without extents.
    const FS_IOC_FIEMAP: libc::c_ulong = ioc(READ_WRITE, b'f', 11, 32);
    let mut all: Vec<Extent> = Vec::new();
    let mut start = 0;
    loop {
        let mut map = Fiemap {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped: 0,
            count: BATCH as u32,
            reserved: 0,
            extents: [Extent::default(); BATCH],
        };
        // SAFETY: FIEMAP writes the head and at most `count` extents, which is what `Fiemap` holds; plain integers.
        unsafe { ioctl_into(file, FS_IOC_FIEMAP, &mut map)? };
        let got = &map.extents[..(map.mapped as usize).min(BATCH)];
        all.extend_from_slice(got);
        let Some(last) = got.last() else { break };
        let next = last.logical.saturating_add(last.length);
        // A file system that does not move on would keep us here for ever.
        if last.flags & Extent::LAST != 0 || next <= start {
            break;
        }
        start = next;
    }
    Ok(all)
}

/// UUID of the mounted file system `file` lies on: no privileges needed (Linux 6.9; ext4, xfs, btrfs, f2fs, bcachefs).
pub(crate) fn fs_uuid(file: &File) -> io::Result<[u8; 16]> {
    #[repr(C)]
    #[derive(Default)]
    struct FsUuid2 {
        len: u8,
        uuid: [u8; 16],
    }
    const FS_IOC_GETFSUUID: libc::c_ulong = ioc(READ, 0x15, 0, size_of::<FsUuid2>());
    let mut uuid = FsUuid2::default();
    // SAFETY: the request fills one `fsuuid2`; plain bytes.
    unsafe { ioctl_into(file, FS_IOC_GETFSUUID, &mut uuid)? };
    if uuid.len == 16 {
        Ok(uuid.uuid)
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Label of the mounted file system `file` lies on, as bytes up to the first NUL (Linux 4.18).
pub(crate) fn fs_label(file: &File) -> io::Result<Vec<u8>> {
    const FS_IOC_GETFSLABEL: libc::c_ulong = ioc(READ, 0x94, 49, 256);
    let mut label = [0_u8; 256];
    // SAFETY: the request fills at most 256 bytes.
    unsafe { ioctl_into(file, FS_IOC_GETFSLABEL, &mut label)? };
    Ok(label.iter().copied().take_while(|b| *b != 0).collect())
}

/// `st_dev` and `st_ino` of the file behind a loop device, from the device itself: a path in sysfs may belong to
/// another mount namespace.
pub(crate) fn loop_backing(node: &File) -> io::Result<(u64, u64)> {
    /// `struct loop_info64`: device, inode, and fields not used here.
    #[repr(C)]
    struct LoopInfo {
        device: u64,
        inode: u64,
        rest: [u64; 27],
    }
    const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
    const { assert!(size_of::<LoopInfo>() == 232) };
    let mut info = LoopInfo {
        device: 0,
        inode: 0,
        rest: [0; 27],
    };
    // SAFETY: the request fills one `loop_info64` of 232 bytes; plain integers and characters.
    unsafe { ioctl_into(node, LOOP_GET_STATUS64, &mut info)? };
    Ok((info.device, info.inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::mem::offset_of;

    #[test]
    fn requests_have_the_numbers_of_the_kernel_headers() {
        assert_eq!(ioc(READ_WRITE, b'f', 11, 32), 0xC020_660B);
        assert_eq!(ioc(READ, 0x15, 0, 17), 0x8011_1500);
        assert_eq!(ioc(READ, 0x94, 49, 256), 0x8100_9431);
        assert_eq!(size_of::<Extent>(), 56);
        assert_eq!(offset_of!(Fiemap, extents), 32);
    }

    #[test]
    fn cachestat_and_mincore_agree_on_a_file_just_written() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100_000]).unwrap();
        let pages = 100_000_u64.div_ceil(page_size());
        assert_eq!(mincore(&file, 100_000).unwrap(), pages);
        // Older kernels and sandboxes know no cachestat; then mincore alone serves.
        if let Ok(n) = cachestat(&file) {
            assert_eq!(n, pages);
        }
    }

    #[test]
    fn mincore_of_an_empty_file_is_zero() {
        assert_eq!(mincore(&tempfile::tempfile().unwrap(), 0).unwrap(), 0);
    }

    #[test]
    fn a_file_that_is_no_loop_device_is_an_error() {
        assert!(loop_backing(&tempfile::tempfile().unwrap()).is_err());
    }
}
