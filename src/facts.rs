//! What the machine says about the disk under a path: plain data, gathered by `device`, used by everyone.
//!
//! A fact that could not be read carries its reason; absent never reads as fine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::units::Bytes;

/// Everything known about one target before it is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The directory or block device named by the user, made absolute.
    pub target: PathBuf,
    /// A directory on a file system, or a raw block device.
    pub kind: TargetKind,
    /// Who the disk is.
    pub identity: Identity,
    /// The file system the directory lies on; `None` for a raw block device.
    pub filesystem: Option<FileSystem>,
    /// The block devices below, top first; empty for FUSE, NFS, ZFS and memory.
    pub stack: Vec<Layer>,
    /// Direct-I/O needs.
    pub alignment: Alignment,
    /// Bytes an unprivileged writer may still take.
    pub free: Bytes,
    /// Everything that is compared between baseline and run and named as a suspect when it changed:
    /// `scheduler`, `read_ahead_kb`, `kernel`, `mount_options`, `cgroup.read_bps`, … Sorted by name.
    pub settings: Settings,
    /// The machine.
    pub host: Host,
}

/// Settings by name, each as the kernel prints it.
pub type Settings = BTreeMap<String, String>;

/// What the target path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A directory to lay scratch files in.
    Directory,
    /// A block device, read-only unless `--destroy` names it too.
    BlockDevice,
}

/// Who a disk is: by serial, WWID or file-system UUID, never by node name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Folder name under `baselines/`: from model, size and file system, unless the user named the disk.
    pub name: String,
    /// Model in clear; `memory` for a loop or zram device over memory.
    pub model: String,
    /// Size of the whole disk (or file system where no disk is known).
    pub size: Bytes,
    /// File system type, or `raw`.
    pub filesystem: String,
    /// What identifies it: `wwid`, `serial`, `label` (with the UUID), `fs-uuid`, `source` (what is mounted), or `none`.
    pub by: String,
    /// Random salt, hex.
    pub salt: String,
    /// SHA-256 over salt and identifier, hex.
    pub hash: String,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// `ext4`, `xfs`, `btrfs`, `fuse.sshfs`, …
    pub kind: String,
    /// Mount source as in mountinfo, decoded.
    pub source: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// `major:minor` as in mountinfo (anonymous on btrfs, FUSE, NFS).
    pub dev: String,
    /// Mount and super options, joined.
    pub options: String,
    /// UUID, where the stack tells.
    pub uuid: Option<String>,
    /// Label, where the stack tells.
    pub label: Option<String>,
    /// Overwrites go elsewhere (btrfs, bcachefs, ZFS): R and W are two files.
    pub copy_on_write: bool,
}

/// One block device of the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Kernel name as under /sys/class/block: `nvme0n1p1`, `loop7`, `md0`.
    pub name: String,
    /// `major:minor`; empty for the hidden paths of an NVMe multipath disk, which have none.
    pub dev: String,
    /// What it is.
    pub kind: LayerKind,
    /// Distance from the top: layers of equal depth lie side by side.
    pub depth: u32,
    /// Nothing lies below it.
    pub leaf: bool,
    /// Model, where sysfs tells.
    pub model: Option<String>,
    /// Serial or WWID, kept in memory only: never written to a file in clear.
    #[serde(skip)]
    pub serial: Option<String>,
    /// Size.
    pub size: Bytes,
    /// Queue limits of the whole disk it belongs to; `None` where the kernel shows none.
    pub queue: Option<Queue>,
    /// Backing file of a loop device, decoded.
    pub backing_file: Option<PathBuf>,
}

/// Kind of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// A partition.
    Partition,
    /// A whole disk.
    Disk,
    /// A loop device.
    Loop,
    /// A device-mapper device.
    Dm,
    /// A software RAID device.
    Md,
    /// Compressed memory.
    Zram,
}

/// /sys/block/NAME/queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The active scheduler, brackets removed.
    pub scheduler: String,
    /// Read-ahead of the block device.
    pub read_ahead_kb: u64,
    /// Requests the block layer may queue.
    pub nr_requests: u64,
    /// Largest request in use.
    pub max_sectors_kb: u64,
    /// Largest request the hardware takes.
    pub max_hw_sectors_kb: u64,
    /// As the driver claims; lies on virtio and USB.
    pub rotational: bool,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// Merging switched off (0, 1, 2).
    pub nomerges: u64,
    /// Counters are kept.
    pub iostats: bool,
    /// Smallest addressable unit.
    pub logical_block_size: u64,
    /// Smallest unit written without read-modify-write.
    pub physical_block_size: u64,
    /// Preferred unit; 0 unknown. A multiple of the stripe on RAID.
    pub optimal_io_size: u64,
}

/// What direct I/O needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alignment {
    /// Offset and length must be multiples of this.
    pub offset: u64,
    /// Buffers must be aligned to this.
    pub memory: u64,
    /// Where the numbers come from: `statx`, `logical block size`, `page size`.
    pub source: String,
    /// The file system takes `O_DIRECT` at all.
    pub direct: bool,
}

/// The machine a run happened on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// Boot id, to tell sessions of one boot from another.
    pub boot_id: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Hypervisor flag, governor, NUMA node, …: recorded, not compared.
    pub notes: BTreeMap<String, String>,
}

/// SHA-256 over salt, a zero byte and a secret, as lower-case hex: what stands in committed files for what may not.
#[must_use]
pub fn salted_hash(salt: &str, secret: &[u8]) -> String {
    let mut sha = Sha256::new();
    sha.update(salt.as_bytes());
    sha.update([0]);
    sha.update(secret);
    sha.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

impl Facts {
    /// The device whose counters see every byte of the target once: the top of the stack.
    #[must_use]
    pub fn top(&self) -> Option<&Layer> {
        self.stack.first()
    }

    /// The devices at the bottom.
    pub fn leaves(&self) -> impl Iterator<Item = &Layer> {
        self.stack.iter().filter(|l| l.leaf)
    }
}
