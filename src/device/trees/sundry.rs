//! Witnesses, labels and refusals on machines that are not here.

use super::*;

#[test]
fn a_multipath_head_that_counts_is_the_witness_and_one_that_does_not_leaves_it_to_its_paths() {
    let sum = |head: &str, iostats: &str| {
        let t = Tree::new();
        multipath(&t, head, iostats);
        let s = below(&t, "20 1 259:0 / /d rw - ext4 /dev/nvme0n1 rw", "/d");
        let c = witness(&t.roots, &facts(&t, s)).counters();
        (c.device_read, c.device_written)
    };
    let sectors = |r: u64, w: u64| (Some(r * 512), Some(w * 512));
    assert_eq!(sum("1 0 444 0 1 0 44 0 0 0 0", "1"), sectors(444, 44));
    assert_eq!(sum("0 0 0 0 0 0 0 0 0 0 0", "1"), sectors(400, 40));
    assert_eq!(sum("0 0 0 0 0 0 0 0 0 0 0", "0"), sectors(400, 40));
}

#[test]
fn frozen_counters_are_none_and_so_is_the_sum_with_one_of_them() {
    let t = Tree::new();
    let s = below(&t, two_disk_btrfs(&t), "/pool");
    let w = witness(&t.roots, &facts(&t, s));
    t.sys("devices/pci/sdd/queue/iostats", "0\n");
    assert_eq!((w.counters().device_read, w.in_flight()), (None, None));
    assert!(!w.sees_device());
}

#[test]
fn zram_is_memory_and_a_virtio_disk_without_a_serial_is_not_known_by_one() {
    let t = Tree::new();
    t.block("virtual/block/zram0", "253:0", "size=64");
    t.block("pci/virtio1/vda", "254:0", "size=64;serial=");
    t.sys_link("devices/pci/virtio1/vda/device/subsystem", "bus/virtio");
    let m = t.mounts("");
    let zram = stack::of_device(&t.roots, &m, dev("253:0"));
    assert_eq!(
        (
            zram.memory,
            identity::visible(&zram, "raw", Bytes(0)).model.as_str()
        ),
        (true, "memory")
    );
    let vda = stack::of_device(&t.roots, &m, dev("254:0"));
    assert_eq!(vda.layers[0].model.as_deref(), Some("virtio"));
    assert_eq!(raw(&t, &vda).0, "none");
    assert_eq!(
        settings::host(&t.roots, &vda.layers).notes["behind"],
        "virtio"
    );
}

#[test]
fn labels_come_from_udevs_links_when_they_are_there() {
    let t = Tree::new();
    t.block("pci/cciss!c0d0", "104:0", "size=1");
    t.dev_link("disk/by-uuid/aaaa-bbbb", "../../sdz");
    t.dev_link("disk/by-uuid/cccc-dddd", "../../cciss/c0d0");
    t.dev_link(r"disk/by-label/my\x20disk", "../../cciss/c0d0");
    let m = t.mounts("20 1 104:0 / /d rw - ext4 /dev/cciss/c0d0 rw");
    let s = stack::of_mount(&t.roots, &m, t.at(&m, "/d"));
    let told = label::of_mount(&t.roots, t.at(&m, "/d"), s.layers.first(), None);
    assert_eq!(told.label.uuid.as_deref(), Some("cccc-dddd"));
    assert_eq!(told.label.label.as_deref(), Some("my disk"));
}

#[test]
fn a_uuid_that_cannot_be_read_says_why() {
    let t = Tree::new();
    t.block("pci/sda", "8:0", "size=1");
    let m = t.mounts("20 1 8:0 / /d rw - ext4 /dev/sda rw");
    let s = stack::of_mount(&t.roots, &m, t.at(&m, "/d"));
    let told = label::of_mount(&t.roots, t.at(&m, "/d"), s.layers.first(), None);
    assert!(told.missing.unwrap().contains("sda"));
}

#[test]
fn a_source_under_a_mapper_name_is_found_by_its_link() {
    let t = Tree::new();
    t.block("virtual/block/dm-2", "252:2", "dm=@");
    t.dev_link("mapper/vg-data", "../dm-2");
    assert_eq!(
        stack::source_dir(&t.roots, "/dev/mapper/vg-data"),
        t.roots.named("dm-2")
    );
    assert_eq!(stack::source_dir(&t.roots, "tank/data"), None);
    assert_eq!(stack::source_dir(&t.roots, ""), None);
}

#[test]
fn where_a_directory_lies_decides_whether_it_may_be_measured() {
    let t = Tree::new();
    let dev_root = t.roots.dev.display().to_string();
    let check = |line: &str, path: &str, opts: LookOptions| {
        let m = t.mounts(line);
        allowed(&t.roots, t.at(&m, path), Path::new(path), &opts)
    };
    let none = LookOptions::default;
    let tmpfs = "20 1 0:5 / /run rw - tmpfs tmpfs rw";
    let overlay = "20 1 0:5 / /var rw - overlay overlay rw";
    assert!(matches!(
        check(tmpfs, "/run/x", none()),
        Err(Refusal::Memory { .. })
    ));
    assert!(
        check(
            tmpfs,
            "/run/x",
            LookOptions {
                allow_memory: true,
                ..none()
            }
        )
        .is_ok()
    );
    assert!(matches!(
        check(overlay, "/var/x", none()),
        Err(Refusal::Overlay { .. })
    ));
    assert!(
        check(
            overlay,
            "/var/x",
            LookOptions {
                allow_overlay: true,
                ..none()
            }
        )
        .is_ok()
    );
    let devtmpfs = "20 1 0:5 / /d rw - devtmpfs devtmpfs rw";
    assert!(matches!(
        check(devtmpfs, "/d/x", none()),
        Err(Refusal::DeviceTree { .. })
    ));
    let container = format!("20 1 0:5 / {dev_root} rw - tmpfs tmpfs rw");
    let all = LookOptions {
        allow_memory: true,
        ..none()
    };
    assert!(matches!(
        check(&container, &dev_root, all),
        Err(Refusal::DeviceTree { .. })
    ));
    let cgroup = "20 1 0:5 / /cg rw - cgroup2 cgroup2 rw";
    assert!(matches!(
        check(cgroup, "/cg/x", none()),
        Err(Refusal::KernelFiles { .. })
    ));
}

#[test]
fn a_mount_point_that_is_none_any_more_is_said_before_anything_else_about_the_place() {
    let t = Tree::new();
    let m = t.mounts("20 1 8:1 / /mnt/disk rw - xfs /dev/sda1 rw");
    let opts = LookOptions {
        expect_mount_point: Some("/mnt/other".into()),
        ..LookOptions::default()
    };
    let check = |path: &str| allowed(&t.roots, t.at(&m, path), Path::new(path), &opts);

    let said = check("/mnt/other").unwrap_err().to_string();
    assert!(said.contains("ext4 mounted at /"), "{said}");
}

#[test]
fn an_empty_name_and_a_missing_directory_are_refused_before_the_tables_are_read() {
    let t = Tree::new();
    let opts = LookOptions::default();
    assert!(matches!(
        look(&t.roots, Path::new(""), &opts),
        Err(Refusal::EmptyName)
    ));
    let gone = t.path().join("a/b/c");
    match look(&t.roots, &gone, &opts) {
        Err(Refusal::Missing { nearest, path }) => {
            assert_eq!(nearest, t.path());
            assert_eq!(path, gone);
        }
        other => panic!("{other:?}"),
    }
}
