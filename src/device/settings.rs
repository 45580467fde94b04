//! Everything that may change a number without the disk being another one, by name, as the kernel prints it. The core
//! compares these between baseline and run and names what changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::facts::{FileSystem, Host, Layer, LayerKind, Settings};

use super::layer;
use super::mounts::Mounts;
use super::roots::{Roots, attr, file_name, names};
use super::stack;

/// Queue settings compared; names are the kernel's.
const QUEUE: [&str; 8] = [
    "scheduler",
    "read_ahead_kb",
    "nr_requests",
    "max_sectors_kb",
    "nomerges",
    "write_cache",
    "wbt_lat_usec",
    "rotational",
];

/// All settings of a target.
pub(crate) fn gather(
    roots: &Roots,
    mounts: &Mounts,
    layers: &[Layer],
    filesystem: Option<&FileSystem>,
) -> Settings {
    let mut all = queues(roots, layers);
    all.insert("layers".to_owned(), kinds(layers));
    if let Some(fs) = filesystem {
        all.insert("filesystem".to_owned(), fs.kind.clone());
        all.insert("mount_options".to_owned(), fs.options.clone());
        mount_read_ahead(roots, fs, layers, &mut all);
    } else {
        all.insert("filesystem".to_owned(), "raw".to_owned());
    }
    if let Some(kernel) = attr(&roots.proc, "sys/kernel/osrelease") {
        all.insert("kernel".to_owned(), kernel);
    }
    let vm = roots.proc.join("sys/vm");
    for name in [
        "dirty_ratio",
        "dirty_background_ratio",
        "dirty_bytes",
        "dirty_background_bytes",
    ] {
        // Bytes and ratio exclude each other; the one not in use reads 0.
        if let Some(value) = attr(&vm, name).filter(|v| v != "0") {
            all.insert(format!("vm.{name}"), value);
        }
    }
    if let Some(governor) = governor(roots) {
        all.insert("governor".to_owned(), governor);
    }
    let devices: Vec<&str> = layers.iter().map(|l| l.dev.as_str()).collect();
    all.extend(super::cgroup::limits(roots, mounts, &devices));
    all
}

/// Plain names for the uppermost whole devices; below them the kind in front (`disk.scheduler` under md or dm).
/// Devices side by side that differ show every value.
fn queues(roots: &Roots, layers: &[Layer]) -> Settings {
    let whole: Vec<&Layer> = layers
        .iter()
        .filter(|l| l.kind != LayerKind::Partition)
        .collect();
    let Some(top) = whole.iter().map(|l| l.depth).min() else {
        return Settings::new();
    };
    let mut values: std::collections::BTreeMap<String, BTreeSet<String>> = Default::default();
    for l in whole {
        let Some(dir) = roots.named(&l.name) else {
            continue;
        };
        let prefix = if l.depth == top {
            String::new()
        } else {
            format!("{}.", word(l.kind))
        };
        let mut put = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let set = values.entry(format!("{prefix}{name}")).or_default();
                set.insert(value);
            }
        };
        for name in QUEUE {
            let value = attr(&dir.join("queue"), name);
            put(
                name,
                value.map(|v| {
                    if name == "scheduler" {
                        layer::active(&v)
                    } else {
                        v
                    }
                }),
            );
        }
        put("firmware", firmware(&dir));
        put("loop.direct_io", attr(&dir, "loop/dio"));
    }
    let joined = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(", ");
    values.into_iter().map(|(k, v)| (k, joined(v))).collect()
}

/// NVMe and others, SCSI, MMC.
fn firmware(dir: &Path) -> Option<String> {
    ["device/firmware_rev", "device/rev", "device/fwrev"]
        .iter()
        .find_map(|name| attr(dir, name))
}

/// The read-ahead buffered reads get is the mount's own where the file system has a backing-device object of its own
/// (btrfs, NFS, FUSE): that one is `read_ahead_kb`, and the queue's, if it differs, `queue.read_ahead_kb`.
fn mount_read_ahead(roots: &Roots, fs: &FileSystem, layers: &[Layer], all: &mut Settings) {
    let Some(of_mount) = bdi(roots, fs, layers).and_then(|dir| attr(&dir, "read_ahead_kb")) else {
        return;
    };
    if let Some(of_queue) = all.insert("read_ahead_kb".to_owned(), of_mount.clone())
        && of_queue != of_mount
    {
        all.insert("queue.read_ahead_kb".to_owned(), of_queue);
    }
}

