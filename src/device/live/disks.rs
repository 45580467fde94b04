//! Who is found below a path: loop, ext4, xfs, btrfs, bind mounts, raw devices.

use super::*;

#[test]
fn ext4_on_a_loop_over_memory_is_the_reference_disk() {
    let Some(mut b) = Bench::new() else { return };
    let (node, point) = b.disk(64 * MIB, &[], EXT4, "with space\tand\\more#ü");
    let l = seen(&point).unwrap();
    let f = &l.facts;
    assert!(l.mount_point_of_its_own);
    assert_eq!(f.target, point);
    assert_eq!(f.stack.len(), 1);
    assert_eq!(f.stack[0].name, node_name(&node));
    assert_eq!(f.stack[0].kind, LayerKind::Loop);
    assert_eq!(f.identity.model, "memory");
    assert_eq!(f.identity.name, "memory-64mib-ext4");
    assert_eq!(
        (l.raw.by.as_str(), l.raw.value.as_str()),
        ("label", format!("iogate-ref\0{UUID}").as_str())
    );
    assert_eq!(f.filesystem.as_ref().unwrap().uuid.as_deref(), Some(UUID));
    let queue = Path::new("/sys/block").join(node_name(&node)).join("queue");
    let read_ahead = fs::read_to_string(queue.join("read_ahead_kb")).unwrap();
    assert_eq!(f.settings["read_ahead_kb"], read_ahead.trim());
    assert_eq!(f.settings["kernel"], run("uname", &["-r"]).unwrap());
    assert_eq!(f.settings["layers"], "loop");
    assert_eq!(f.settings["filesystem"], "ext4");
    assert!(f.free.0 > 0 && f.free < l.total);
    assert!(f.alignment.direct);
    let inner = point.join("inner");
    fs::create_dir(&inner).unwrap();
    let inner = seen(&inner).unwrap();
    assert!(!inner.mount_point_of_its_own);
    assert_eq!(inner.facts.identity, f.identity);
}

#[test]
fn the_same_disk_under_another_node_is_the_same_and_another_disk_is_not() {
    let Some(mut b) = Bench::new() else { return };
    let (first, _) = b.disk(32 * MIB, &[], EXT4, "a");
    let (_, other) = b.disk(32 * MIB, &[], &["mkfs.ext4", "-q", "-L", "iogate-ref"], "b");
    let before = seen(&b.path("a")).unwrap().raw;
    let second = seen(&other).unwrap().raw;
    assert_ne!(before.hash("s"), second.hash("s"));
    run("umount", &[b.path("a").to_str().unwrap()]).unwrap();
    b.detach(&first);
    let third = b.attach("spacer", 8 * MIB, &[]);
    let again = b.attach_file(&b.path("0.img"), &[]);
    let point = b.mount(&[&again], "c");
    assert_eq!(
        seen(&point).unwrap().raw.hash("s"),
        before.hash("s"),
        "{first} {third} {again}"
    );
}

#[test]
fn a_loop_over_a_file_on_a_disk_is_told_down_to_that_disk() {
    let Some(mut b) = Bench::below(Path::new("/tmp")) else {
        return;
    };
    let here = seen(b.dir.path())
        .map(|l| l.facts.stack)
        .unwrap_or_default();
    let (_, point) = b.disk(64 * MIB, &["--direct-io=on"], EXT4, "m");
    let l = seen(&point).unwrap();
    let below: Vec<_> = l.facts.stack[1..].iter().map(|l| &l.name).collect();
    assert_eq!(below, here.iter().map(|l| &l.name).collect::<Vec<_>>());
    if !here.is_empty() {
        assert_eq!(l.facts.identity.model, "loop");
        assert_eq!((l.raw.by.as_str(), l.raw.value.as_str()), ("fs-uuid", UUID));
        assert_eq!(l.facts.settings["loop.direct_io"], "1");
    }
}

#[test]
fn a_backing_file_that_was_removed_still_leads_to_its_disk() {
    let Some(mut b) = Bench::below(Path::new("/tmp")) else {
        return;
    };
    let here = seen(b.dir.path())
        .map(|l| l.facts.stack)
        .unwrap_or_default();
    let (_, point) = b.disk(64 * MIB, &[], EXT4, "m");
    fs::remove_file(b.path("0.img")).unwrap();
    let stack = seen(&point).unwrap().facts.stack;
    assert_eq!(stack.len(), 1 + here.len());
}

#[test]
fn sectors_of_4096_bytes_show_in_the_alignment_of_ext4_and_xfs() {
    let Some(mut b) = Bench::new() else { return };
    let sector = ["--sector-size", "4096"];
    let (_, ext4) = b.disk(64 * MIB, &sector, EXT4, "e");
    let (_, xfs) = b.disk(320 * MIB, &sector, &["mkfs.xfs", "-q"], "x");
    for point in [ext4, xfs] {
        let a = seen(&point).unwrap().facts.alignment;
        assert_eq!((a.offset, a.direct), (4096, true), "{a:?}");
        let direct = |bytes: usize| {
            let file = crate::device::align::unlinked(&point, libc::O_DIRECT).unwrap();
            let buffer = vec![0_u8; 8192 + bytes];
            let skip = buffer.as_ptr().align_offset(4096);
            rustix::io::pwrite(&file, &buffer[skip..skip + bytes], 0)
        };
        assert!(direct(512).is_err(), "less than the alignment is refused");
        assert!(direct(4096).is_ok());
    }
}

