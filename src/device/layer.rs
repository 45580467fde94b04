//! What sysfs says of one block device: its kind, size, model, serial and queue. Where it stands is `stack`'s.

use std::fs;
use std::path::{Path, PathBuf};

use crate::facts::{Layer, LayerKind, Queue};
use crate::units::Bytes;

use super::roots::{attr, file_name, number};

/// Sectors in sysfs are 512 bytes whatever the device's own.
pub(crate) const SECTOR: u64 = 512;

/// The layer a sysfs folder (links resolved) stands for.
pub(crate) fn layer(dir: &Path, depth: u32, leaf: bool, backing_file: Option<PathBuf>) -> Layer {
    let whole = whole_disk(dir);
    let kind = kind(dir);
    Layer {
        name: file_name(dir),
        dev: attr(dir, "dev").unwrap_or_default(),
        kind,
        depth,
        leaf,
        model: (kind != LayerKind::Partition).then(|| model(dir)).flatten(),
        serial: serial(dir).map(|(_, value)| value),
        size: Bytes(number(dir, "size").unwrap_or(0).saturating_mul(SECTOR)),
        queue: queue(&whole),
        backing_file,
    }
}

/// The folder of the whole disk: of a partition the folder it lies in, never a name cut short.
pub(crate) fn whole_disk(dir: &Path) -> PathBuf {
    match dir.parent() {
        Some(parent) if dir.join("partition").exists() => parent.to_path_buf(),
        _ => dir.to_path_buf(),
    }
}

/// What kind of device a sysfs folder stands for.
pub(crate) fn kind(dir: &Path) -> LayerKind {
    let name = file_name(dir);
    if dir.join("partition").exists() {
        LayerKind::Partition
    } else if dir.join("dm").is_dir() {
        LayerKind::Dm
    } else if dir.join("md").is_dir() {
        LayerKind::Md
    } else if dir.join("loop").is_dir() || numbered(&name, "loop") {
        LayerKind::Loop
    } else if numbered(&name, "zram") {
        LayerKind::Zram
    } else {
        LayerKind::Disk
    }
}

/// Contents live in memory: zram and the kernel's RAM disk.
pub(crate) fn in_memory(name: &str) -> bool {
    numbered(name, "zram") || numbered(name, "ram")
}

fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Model as the disk tells it (NVMe, SCSI, MMC), else the bus that hides it (`virtio`, `xen`, `vmbus`).
fn model(dir: &Path) -> Option<String> {
    attr(dir, "device/model")
        .or_else(|| {
            // MMC calls it `name`; dm and md have no device folder.
            attr(dir, "device/cid").and_then(|_| attr(dir, "device/name"))
        })
        .or_else(|| bus(dir))
}

/// The bus of a disk, by the `subsystem` link of its device.
pub(crate) fn bus(dir: &Path) -> Option<String> {
    let link = fs::read_link(dir.join("device/subsystem")).ok()?;
    Some(file_name(&link))
}

/// What tells this disk from every other, with the word for it: `wwid` before `serial`, since the namespaces of one
/// NVMe controller share its serial. A partition is known by its disk.
pub(crate) fn serial(dir: &Path) -> Option<(&'static str, String)> {
    let dir = &whole_disk(dir);
    let table = [
        ("wwid", "wwid"),
        ("wwid", "device/wwid"),
        ("serial", "device/serial"),
        ("serial", "serial"),
        ("serial", "device/cid"),
    ];
    table
        .into_iter()
        .find_map(|(by, name)| Some((by, attr(dir, name).filter(|v| tells(v))?)))
}

/// Placeholders such as `00000000` or `----` tell nothing.
fn tells(value: &str) -> bool {
    let mut chars = value.chars().filter(|c| !c.is_whitespace());
    let first = chars.next();
    chars.any(|c| Some(c) != first)
}

/// The queue limits in a whole disk's folder; `None` where the kernel shows none.
fn queue(dir: &Path) -> Option<Queue> {
    let q = dir.join("queue");
    let n = |name| number(&q, name);
    let logical = n("logical_block_size")?;
    Some(Queue {
        scheduler: attr(&q, "scheduler").map_or_else(|| "none".to_owned(), |s| active(&s)),
        read_ahead_kb: n("read_ahead_kb").unwrap_or(0),
        nr_requests: n("nr_requests").unwrap_or(0),
        max_sectors_kb: n("max_sectors_kb").unwrap_or(0),
        max_hw_sectors_kb: n("max_hw_sectors_kb").unwrap_or(0),
        rotational: n("rotational") == Some(1),
        write_cache: attr(&q, "write_cache").unwrap_or_default(),
        nomerges: n("nomerges").unwrap_or(0),
        // Absent is not "kept": a witness that cannot be checked is none.
        iostats: n("iostats") == Some(1),
        logical_block_size: logical,
        physical_block_size: n("physical_block_size").unwrap_or(logical),
        optimal_io_size: n("optimal_io_size").unwrap_or(0),
    })
}

/// The scheduler in brackets: `none [mq-deadline] kyber`. Without brackets the line is the only choice.
pub(crate) fn active(line: &str) -> String {
    line.split_whitespace()
        .find_map(|w| w.strip_prefix('[')?.strip_suffix(']'))
        .unwrap_or(line.trim())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_scheduler_is_the_one_in_brackets() {
        assert_eq!(active("none [mq-deadline] kyber bfq "), "mq-deadline");
        assert_eq!(active("[none]"), "none");
        assert_eq!(active("none"), "none");
        assert_eq!(active(""), "");
    }

    #[test]
    fn a_placeholder_is_no_serial() {
        for bad in ["", "0", "00000000", "-- --", "    "] {
            assert!(!tells(bad), "{bad:?}");
        }
        assert!(tells("S5GXNX0R"));
    }

    #[test]
    fn a_name_is_numbered_only_when_nothing_but_digits_follows() {
        assert!(in_memory("zram0") && in_memory("ram15"));
        assert!(!in_memory("ram") && !in_memory("zramX") && !in_memory("pmem0"));
    }
}