/// The backing-device object of a mount: by its device number (NFS, FUSE), by the link btrfs keeps, else that of the
/// whole disk.
fn bdi(roots: &Roots, fs: &FileSystem, layers: &[Layer]) -> Option<PathBuf> {
    let class = roots.sys.join("class/bdi");
    let own = class.join(&fs.dev);
    if own.is_dir() {
        return Some(own);
    }
    if fs.kind == "btrfs" {
        let one = stack::source_dir(roots, &fs.source)?;
        let link = stack::btrfs_of(roots, &file_name(&one))?.join("bdi");
        return link.is_dir().then_some(link);
    }
    // `fuseblk` and others put a word behind the number.
    if let Some(name) = names(&class)
        .iter()
        .find(|n| n.starts_with(&format!("{}-", fs.dev)))
    {
        return Some(class.join(name));
    }
    let disk = layers.iter().find(|l| l.kind != LayerKind::Partition)?;
    let of_disk = class.join(&disk.dev);
    (!disk.dev.is_empty() && of_disk.is_dir()).then_some(of_disk)
}

/// Kinds top to bottom; those side by side joined by `+`. No node names: they change between boots.
fn kinds(layers: &[Layer]) -> String {
    if layers.is_empty() {
        return "unknown".to_owned();
    }
    let deepest = layers.iter().map(|l| l.depth).max().unwrap_or(0);
    (0..=deepest)
        .map(|d| {
            let level = layers.iter().filter(|l| l.depth == d);
            level.map(|l| word(l.kind)).collect::<Vec<_>>().join("+")
        })
        .filter(|level| !level.is_empty())
        .collect::<Vec<_>>()
        .join(" > ")
}

fn word(kind: LayerKind) -> &'static str {
    match kind {
        LayerKind::Partition => "partition",
        LayerKind::Disk => "disk",
        LayerKind::Loop => "loop",
        LayerKind::Dm => "dm",
        LayerKind::Md => "md",
        LayerKind::Zram => "zram",
    }
}

/// Frequency governors of all CPUs, each once.
fn governor(roots: &Roots) -> Option<String> {
    let cpus = roots.sys.join("devices/system/cpu");
    let all: BTreeSet<String> = names(&cpus)
        .iter()
        .filter_map(|cpu| attr(&cpus.join(cpu), "cpufreq/scaling_governor"))
        .collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join(", "))
}

/// The machine: recorded, and not compared.
pub(crate) fn host(roots: &Roots, layers: &[Layer]) -> Host {
    let mut host = Host {
        kernel: attr(&roots.proc, "sys/kernel/osrelease").unwrap_or_default(),
        boot_id: attr(&roots.proc, "sys/kernel/random/boot_id").unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        ..Host::default()
    };
    let mut note = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            host.notes.insert(name.to_owned(), value);
        }
    };
    let flags = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let hypervisor = flags
        .lines()
        .any(|l| l.starts_with("flags") && l.split_whitespace().any(|w| w == "hypervisor"));
    note("hypervisor", hypervisor.then(|| "yes".to_owned()));
    note(
        "idle_driver",
        attr(&roots.sys, "devices/system/cpu/cpuidle/current_driver"),
    );
    for leaf in layers.iter().filter(|l| l.leaf) {
        let Some(dir) = roots.named(&leaf.name) else {
            continue;
        };
        note(
            "numa_node",
            attr(&dir, "device/numa_node").or_else(|| attr(&dir, "device/device/numa_node")),
        );
        note("behind", medium(&dir, leaf));
    }
    host
}

/// The bus or driver below which the block layer cannot see: another cache may lie there.
fn medium(dir: &Path, leaf: &Layer) -> Option<String> {
    let name = leaf.name.trim_end_matches(|c: char| c.is_ascii_digit());
    match leaf.kind {
        LayerKind::Loop | LayerKind::Zram => return Some(word(leaf.kind).to_owned()),
        _ if matches!(name, "nbd" | "rbd" | "drbd") => return Some(name.to_owned()),
        _ => {}
    }
    if let Some(bus) = layer::bus(dir).filter(|b| matches!(b.as_str(), "virtio" | "xen" | "vmbus"))
    {
        return Some(bus);
    }
    // An iSCSI disk hangs below a session; a virtio or Hyper-V host adapter shows in the path.
    let path = dir.to_string_lossy();
    [
        ("/session", "iscsi"),
        ("/virtio", "virtio"),
        ("/VMBUS", "vmbus"),
        ("/cciss", "raid controller"),
    ]
    .iter()
    .find(|(part, _)| path.contains(part))
    .map(|(_, word)| (*word).to_owned())
}