#[test]
fn btrfs_shows_its_devices_its_own_read_ahead_and_a_subvolume_the_same_disk() {
    // The kernel remembers the devices of a UUID it has seen: a fixed one would meet its own past.
    let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
    let uuid = uuid.trim();
    let Some(mut b) = Bench::new() else { return };
    let one = b.attach("1", 256 * MIB, &[]);
    let two = b.attach("2", 256 * MIB, &[]);
    run(
        "mkfs.btrfs",
        &[
            "-q", "-L", "pool", "-U", uuid, "-d", "raid0", "-m", "raid1", &one, &two,
        ],
    )
    .unwrap();
    let both = format!("device={one},device={two}");
    let point = b.mount(&["-o", &both, &one], "pool");
    let sub = point.join("sub");
    run(
        "btrfs",
        &["-q", "subvolume", "create", sub.to_str().unwrap()],
    )
    .unwrap();
    let mut names = [node_name(&one), node_name(&two)];
    names.sort_unstable();
    for dir in [&point, &sub] {
        let l = seen(dir).unwrap();
        let mut found: Vec<_> = l.facts.stack.iter().map(|l| l.name.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, names);
        let fs = l.facts.filesystem.as_ref().unwrap();
        assert!(fs.copy_on_write);
        assert_eq!(
            (fs.uuid.as_deref(), fs.label.as_deref()),
            (Some(uuid), Some("pool"))
        );
        assert_eq!(l.mount_point_of_its_own, dir == &point);
    }
    let st_dev = fs::metadata(&sub).unwrap().dev();
    let shown = &seen(&sub).unwrap().facts.filesystem.unwrap().dev;
    assert_ne!(
        &crate::device::roots::DevNo::from_raw(st_dev).to_string(),
        shown
    );
    run("chattr", &["+C", sub.to_str().unwrap()]).unwrap();
    let no_cow = seen(&sub).unwrap().facts;
    assert!(!no_cow.filesystem.unwrap().copy_on_write);
    assert_eq!(no_cow.settings["nocow"], "1");
}

#[test]
fn a_bind_mount_is_a_mount_point_and_leads_to_the_same_disk() {
    let Some(mut b) = Bench::new() else { return };
    let (_, point) = b.disk(32 * MIB, &[], EXT4, "d");
    let inner = point.join("x");
    fs::create_dir(&inner).unwrap();
    let bound = b.mount(&["--bind", inner.to_str().unwrap()], "bound");
    let l = seen(&bound).unwrap();
    assert!(l.mount_point_of_its_own);
    assert_eq!(l.facts.identity, seen(&point).unwrap().facts.identity);
}

#[test]
fn a_raw_device_is_looked_at_with_its_size_and_the_label_on_it() {
    let Some(mut b) = Bench::new() else { return };
    let node = b.attach("r", 64 * MIB, &["--sector-size", "4096"]);
    run("mkfs.ext4", &["-q", "-U", UUID, &node]).unwrap();
    let l = seen(Path::new(&node)).unwrap();
    assert_eq!(l.facts.identity.filesystem, "raw");
    assert_eq!(l.total.0, 64 * MIB);
    assert_eq!(l.facts.alignment.offset, 4096);
    assert_eq!((l.raw.by.as_str(), l.raw.value.as_str()), ("fs-uuid", UUID));
}

#[test]
fn a_throttle_on_the_own_group_is_a_setting() {
    let Some(mut b) = Bench::new() else { return };
    let file = Path::new("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device");
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if !file.exists() || !own.lines().any(|l| l.ends_with(":blkio:/")) {
        eprintln!("skipped: not in the root group of a version 1 blkio controller");
        return;
    }
    let (_, point) = b.disk(32 * MIB, &[], EXT4, "d");
    let limit = |n: u64| {
        fs::write(
            file,
            format!("{} {n}", seen(&point).unwrap().facts.stack[0].dev),
        )
    };
    limit(123_456_789).unwrap();
    let found = seen(&point)
        .unwrap()
        .facts
        .settings
        .get("cgroup.read_bps")
        .cloned();
    limit(0).unwrap();
    assert_eq!(found.as_deref(), Some("123456789"));
    assert_eq!(
        seen(&point).unwrap().facts.settings.get("cgroup.read_bps"),
        None
    );
}

#[test]
fn this_machines_own_mounts_are_all_understood() {
    let roots = Roots::real();
    let mounts = Mounts::read(&roots).unwrap();
    for mount in &mounts.0 {
        for layer in stack::of_mount(&roots, &mounts, mount).layers {
            assert!(!layer.name.is_empty());
        }
    }
    let temp = fs::canonicalize(std::env::temp_dir()).unwrap();
    assert!(mounts.holding(&temp, None).is_some());
}
