//! The disks of the tests themselves: a test that fails must leave the machine as it found it.

use std::path::Path;

use crate::Case;
use crate::live::support::command::program;
use crate::live::support::disk::{LoopDisk, LoopSpec, TestDisk, testdisk};
use crate::live::support::root;

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing(
        "disks::a_panic_leaves_no_mount_no_loop_device_and_no_image",
        a_panic_leaves_nothing,
        &["root"],
    ),
    Case::needing(
        "disks::every_file_system_and_sector_size_can_be_had",
        every_kind,
        &["root", "mkfs.xfs", "mkfs.btrfs"],
    ),
    Case::needing(
        "disks::a_test_disk_holds_its_rate_can_be_rerated_and_goes",
        test_disk_lives_and_goes,
        &["root", "blkio"],
    ),
    Case::needing(
        "disks::a_half_made_test_disk_is_cleared",
        half_made_is_cleared,
        &["root"],
    ),
    Case::needing(
        "disks::a_cache_lies_below_ref_cache",
        cache_lies_below,
        &["root", "blkio"],
    ),
    Case::plain("disks::wrong_arguments_are_usage_errors", wrong_arguments),
    Case::plain(
        "ci::packages_never_fails_and_is_quiet_when_all_is_there",
        packages_is_quiet,
    ),
];

fn attached(image: &Path) -> bool {
    let list = program("losetup")
        .arg("-j")
        .arg(image)
        .run()
        .success()
        .stdout;
    !list.is_empty()
}

fn mounted(path: &Path) -> bool {
    program("mountpoint").arg("-q").arg(path).run().code() == 0
}

fn a_panic_leaves_nothing() {
    let places = std::sync::Mutex::new(None);
    let panicked = std::thread::scope(|scope| {
        let test = scope.spawn(|| {
            let disk = LoopDisk::ext4();
            let (image, mount) = (disk.image().to_owned(), disk.path().to_owned());
            assert!(attached(&image) && mounted(&mount));
            std::fs::write(mount.join("file"), b"left open").expect("a file on the disk");
            *places.lock().expect("not poisoned") = Some((image, mount));
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        test.join().is_err()
    });
    let (image, mount) = places
        .into_inner()
        .expect("not poisoned")
        .expect("the disk was made");
    assert!(panicked);
    assert!(!mounted(&mount), "still mounted: {}", mount.display());
    assert!(
        !attached(&image) && !image.exists(),
        "left: {}",
        image.display()
    );
    assert!(!mount.parent().expect("a private folder").exists());
}

fn every_kind() {
    for (fs, mib, sector) in [("ext4", 64, 4096), ("xfs", 320, 512), ("btrfs", 128, 512)] {
        let disk = LoopSpec {
            fs,
            mib,
            sector,
            folder: "a b\tc",
            ..LoopSpec::default()
        }
        .make();
        std::fs::write(disk.path().join("file"), [7; 8192]).expect("a file on the disk");
        assert_eq!(disk.files().len(), 1, "{fs}");
        let name = disk.device().trim_start_matches("/dev/");
        let found = std::fs::read_to_string(format!("/sys/block/{name}/queue/logical_block_size"))
            .expect("sysfs");
        assert_eq!(found.trim(), sector.to_string(), "{fs}");
    }
}

fn limits() -> String {
    let read = |n: &str| {
        std::fs::read_to_string(format!(
            "/sys/fs/cgroup/blkio/blkio.throttle.{n}_bps_device"
        ))
    };
    format!(
        "{}{}",
        read("read").unwrap_or_default(),
        read("write").unwrap_or_default()
    )
}

fn test_disk_lives_and_goes() {
    let disk = TestDisk::up("reference", "64MiB", "20", "none");
    let (name, mount) = (disk.name().to_owned(), disk.path().to_owned());
    assert!(mounted(&mount));
    testdisk(&["check", &name]).success().says(&["set to 20"]);
    disk.rate("30", "10");
    let listed = testdisk(&["list"]).success().stdout;
    let line = listed
        .lines()
        .find(|l| l.starts_with(&name))
        .unwrap_or_else(|| panic!("{name} not in\n{listed}"));
    assert!(line.contains("read 30\twrite 10"), "{line}");
    assert!(limits().contains(" 30000000"));
    // Asking again is not making again.
    let again = [
        "up",
        "reference",
        "--name",
        &name,
        "--size",
        "64MiB",
        "--read",
        "30",
        "--write",
        "10",
    ];
    assert_eq!(
        testdisk(&again).success().stdout.trim(),
        mount.to_string_lossy()
    );
    let other = ["up", "reference", "--name", &name, "--size", "128MiB"];
    testdisk(&other)
        .exits(1)
        .says(&["take it down first", "64MiB", "128MiB"]);
    testdisk(&["exec", &name, "--", "sh", "-c", "exit 7"]).exits(7);
    drop(disk);
    assert!(!mounted(&mount) && !mount.exists());
    assert!(!limits().contains(" 30000000"), "a limit outlived its disk");
    testdisk(&["down", &name]).success();
}

fn half_made_is_cleared() {
    let name = format!("it-half-{}", std::process::id());
    let image = format!("/dev/shm/iogate-disk-{name}");
    let folder = format!("/run/iogate-testdisk/{name}/mnt");
    std::fs::create_dir_all(&folder).expect("a folder as a killed run leaves it");
    std::fs::write(&image, vec![0; 1 << 20]).expect("an image as a killed run leaves it");
    program("losetup").args(["-f", &image]).run().success();
    assert!(attached(Path::new(&image)));
    testdisk(&["rate", &name, "--read", "5"])
        .exits(1)
        .says(&["is not up"]);
    testdisk(&["down", &name]).success();
    assert!(
        !attached(Path::new(&image)) && !Path::new(&image).exists() && !Path::new(&folder).exists()
    );
}

fn cache_lies_below() {
    let disk = TestDisk::up("ref-cache", "64MiB", "none", "none");
    let file = disk.path().join("file");
    std::fs::write(&file, vec![7; 8 << 20]).expect("a file on the disk");
    program("sync").arg("-f").arg(&file).run().success();
    let below = || disk.traffic().0;
    let read = || {
        program("dd")
            .arg(format!("if={}", file.display()))
            .args(["of=/dev/null", "bs=128k", "iflag=direct"])
            .run()
            .success();
    };
    read();
    let before = below();
    read();
    let again = below() - before;
    assert!(
        again < 1 << 20,
        "the second direct read took {again} bytes from the disk below its cache"
    );
}

fn wrong_arguments() {
    for args in [
        &["up", "floppy"][..],
        &["up", "reference", "--fs", "vfat"],
        &["up", "reference", "--size", "2G"],
        &["up", "reference", "--read", "fast"],
        &["up", "reference", "--name", "../etc"],
        &["up", "reference", "--name"],
        &["down"],
        &["down", "/dev/vda"],
        &["frobnicate"],
    ] {
        testdisk(args).exits(2).says(&["usage: ci/testdisk.sh"]);
    }
}

fn packages_is_quiet() {
    // Without apt it can only look; with nothing on PATH it must name what is missing and still not fail.
    let said = program(root().join("ci/packages.sh"))
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .run()
        .success();
    assert_eq!(said.stdout, "", "{}", said.told());
}
