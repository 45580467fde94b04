//! What the kernel counts while the engine works: bytes of this process, sectors of the devices under the target, CPU
//! time stolen, requests in flight; and the state of a file: pages in memory, layout on the disk.
//!
//! Descriptors stay open and are read with pread: a reading costs no path walk and no allocation. A counter that is
//! absent or frozen is `None`, never zero.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::facts::{Facts, Layer};
use crate::sample::{Counters, Layout, Witness};
use crate::units::Bytes;

use super::layer::{SECTOR, whole_disk};
use super::roots::Roots;
use super::sys::{self, Extent};

/// The kernel's counters for one target. See [`witness`].
#[derive(Debug)]
pub struct KernelWitness {
    own: Option<File>,
    cpu: Option<File>,
    /// Devices side by side whose sum is what the target moved; empty: none can be asked.
    devices: Vec<Device>,
}

/// Counters of one block device.
#[derive(Debug)]
struct Device {
    stat: File,
    inflight: Option<File>,
    /// `queue/iostats` of the whole disk, asked at each reading: 0 freezes the counters.
    iostats: File,
}

/// Opens the counters of a target: those at the top of its stack, or none when one of them cannot be opened, since a
/// part of the truth is not the truth.
#[must_use]
pub fn witness(roots: &Roots, facts: &Facts) -> KernelWitness {
    let level =
        |depth: u32| -> Vec<&Layer> { facts.stack.iter().filter(|l| l.depth == depth).collect() };
    let open = |layers: &[&Layer]| -> Option<Vec<Device>> {
        layers.iter().map(|l| Device::open(roots, l)).collect()
    };
    let mut devices = open(&level(0)).unwrap_or_default();
    if let Some(paths) = uncounted_head(facts, &devices).map(level)
        && let Some(below) = open(&paths)
    {
        devices = below;
    }
    KernelWitness {
        own: File::open(roots.proc.join("self/io")).ok(),
        cpu: File::open(roots.proc.join("stat")).ok(),
        devices,
    }
}

/// The depth of hidden NVMe paths (no device number) when the multipath head above them counts nothing: older kernels
/// forward its requests without accounting for them.
fn uncounted_head(facts: &Facts, tops: &[Device]) -> Option<u32> {
    let hidden = facts.stack.iter().find(|l| l.dev.is_empty())?.depth;
    let counted = tops
        .iter()
        .any(|d| d.sectors().is_some_and(|s| s != [0; 3]));
    (!counted).then_some(hidden)
}

impl Device {
    fn open(roots: &Roots, layer: &Layer) -> Option<Self> {
        let dir = match layer.dev.parse() {
            Ok(dev) => roots.block(dev)?,
            // Hidden devices have no number.
            Err(()) => roots.named(&layer.name)?,
        };
        Some(Self {
            stat: File::open(dir.join("stat")).ok()?,
            inflight: File::open(dir.join("inflight")).ok(),
            iostats: File::open(whole_disk(&dir).join("queue/iostats")).ok()?,
        })
    }

    fn counts(&self) -> bool {
        let mut buffer = [0; 8];
        text(&self.iostats, &mut buffer).is_some_and(|t| t.trim() == "1")
    }

    /// Sectors read, written and discarded.
    fn sectors(&self) -> Option<[u64; 3]> {
        if !self.counts() {
            return None;
        }
        let mut buffer = [0; 512];
        sectors(text(&self.stat, &mut buffer)?)
    }
}

impl KernelWitness {
    /// Bytes read, written and discarded by the devices under the target.
    fn device_bytes(&self) -> Option<[u64; 3]> {
        if self.devices.is_empty() {
            return None;
        }
        let mut sum = [0_u64; 3];
        for device in &self.devices {
            for (total, sectors) in sum.iter_mut().zip(device.sectors()?) {
                *total = total.wrapping_add(sectors.wrapping_mul(SECTOR));
            }
        }
        Some(sum)
    }

    /// Bytes discarded so far on the devices under the target: a removed file may still be going.
    #[must_use]
    pub fn discarded(&self) -> Option<Bytes> {
        self.device_bytes().map(|[_, _, d]| Bytes(d))
    }

