//! Magic numbers on a block device: which file system, RAID or volume member, swap or partition table is there.
//!
//! Reads only. Offsets are those of the projects' own on-disk formats; each row of the table names one.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// UUID and label as a superblock holds them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) uuid: Option<String>,
    pub(crate) label: Option<String>,
}

/// A magic at an offset from the start of the device.
struct Magic {
    what: &'static str,
    at: u64,
    bytes: &'static [u8],
}

const fn magic(what: &'static str, at: u64, bytes: &'static [u8]) -> Magic {
    Magic { what, at, bytes }
}

/// Little-endian where the format is; nothing here is shorter than two bytes.
const MAGICS: &[Magic] = &[
    magic("an ext2/3/4 file system", 1024 + 0x38, &[0x53, 0xEF]),
    magic("an xfs file system", 0, b"XFSB"),
    magic("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    magic("an f2fs file system", 1024, &[0x10, 0x20, 0xF5, 0xF2]),
    magic("an erofs file system", 1024, &[0xE2, 0xE1, 0xF5, 0xE0]),
    magic("a nilfs2 file system", 1024 + 6, &[0x34, 0x34]),
    magic("a squashfs file system", 0, b"hsqs"),
    magic("an NTFS file system", 3, b"NTFS    "),
    magic("an exFAT file system", 3, b"EXFAT   "),
    magic("a JFS file system", 32_768, b"JFS1"),
    magic("a reiserfs file system", 65_536 + 52, b"ReIs"),
    magic("an ISO 9660 file system", 32_769, b"CD001"),
    magic("a LUKS container", 0, b"LUKS\xba\xbe"),
    magic("an LVM physical volume", 512 + 24, b"LVM2 001"),
    magic("an LVM physical volume", 24, b"LVM2 001"),
    magic("an md RAID member", 0, &[0xFC, 0x4E, 0x2B, 0xA9]),
    magic("an md RAID member", 4096, &[0xFC, 0x4E, 0x2B, 0xA9]),
    magic(
        "a bcache device",
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    magic(
        "a bcachefs file system",
        4096 + 24,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    magic("swap space", 4096 - 10, b"SWAPSPACE2"),
    magic("swap space", 16_384 - 10, b"SWAPSPACE2"),
    magic("swap space", 65_536 - 10, b"SWAPSPACE2"),
    magic("a GPT partition table", 512, b"EFI PART"),
    magic("a GPT partition table", 4096, b"EFI PART"),
    magic("a partition table or boot sector", 510, &[0x55, 0xAA]),
];

/// What is on a device, in words; `None` when nothing known is.
pub(crate) fn signature(device: &File) -> io::Result<Option<&'static str>> {
    for m in MAGICS {
        if has(device, m.at, m.bytes)? {
            return Ok(Some(m.what));
        }
    }
    let size = { device }.seek(SeekFrom::End(0))?;
    for sector in [512, 4096] {
        if size > sector && has(device, size - sector, b"EFI PART")? {
            return Ok(Some("a backup GPT partition table"));
        }
    }
    // md 0.90 lies 64 KiB before the end, rounded down; md 1.0 8 KiB before it, rounded to 4 KiB.
    for at in [
        (size & !0xFFFF).checked_sub(0x1_0000),
        size.checked_sub(8192).map(|at| at & !0xFFF),
    ] {
        if let Some(at) = at
            && has(device, at, &[0xFC, 0x4E, 0x2B, 0xA9])?
        {
            return Ok(Some("an md RAID member"));
        }
    }
    if zfs(device)? {
        return Ok(Some("a ZFS pool member"));
    }
    Ok(None)
}

/// A ZFS label keeps a ring of uberblocks from 128 KiB on, one every 1 KiB or more; any of them will do.
fn zfs(device: &File) -> io::Result<bool> {
    const UBERBLOCK: [u8; 8] = 0x00ba_b10c_u64.to_le_bytes();
    let mut ring = vec![0; 128 << 10];
    if !fill(device, 128 << 10, &mut ring)? {
        return Ok(false);
    }
    let mut swapped = UBERBLOCK;
    swapped.reverse();
    Ok(ring
        .chunks_exact(1024)
        .any(|u| u[..8] == UBERBLOCK || u[..8] == swapped))
}

/// UUID and label of an ext2/3/4, xfs or btrfs file system on a device; `None` for anything else.
pub(crate) fn label(device: &File, kind: &str) -> io::Result<Option<Label>> {
    let (magic_at, magic, uuid_at, label_at, label_len): (u64, &[u8], u64, u64, usize) = match kind
    {
        "ext2" | "ext3" | "ext4" => (1024 + 0x38, &[0x53, 0xEF], 1024 + 0x68, 1024 + 0x78, 16),
        "xfs" => (0, b"XFSB", 32, 108, 12),
        "btrfs" => (0x1_0040, b"_BHRfS_M", 0x1_0020, 0x1_012B, 256),
        _ => return Ok(None),
    };
    let mut uuid = [0; 16];
    let mut label = vec![0; label_len];
    if !has(device, magic_at, magic)?
        || !fill(device, uuid_at, &mut uuid)?
        || !fill(device, label_at, &mut label)?
    {
        return Ok(None);
    }
    label.truncate(label.iter().position(|b| *b == 0).unwrap_or(label_len));
    Ok(Some(Label {
        uuid: uuid_text(&uuid),
        label: (!label.is_empty()).then(|| String::from_utf8_lossy(&label).into_owned()),
    }))
}

/// `8-4-4-4-12`, lower case; `None` for all zeros, which images made without one share.
pub(crate) fn uuid_text(uuid: &[u8; 16]) -> Option<String> {
    if *uuid == [0; 16] {
        return None;
    }
    let mut out = String::with_capacity(36);
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    Some(out)
}

fn has(device: &File, at: u64, bytes: &[u8]) -> io::Result<bool> {
    let mut found = [0; 16];
    let found = &mut found[..bytes.len()];
    Ok(fill(device, at, found)? && found == bytes)
}

/// False when the device ends before.
fn fill(device: &File, at: u64, buffer: &mut [u8]) -> io::Result<bool> {
    match device.read_exact_at(buffer, at) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(len: u64, writes: &[(u64, &[u8])]) -> File {
        let f = tempfile::tempfile().unwrap();
        f.set_len(len).unwrap();
        for (at, bytes) in writes {
            f.write_all_at(bytes, *at).unwrap();
        }
        f
    }

    #[test]
    fn every_magic_in_the_table_is_found_and_an_empty_device_has_none() {
        assert_eq!(signature(&image(1 << 20, &[])).unwrap(), None);
        assert_eq!(signature(&image(0, &[])).unwrap(), None);
        for m in MAGICS {
            let found = signature(&image(1 << 20, &[(m.at, m.bytes)])).unwrap();
            assert_eq!(found, Some(m.what));
        }
    }

    #[test]
    fn what_lies_at_the_end_or_in_a_ring_is_found_too() {
        let end = 1 << 20;
        let md: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
        for (at, bytes, want) in [
            (end - 512, &b"EFI PART"[..], "a backup GPT partition table"),
            (end - 4096, b"EFI PART", "a backup GPT partition table"),
            (end - 65_536, md, "an md RAID member"),
            (end - 8192, md, "an md RAID member"),
            (
                (128 << 10) + 5 * 1024,
                &0x00ba_b10c_u64.to_le_bytes(),
                "a ZFS pool member",
            ),
        ] {
            let found = signature(&image(end, &[(at, bytes)])).unwrap();
            assert_eq!(found, Some(want), "at {at}");
        }
    }

    #[test]
    fn uuid_and_label_lie_where_the_formats_say() {
        let uuid: [u8; 16] = std::array::from_fn(|i| i as u8 * 17);
        let text = "00112233-4455-6677-8899-aabbccddeeff";
        for (kind, magic_at, magic, uuid_at, label_at) in [
            ("ext4", 0x438, &[0x53, 0xEF][..], 0x468, 0x478),
            ("xfs", 0, b"XFSB", 0x20, 0x6C),
            ("btrfs", 0x1_0040, b"_BHRfS_M", 0x1_0020, 0x1_012B),
        ] {
            let f = image(
                1 << 20,
                &[(magic_at, magic), (uuid_at, &uuid), (label_at, b"ref")],
            );
            let found = label(&f, kind).unwrap().unwrap();
            assert_eq!(found.uuid.as_deref(), Some(text), "{kind}");
            assert_eq!(found.label.as_deref(), Some("ref"), "{kind}");
        }
    }

    #[test]
    fn a_uuid_of_zeros_is_none() {
        let found = label(&image(1 << 20, &[(0, b"XFSB")]), "xfs").unwrap();
        assert_eq!(found, Some(Label::default()));
    }

    #[test]
    fn a_superblock_of_another_kind_or_cut_short_tells_nothing() {
        assert_eq!(
            label(&image(1 << 20, &[(0, b"XFSB")]), "ext4").unwrap(),
            None
        );
        assert_eq!(label(&image(40, &[(0, b"XFSB")]), "xfs").unwrap(), None);
        assert_eq!(label(&image(1 << 20, &[]), "vfat").unwrap(), None);
    }
}
