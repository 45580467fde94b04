//! What is refused, and what may be overwritten.

use super::*;

#[test]
fn memory_overlays_and_read_only_mounts_are_refused_by_name() {
    let Some(mut b) = Bench::new() else { return };
    let memory = b.mount(&["-t", "tmpfs", "iogate"], "t");
    assert!(matches!(seen(&memory), Err(Refusal::Memory { .. })));
    let roots = Roots::real();
    let allow = LookOptions {
        allow_memory: true,
        allow_overlay: true,
        ..LookOptions::default()
    };
    let l = look(&roots, &memory, &allow).unwrap();
    assert!(l.facts.stack.is_empty());
    for dir in ["t/u", "t/w"] {
        fs::create_dir(b.path(dir)).unwrap();
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        memory.display(),
        b.path("t/u").display(),
        b.path("t/w").display()
    );
    let over = b.mount(&["-t", "overlay", "overlay", "-o", &options], "o");
    assert!(matches!(seen(&over), Err(Refusal::Overlay { .. })));
    assert!(look(&roots, &over, &allow).is_ok());
    let (_, disk) = b.disk(32 * MIB, &[], EXT4, "d");
    run("mount", &["-o", "remount,ro", disk.to_str().unwrap()]).unwrap();
    let said = seen(&disk).unwrap_err();
    assert!(matches!(said, Refusal::ReadOnlyMount { .. }), "{said}");
}

#[test]
fn a_missing_mount_is_told_when_one_is_expected() {
    let Some(mut b) = Bench::below(Path::new("/tmp")) else {
        return;
    };
    let (_, point) = b.disk(32 * MIB, &[], EXT4, "d");
    let opts = LookOptions {
        expect_mount_point: Some(point.clone()),
        allow_overlay: true,
        ..LookOptions::default()
    };
    assert!(look(&Roots::real(), &point, &opts).is_ok());
    run("umount", &[point.to_str().unwrap()]).unwrap();
    let said = look(&Roots::real(), &point, &opts).unwrap_err();
    assert!(matches!(said, Refusal::NotAMountPoint { .. }), "{said}");
}

#[test]
fn the_device_tree_the_root_and_odd_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "").unwrap();
    assert!(matches!(seen(Path::new("/")), Err(Refusal::Root(_))));
    assert!(matches!(seen(Path::new("/..")), Err(Refusal::Root(_))));
    assert!(matches!(
        seen(Path::new("/dev")),
        Err(Refusal::DeviceTree { .. })
    ));
    assert!(matches!(
        seen(Path::new("/dev/null")),
        Err(Refusal::CharacterDevice(_))
    ));
    assert!(matches!(
        seen(Path::new("/proc/self")),
        Err(Refusal::KernelFiles { .. })
    ));
    assert!(matches!(
        seen(Path::new("/sys/block")),
        Err(Refusal::KernelFiles { .. })
    ));
    assert!(matches!(
        seen(&file),
        Err(Refusal::NotADirectory {
            found: "regular file",
            ..
        })
    ));
}

#[test]
fn a_directory_that_is_not_ours_to_write_is_refused_and_trying_leaves_nothing() {
    let Some(mut b) = Bench::new() else { return };
    let (_, point) = b.disk(32 * MIB, &[], EXT4, "d");
    let inner = point.join("inner");
    fs::create_dir(&inner).unwrap();
    seen(&inner).unwrap();
    assert_eq!(fs::read_dir(&inner).unwrap().count(), 0);
    // Root passes permission bits; an immutable directory stops everyone.
    run("chattr", &["+i", inner.to_str().unwrap()]).unwrap();
    let said = seen(&inner);
    run("chattr", &["-i", inner.to_str().unwrap()]).unwrap();
    assert!(matches!(said, Err(Refusal::Unwritable { .. })), "{said:?}");
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn only_an_idle_empty_device_named_twice_may_be_overwritten() {
    let Some(mut b) = Bench::new() else { return };
    let roots = Roots::real();
    let node = b.attach("n", 128 * MIB, &[]);
    let other = b.attach("o", 64 * MIB, &[]);
    let path = Path::new(&node);
    let says = |want: &str| {
        let said = may_destroy(&roots, path, path).unwrap_err().to_string();
        assert!(said.contains(want), "{said}");
    };
    may_destroy(&roots, path, path).unwrap();
    assert!(may_destroy(&roots, path, Path::new(&other)).is_err());
    let held = File::options()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(path)
        .unwrap();
    says("in use");
    drop(held);
    run("mkfs.ext4", &["-q", &node]).unwrap();
    says("ext2/3/4");
    let point = b.mount(&[&node], "m");
    says(&format!("mounted at {}", point.display()));
    run("umount", &[point.to_str().unwrap()]).unwrap();
    run("wipefs", &["-q", "--all", &node]).unwrap();
    may_destroy(&roots, path, path).unwrap();
    let over = b.attach_file(path, &[]);
    says(node_name(&over));
    b.detach(&over);
    run("mkswap", &["-q", &node]).unwrap();
    says("swap");
    run("mkfs.btrfs", &["-q", "-f", &node]).unwrap();
    says("btrfs");
}