    /// Whether any device counter can be read at all.
    #[must_use]
    pub fn sees_device(&self) -> bool {
        self.device_bytes().is_some()
    }
}

impl Witness for KernelWitness {
    fn counters(&self) -> Counters {
        let mut buffer = [0; 512];
        let own = self.own.as_ref().and_then(|f| text(f, &mut buffer));
        let [own_read, own_written] =
            ["read_bytes: ", "write_bytes: "].map(|name| own.and_then(|t| field(t, name)));
        let device = self.device_bytes();
        let mut buffer = [0; 256];
        let cpu = self.cpu.as_ref().and_then(|f| text(f, &mut buffer));
        Counters {
            own_read,
            own_written,
            device_read: device.map(|d| d[0]),
            device_written: device.map(|d| d[1]),
            steal: cpu.and_then(steal),
        }
    }

    fn in_flight(&self) -> Option<u64> {
        if self.devices.is_empty() {
            return None;
        }
        let mut sum = 0;
        for device in &self.devices {
            // The block layer skips requests it does not account for.
            if !device.counts() {
                return None;
            }
            let mut buffer = [0; 64];
            let line = text(device.inflight.as_ref()?, &mut buffer)?;
            for n in line.split_whitespace() {
                sum += n.parse::<u64>().ok()?;
            }
        }
        Some(sum)
    }

    fn resident(&self, file: &File) -> Option<Bytes> {
        let pages = sys::cachestat(file)
            .or_else(|_| sys::mincore(file, file.metadata()?.len()))
            .ok()?;
        Some(Bytes(pages * sys::page_size()))
    }

    fn layout(&self, file: &File) -> Option<Layout> {
        let size = file.metadata().ok()?.len();
        Some(layout(&sys::fiemap(file).ok()?, size))
    }
}

/// The start of a file as text; a file of /sys or /proc gives a fresh reading at offset 0.
fn text<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a str> {
    let n = file.read_at(buffer, 0).ok()?;
    std::str::from_utf8(&buffer[..n]).ok()
}

/// The number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim().parse().ok()
}

/// Fields 3, 7 and 14 of a `stat` file (Documentation/block/stat.rst); discards came with Linux 4.18.
fn sectors(stat: &str) -> Option<[u64; 3]> {
    let mut fields = stat.split_whitespace();
    let read = fields.nth(2)?.parse().ok()?;
    let written = fields.nth(3)?.parse().ok()?;
    let discarded = match fields.nth(6) {
        Some(n) => n.parse().ok()?,
        None => 0,
    };
    Some([read, written, discarded])
}

/// Steal and all ticks from the first line of /proc/stat. Guest time is part of user time and is not added again.
fn steal(stat: &str) -> Option<(u64, u64)> {
    let ticks: Vec<u64> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .take(8)
        .map(|n| n.parse().ok())
        .collect::<Option<_>>()?;
    Some((*ticks.get(7)?, ticks.iter().sum()))
}

/// What extents say of a file of `size` bytes. Extents that continue each other on the disk count as one, as filefrag
/// counts them; the position is that of the median byte.
fn layout(extents: &[Extent], size: u64) -> Layout {
    const NOT_DATA: u32 =
        Extent::UNKNOWN | Extent::DELALLOC | Extent::INLINE | Extent::TAIL | Extent::UNWRITTEN;
    let mut data: Vec<(u64, u64)> = Vec::new();
    let mut count = 0;
    let mut covered = 0;
    let mut end: Option<(u64, u64)> = None;
    for e in extents {
        // Space reserved behind the end of the file is not part of it.
        let length = e.length.min(size.saturating_sub(e.logical));
        if length == 0 {
            continue;
        }
        if end != Some((e.logical, e.physical)) {
            count += 1;
        }
        end = Some((e.logical + length, e.physical.wrapping_add(length)));
        if e.flags & NOT_DATA == 0 {
            covered += length;
            data.push((e.physical, length));
        }
    }
    data.sort_unstable();
    Layout {
        extents: count,
        position: Bytes(median(&data, covered / 2)),
        not_data: Bytes(size.saturating_sub(covered)),
    }
}

