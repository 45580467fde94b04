//! Machines that are not here, as trees: what their stacks, identities and settings must come out as.

mod stacks;
mod sundry;

use std::path::Path;

use crate::facts::{Facts, FileSystem, Layer, LayerKind, TargetKind};
use crate::sample::Witness;
use crate::units::Bytes;

use super::fake::{Tree, dev};
use super::identity::{self, identity as identified};
use super::look::allowed;
use super::mounts::{Mount, Mounts};
use super::refusal::Refusal;
use super::stack::{self, Stack};
use super::superblock::Label;
use super::{LookOptions, RawIdentity, label, look, settings, witness};

/// `name@depth` for each layer, a leaf marked with `!`.
fn shape(stack: &Stack) -> Vec<String> {
    let mark = |l: &Layer| if l.leaf { "!" } else { "" };
    stack
        .layers
        .iter()
        .map(|l| format!("{}@{}{}", l.name, l.depth, mark(l)))
        .collect()
}

fn below(t: &Tree, lines: &str, point: &str) -> Stack {
    let mounts = t.mounts(lines);
    stack::of_mount(&t.roots, &mounts, t.at(&mounts, point))
}

fn kinds(stack: &Stack) -> Vec<LayerKind> {
    stack.layers.iter().map(|l| l.kind).collect()
}

fn fs(mount: &Mount) -> FileSystem {
    FileSystem {
        kind: mount.kind.clone(),
        source: mount.source.clone(),
        mount_point: mount.point.clone(),
        dev: mount.dev.to_string(),
        options: mount.all_options(),
        uuid: None,
        label: None,
        copy_on_write: false,
    }
}

fn settings_of(t: &Tree, mounts: &Mounts, point: &str) -> crate::facts::Settings {
    let mount = t.at(mounts, point);
    let stack = stack::of_mount(&t.roots, mounts, mount);
    settings::gather(&t.roots, mounts, &stack.layers, Some(&fs(mount)))
}

fn raw(t: &Tree, stack: &Stack) -> (String, String) {
    let RawIdentity { by, value } = identity::raw(&t.roots, stack, &Label::default(), None);
    (by, value)
}

fn nvme(t: &Tree) {
    t.block(
        "pci/nvme/nvme0/nvme0n1",
        "259:0",
        "size=2000409264;wwid=eui.0025385b01b1c5a1;\
         device/model=Samsung SSD 980 PRO 1TB  ;device/serial=S5GXNX0R;device/firmware_rev=5B2QGXA7",
    );
    t.queue("pci/nvme/nvme0/nvme0n1", "[none] mq-deadline kyber", 128);
}

fn multipath(t: &Tree, head_stat: &str, iostats: &str) {
    for (path, number, stat) in [
        (
            "virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
            "259:0",
            head_stat,
        ),
        ("pci/nvme/nvme0/nvme0c0n1", "", "1 0 100 0 1 0 10 0 0 0 0"),
        ("pci/nvme/nvme1/nvme0c1n1", "", "1 0 300 0 1 0 30 0 0 0 0"),
        ("pci/nvme/nvme1/nvme1c1n1", "", "1 0 999 0 1 0 99 0 0 0 0"),
        ("pci/nvme/nvme1/nvme0c1n10", "", "1 0 999 0 1 0 99 0 0 0 0"),
    ] {
        t.block(
            path,
            number,
            &format!("hidden=1;wwid=eui.aa;device/model=EBOF;size=100;stat={stat}"),
        );
        t.queue(path, "none", 128);
    }
    let head = "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
    t.sys(&format!("{head}/queue/iostats"), iostats);
}

fn facts(t: &Tree, stack: Stack) -> Facts {
    let seen = identity::visible(&stack, "ext4", Bytes(0));
    let id = identity::raw(&t.roots, &stack, &Label::default(), None);
    Facts {
        target: "/d".into(),
        kind: TargetKind::Directory,
        identity: identified(&seen, &id, "", None),
        filesystem: None,
        alignment: super::align::of(
            Path::new("/d"),
            TargetKind::Directory,
            None,
            stack.layers.first(),
        ),
        stack: stack.layers,
        free: Bytes(0),
        settings: Default::default(),
        host: Default::default(),
    }
}

fn two_disk_btrfs(t: &Tree) -> &'static str {
    for (name, number, read_ahead, stat) in [
        ("sdc", "8:32", 128, "1 0 10 0 1 0 20 0 0 0 0"),
        ("sdd", "8:48", 256, "1 0 30 0 1 0 40 0 0 0 0"),
    ] {
        let path = format!("pci/{name}");
        t.block(
            &path,
            number,
            &format!("size=100;device/model=HGST;stat={stat}"),
        );
        t.queue(&path, "none", read_ahead);
        t.sys_link(
            &format!("fs/btrfs/1b2c-3d/devices/{name}"),
            &format!("devices/{path}"),
        );
    }
    t.sys("fs/btrfs/1b2c-3d/label", "pool\n");
    t.sys("devices/virtual/bdi/btrfs-1/read_ahead_kb", "4096\n");
    t.sys_link("fs/btrfs/1b2c-3d/bdi", "devices/virtual/bdi/btrfs-1");
    "20 1 0:39 /sub /pool rw - btrfs /dev/sdc rw,subvol=/sub"
}
