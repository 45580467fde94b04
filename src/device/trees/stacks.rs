//! From the mount down to the disks, and the settings of each.

use super::*;

#[test]
fn dm_crypt_over_an_nvme_partition_is_walked_to_the_disk() {
    let t = Tree::new();
    nvme(&t);
    t.block(
        "pci/nvme/nvme0/nvme0n1/nvme0n1p3",
        "259:3",
        "partition=3;size=1000",
    );
    t.block(
        "virtual/block/dm-0",
        "252:0",
        "dm=@;dm/name=cryptroot;size=900",
    )
    .queue("virtual/block/dm-0", "none", 4096)
    .slave("virtual/block/dm-0", "pci/nvme/nvme0/nvme0n1/nvme0n1p3");
    let lines = "20 1 252:0 / /data rw,noatime - ext4 /dev/mapper/cryptroot rw,errors=remount-ro";
    let s = below(&t, lines, "/data/x");
    assert_eq!(shape(&s), ["dm-0@0", "nvme0n1p3@1", "nvme0n1@2!"]);
    assert_eq!(
        kinds(&s),
        [LayerKind::Dm, LayerKind::Partition, LayerKind::Disk]
    );
    assert_eq!(raw(&t, &s), ("wwid".into(), "eui.0025385b01b1c5a1".into()));
    let seen = identity::visible(&s, "ext4", Bytes(1));
    assert_eq!(
        (seen.model.as_str(), seen.size),
        ("Samsung SSD 980 PRO 1TB", Bytes(900 * 512))
    );
    let all = settings_of(&t, &t.mounts(lines), "/data");
    let of = |name: &str| all.get(name).map(String::as_str);
    assert_eq!(of("read_ahead_kb"), Some("4096"));
    assert_eq!(of("disk.read_ahead_kb"), Some("128"));
    assert_eq!(of("disk.firmware"), Some("5B2QGXA7"));
    assert_eq!(of("layers"), Some("dm > partition > disk"));
    assert_eq!(of("mount_options"), Some("errors=remount-ro,noatime,rw"));
}

#[test]
fn md_over_partitions_shows_every_member_and_both_values_where_they_differ() {
    let t = Tree::new();
    for (disk, number, scheduler, serial) in [
        ("sda", "8:0", "none [mq-deadline]", "naa.5000c500a1"),
        ("sdb", "8:16", "[none] mq-deadline", "naa.5000c500b2"),
    ] {
        let path = format!("pci/ata/{disk}");
        t.block(
            &path,
            number,
            &format!("size=8000;device/model=WDC WD40;device/wwid={serial};device/rev=0A82"),
        );
        t.queue(&path, scheduler, 128);
    }
    t.block("pci/ata/sda/sda1", "8:1", "partition=1;size=4000");
    t.block("pci/ata/sdb/sdb1", "8:17", "partition=1;size=4000");
    t.block("virtual/block/md0", "9:0", "md=@;md/level=raid1;size=4000")
        .queue("virtual/block/md0", "none", 1024)
        .slave("virtual/block/md0", "pci/ata/sda/sda1")
        .slave("virtual/block/md0", "pci/ata/sdb/sdb1");
    let lines = "20 1 9:0 / /srv rw - xfs /dev/md0 rw";
    let s = below(&t, lines, "/srv");
    assert_eq!(shape(&s), ["md0@0", "sda1@1", "sdb1@1", "sda@2!", "sdb@2!"]);
    assert_eq!(raw(&t, &s).1, "naa.5000c500a1\0naa.5000c500b2");
    assert_eq!(identity::visible(&s, "xfs", Bytes(0)).model, "2x WDC WD40");
    let all = settings_of(&t, &t.mounts(lines), "/srv");
    assert_eq!(all["scheduler"], "none");
    assert_eq!(all["disk.scheduler"], "mq-deadline, none");
    assert_eq!(all["disk.firmware"], "0A82");
    assert_eq!(all["layers"], "md > partition+partition > disk+disk");
}