/// The physical offset below which `half` bytes lie.
fn median(data: &[(u64, u64)], half: u64) -> u64 {
    let mut before = 0;
    for (physical, length) in data {
        if before + length > half {
            return physical + (half - before);
        }
        before += length;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_files_of_every_kernel_give_their_sectors() {
        assert_eq!(sectors("1 2 300 4 5 6 700 8 9 10 11"), Some([300, 700, 0]));
        let newer = "  10 0 80 1 20 0 160 2 0 3 4 5 0 640 6 7 8\n";
        assert_eq!(sectors(newer), Some([80, 160, 640]));
        for bad in ["", "1 2", "a b c d e f g", "1 2 3 4 5 6 -7 8"] {
            assert_eq!(sectors(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn guest_time_is_not_counted_twice() {
        let line = "cpu  100 0 50 800 20 5 5 20 70 3\ncpu0 1 2 3\n";
        assert_eq!(steal(line), Some((20, 1000)));
        assert_eq!(steal("cpu  1 2 3 4\n"), None);
        assert_eq!(steal("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert_eq!(steal(""), None);
    }

    #[test]
    fn a_field_is_found_by_its_whole_name_at_the_start_of_a_line() {
        let io = "rchar: 5\nread_bytes: 4096\ncancelled_write_bytes: 9\nwrite_bytes: x\n";
        assert_eq!(field(io, "read_bytes: "), Some(4096));
        assert_eq!(field(io, "write_bytes: "), None);
    }

    #[test]
    fn holes_unwritten_delayed_and_inline_bytes_are_not_data_but_compressed_ones_are() {
        let of = Extent::of;
        let cases: [(&[Extent], u64, (u64, u64)); 7] = [
            (&[], 100, (0, 100)),
            (&[of(0, 1000, 100, Extent::LAST)], 100, (1, 0)),
            (&[of(0, 1000, 40, 0), of(60, 2000, 40, 0)], 100, (2, 20)),
            (&[of(0, 1000, 100, Extent::UNWRITTEN)], 100, (1, 100)),
            (
                &[of(0, 0, 100, Extent::DELALLOC | Extent::UNKNOWN)],
                100,
                (1, 100),
            ),
            (&[of(0, 0, 100, Extent::INLINE)], 100, (1, 100)),
            (&[of(0, 1000, 100, Extent::ENCODED)], 100, (1, 0)),
        ];
        for (extents, size, (count, not_data)) in cases {
            let l = layout(extents, size);
            assert_eq!((l.extents, l.not_data.0), (count, not_data), "{extents:?}");
        }
    }

    #[test]
    fn extents_that_continue_each_other_are_one_and_the_median_byte_is_the_position() {
        let of = Extent::of;
        let joined = [of(0, 5000, 50, 0), of(50, 5050, 50, Extent::LAST)];
        assert_eq!(layout(&joined, 100).extents, 1);
        assert_eq!(layout(&joined, 100).position, Bytes(5050));
        let apart = [of(0, 9000, 80, 0), of(80, 100, 20, Extent::LAST)];
        assert_eq!(layout(&apart, 100).position, Bytes(9030));
        let beyond = [of(0, 100, 80, 0), of(80, 180, 4000, Extent::UNWRITTEN)];
        assert_eq!(layout(&beyond, 80).not_data, Bytes(0));
    }

    #[test]
    fn a_target_without_devices_has_no_device_counters() {
        let none = KernelWitness {
            own: None,
            cpu: None,
            devices: Vec::new(),
        };
        assert_eq!(none.counters(), Counters::default());
        assert_eq!(none.in_flight(), None);
        assert!(!none.sees_device());
    }

    #[test]
    fn this_process_is_charged_for_what_it_writes() {
        let own = File::open(Roots::real().proc.join("self/io")).ok();
        let w = KernelWitness {
            own,
            cpu: None,
            devices: Vec::new(),
        };
        // Absent where the kernel keeps no accounts.
        if let Some(before) = w.counters().own_written {
            assert!(w.counters().own_written.unwrap() >= before);
        }
    }
}
