//! Counters, page cache, layout and locks.

use super::*;

#[test]
fn counters_see_a_direct_write_and_read_once_and_the_page_cache_a_buffered_one() {
    let Some(mut b) = Bench::new() else { return };
    let (_, point) = b.disk(64 * MIB, &[], EXT4, "d");
    let l = seen(&point).unwrap();
    let w = witness(&Roots::real(), &l.facts);
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(point.join("f"))
        .unwrap();
    let before = w.counters();
    file.write_all(&vec![7; 8 << 20]).unwrap();
    assert_eq!(w.resident(&file).unwrap().0, 8 << 20);
    file.sync_all().unwrap();
    let after = w.counters();
    let moved = |a: Option<u64>, b: Option<u64>| a.unwrap() - b.unwrap();
    assert!(moved(after.device_written, before.device_written) >= 8 << 20);
    // Other tests of this process write meanwhile.
    assert!(moved(after.own_written, before.own_written) >= 8 << 20);
    assert_eq!(w.in_flight(), Some(0));
    let layout = w.layout(&file).unwrap();
    assert_eq!(layout.not_data.0, 0);
    assert!(layout.extents >= 1 && layout.position.0 > 0, "{layout:?}");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    assert_eq!(w.resident(&file).unwrap().0, 0);
}

#[test]
fn a_hole_and_preallocated_space_are_not_data() {
    let Some(mut b) = Bench::new() else { return };
    let (_, ext4) = b.disk(64 * MIB, &[], EXT4, "e");
    let (_, xfs) = b.disk(320 * MIB, &[], &["mkfs.xfs", "-q"], "x");
    for point in [ext4, xfs] {
        let l = seen(&point).unwrap();
        let w = witness(&Roots::real(), &l.facts);
        let hole = File::create(point.join("hole")).unwrap();
        hole.set_len(4 << 20).unwrap();
        assert_eq!(w.layout(&hole).unwrap().not_data.0, 4 << 20);
        let reserved = File::create(point.join("reserved")).unwrap();
        rustix::fs::fallocate(&reserved, rustix::fs::FallocateFlags::empty(), 0, 4 << 20).unwrap();
        assert_eq!(w.layout(&reserved).unwrap().not_data.0, 4 << 20);
    }
}

#[test]
fn switched_off_counters_are_no_witness() {
    let Some(mut b) = Bench::new() else { return };
    let (node, point) = b.disk(32 * MIB, &[], EXT4, "d");
    let l = seen(&point).unwrap();
    let w = witness(&Roots::real(), &l.facts);
    assert!(w.sees_device());
    let iostats = Path::new("/sys/block")
        .join(node_name(&node))
        .join("queue/iostats");
    fs::write(&iostats, "0").unwrap();
    assert_eq!((w.counters().device_read, w.in_flight()), (None, None));
    fs::write(&iostats, "1").unwrap();
    assert!(w.sees_device());
}

#[test]
fn a_second_lock_is_refused_names_the_holder_and_the_disk_is_free_after() {
    let Some(mut b) = Bench::new() else { return };
    let one = b.attach("1", 256 * MIB, &[]);
    run("mkfs.btrfs", &["-q", &one]).unwrap();
    let btrfs = b.mount(&[&one], "b");
    let (_, ext4) = b.disk(32 * MIB, &[], EXT4, "e");
    let inner = ext4.join("x");
    fs::create_dir(&inner).unwrap();
    let bound = b.mount(&["--bind", inner.to_str().unwrap()], "bound");
    let roots = Roots::real();
    for (first, second) in [(&btrfs, &btrfs), (&ext4, &ext4), (&ext4, &bound)] {
        let (first, second) = (seen(first).unwrap(), seen(second).unwrap());
        let held = try_lock(&roots, &first).unwrap();
        assert_eq!((held.len(), held.note()), (2, None));
        match try_lock(&roots, &second) {
            Err(LockError::Busy(busy)) => {
                let holder = busy.holder.expect("shown in /proc/locks");
                assert_eq!((holder.pid, holder.dead), (std::process::id(), false));
            }
            other => panic!("{other:?}"),
        }
        drop(held);
        drop(try_lock(&roots, &second).unwrap());
    }
}

#[test]
fn a_block_device_and_a_directory_on_it_exclude_each_other() {
    let Some(mut b) = Bench::new() else { return };
    let (node, point) = b.disk(32 * MIB, &[], EXT4, "e");
    let roots = Roots::real();
    let (raw, dir) = (seen(Path::new(&node)).unwrap(), seen(&point).unwrap());
    let held = try_lock(&roots, &raw).unwrap();
    assert_eq!(held.len(), 1);
    assert!(matches!(try_lock(&roots, &dir), Err(LockError::Busy(_))));
}