#[test]
fn two_partitions_of_one_disk_lead_to_it_once() {
    let t = Tree::new();
    nvme(&t);
    t.block("pci/nvme/nvme0/nvme0n1/nvme0n1p1", "259:1", "partition=1");
    t.block("pci/nvme/nvme0/nvme0n1/nvme0n1p2", "259:2", "partition=2");
    t.block("virtual/block/dm-1", "252:1", "dm=@")
        .slave("virtual/block/dm-1", "pci/nvme/nvme0/nvme0n1/nvme0n1p1")
        .slave("virtual/block/dm-1", "pci/nvme/nvme0/nvme0n1/nvme0n1p2");
    let s = below(&t, "20 1 252:1 / /d rw - ext4 /dev/dm-1 rw", "/d");
    assert_eq!(
        shape(&s),
        ["dm-1@0", "nvme0n1p1@1", "nvme0n1p2@1", "nvme0n1@2!"]
    );
}

#[test]
fn nvme_multipath_leads_to_its_hidden_paths_by_name_and_by_folder() {
    let t = Tree::new();
    multipath(&t, "1 0 400 0 1 0 40 0 0 0 0", "1");
    let lines = "20 1 259:0 / /d rw - ext4 /dev/nvme0n1 rw";
    let s = below(&t, lines, "/d");
    assert_eq!(shape(&s), ["nvme0n1@0", "nvme0c0n1@1!", "nvme0c1n1@1!"]);
    assert_eq!(raw(&t, &s), ("wwid".into(), "eui.aa".into()));
    let head = "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/multipath";
    t.sys_link(
        &format!("{head}/nvme0c1n1"),
        "devices/pci/nvme/nvme1/nvme0c1n1",
    );
    assert_eq!(
        shape(&below(&t, lines, "/d")),
        ["nvme0n1@0", "nvme0c1n1@1!"]
    );
}

#[test]
fn names_with_a_slash_and_numbered_partitions_find_their_disk_by_links() {
    let t = Tree::new();
    for (disk, part, number, node) in [
        (
            "pci/cciss!c0d0",
            "cciss!c0d0p1",
            "104:1",
            "/dev/cciss/c0d0p1",
        ),
        (
            "platform/mmc0/mmcblk0",
            "mmcblk0p2",
            "179:2",
            "/dev/mmcblk0p2",
        ),
    ] {
        let whole = number.split_once(':').unwrap().0;
        t.block(
            disk,
            &format!("{whole}:0"),
            "size=100;device/cid=1b534d30;device/name=SD32G;device/fwrev=0x10",
        );
        t.queue(disk, "none [bfq]", 64);
        t.block(&format!("{disk}/{part}"), number, "partition=1;size=50");
        let lines = format!("20 1 {number} / /d rw - ext4 {node} rw");
        let s = below(&t, &lines, "/d");
        let name = disk.rsplit('/').next().unwrap();
        assert_eq!(shape(&s), [format!("{part}@0"), format!("{name}@1!")]);
        assert_eq!(s.layers[0].queue.as_ref().unwrap().scheduler, "bfq");
        assert_eq!(s.layers[1].model.as_deref(), Some("SD32G"));
        assert_eq!(stack::source_dir(&t.roots, node), t.roots.named(part));
    }
}

#[test]
fn btrfs_on_two_disks_lists_both_side_by_side_with_its_own_read_ahead_and_uuid() {
    let t = Tree::new();
    let lines = two_disk_btrfs(&t);
    let s = below(&t, lines, "/pool/a");
    assert_eq!(shape(&s), ["sdc@0!", "sdd@0!"]);
    let mounts = t.mounts(lines);
    let all = settings_of(&t, &mounts, "/pool");
    assert_eq!(
        (
            all["read_ahead_kb"].as_str(),
            all["queue.read_ahead_kb"].as_str()
        ),
        ("4096", "128, 256")
    );
    let told = label::of_mount(&t.roots, t.at(&mounts, "/pool"), s.layers.first(), None);
    assert_eq!(told.label.uuid.as_deref(), Some("1b2c-3d"));
    assert_eq!(told.label.label.as_deref(), Some("pool"));
    let c = witness(&t.roots, &facts(&t, s)).counters();
    assert_eq!(
        (c.device_read, c.device_written),
        (Some(40 * 512), Some(60 * 512))
    );
}

#[test]
fn a_btrfs_with_a_device_that_is_not_shown_has_no_stack_rather_than_half_of_one() {
    let t = Tree::new();
    let lines = two_disk_btrfs(&t);
    t.sys_link("fs/btrfs/1b2c-3d/devices/sde", "devices/pci/sde");
    assert_eq!(below(&t, lines, "/pool"), Stack::default());
}

#[test]
fn zfs_nfs_fuse_overlay_and_memory_have_no_stack_and_borrow_no_disks_settings() {
    let t = Tree::new();
    t.block("pci/sda", "8:0", "size=100");
    t.queue("pci/sda", "none", 128);
    t.sys("devices/virtual/bdi/0:45/read_ahead_kb", "15360\n");
    t.sys_link("class/bdi/0:45", "devices/virtual/bdi/0:45");
    for line in [
        "20 1 0:44 / /m rw - zfs tank/data rw,xattr",
        "20 1 0:45 / /m rw - nfs4 filer:/vol1 rw,rsize=1048576",
        "20 1 0:46 / /m rw - fuse.sshfs me@host:/x rw",
        "20 1 0:47 / /m rw - overlay overlay rw,lowerdir=/dev/sda",
        "20 1 0:48 / /m rw - tmpfs /dev/sda rw",
    ] {
        assert_eq!(below(&t, line, "/m"), Stack::default(), "{line}");
        let all = settings_of(&t, &t.mounts(line), "/m");
        assert_eq!(all.get("scheduler"), None, "{line}");
        assert_eq!(all["layers"], "unknown");
        let own = line.contains("nfs4").then_some("15360");
        assert_eq!(all.get("read_ahead_kb").map(String::as_str), own, "{line}");
        let w = witness(&t.roots, &facts(&t, Stack::default()));
        assert!(!w.sees_device());
    }
}

#[test]
fn a_loop_without_the_right_to_ask_it_stands_on_the_mount_of_its_file() {
    let t = Tree::new();
    nvme(&t);
    let image = t.path().join("image file");
    std::fs::write(&image, "").unwrap();
    let backing = image.display().to_string();
    t.block(
        "virtual/block/loop7",
        "7:7",
        &format!("size=8;loop/backing_file={backing};loop/dio=1"),
    );
    t.queue("virtual/block/loop7", "[none]", 128);
    let on = |number: &str, kind: &str| {
        let point = t.path().display().to_string();
        let lines = format!(
            "20 1 {number} / {point} rw - {kind} x rw\n21 1 7:7 / /l rw - ext4 /dev/loop7 rw"
        );
        let s = below(&t, &lines, "/l");
        (
            shape(&s),
            s.memory,
            settings_of(&t, &t.mounts(&lines), "/l"),
        )
    };
    let (layers, memory, all) = on("259:0", "ext4");
    assert_eq!(layers, ["loop7@0", "nvme0n1@1!"]);
    assert!(!memory);
    assert_eq!(all["loop.direct_io"], "1");
    assert_eq!(all["disk.firmware"], "5B2QGXA7");
    let (layers, memory, _) = on("0:30", "tmpfs");
    assert_eq!((layers, memory), (vec!["loop7@0!".to_owned()], true));
}

#[test]
fn a_circle_of_loops_ends_and_tells_nothing() {
    let t = Tree::new();
    let image = t.path().join("i");
    std::fs::write(&image, "").unwrap();
    t.block(
        "virtual/block/loop1",
        "7:1",
        &format!("loop/backing_file={}", image.display()),
    );
    let lines = format!("20 1 7:1 / {} rw - ext4 /dev/loop1 rw", t.path().display());
    assert_eq!(
        below(&t, &lines, "/"),
        Stack::default(),
        "254:0 is not in sysfs"
    );
    let mounts = t.mounts(&lines);
    assert_eq!(
        stack::of_device(&t.roots, &mounts, dev("7:1")),
        Stack::default()
    );
}
