//! Targets that must be refused: each with its own message, with what was found and what to do, and nothing written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Case;
use crate::live::support::command::{Output, program, text};
use crate::live::support::disk::{LoopDisk, LoopSpec, files_below};
use crate::live::support::project::{Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::plain(
        "refusals::a_missing_directory_is_named_and_not_made",
        missing,
    ),
    Case::needing(
        "refusals::a_read_only_mount_is_refused",
        unwritable,
        &["root"],
    ),
    Case::needing(
        "refusals::a_directory_of_another_user_is_refused",
        not_ours,
        &["root", "setpriv"],
    ),
    Case::plain("refusals::memory_is_no_disk_unless_asked_for", memory),
    Case::needing(
        "refusals::an_overlay_is_no_disk_unless_asked_for",
        overlay,
        &["root"],
    ),
    Case::needing(
        "refusals::too_little_space_is_told_before_the_first_byte",
        full,
        &["root"],
    ),
    Case::needing(
        "refusals::a_vanished_mount_is_not_the_disk_below_it",
        vanished_mount,
        &["root"],
    ),
    Case::plain("refusals::nothing_is_made_in_the_device_tree", device_tree),
    Case::plain("refusals::an_empty_name_is_refused", empty),
    Case::needing(
        "refusals::a_block_device_is_not_written_without_consent",
        block_device,
        &["root"],
    ),
    Case::needing(
        "refusals::a_mounted_device_is_not_written_even_with_consent",
        mounted_device,
        &["root"],
    ),
    Case::needing(
        "refusals::a_block_that_does_not_fit_names_the_multiple",
        alignment,
        &["root"],
    ),
    Case::needing(
        "refusals::more_than_max_write_is_refused",
        max_write,
        &["root"],
    ),
];

fn project(name: &str) -> Project {
    Project::bare(name, &[("suites/small.toml", SMALL_PAIR)])
}

fn run(project: &Project, disk: impl AsRef<std::ffi::OsStr>) -> Output {
    project
        .iogate()
        .args(["run", "small::pair", "--disk"])
        .arg(disk)
        .run()
}

/// A folder below the system's temporary one, gone when dropped.
fn folder() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("iogate-it-")
        .tempdir()
        .expect("a temporary folder")
}

fn missing() {
    let project = project("missing");
    let place = folder();
    let disk = place.path().join("not there");
    run(&project, &disk)
        .exits(1)
        .says(&[&text(&disk), "does not exist"]);
    assert!(!disk.exists());
}

fn unwritable() {
    let disk = LoopSpec {
        options: "ro",
        ..LoopSpec::default()
    }
    .make();
    let before = disk.traffic().1;
    run(&project("unwritable"), disk.path())
        .exits(1)
        .says(&[&text(disk.path()), "read-only"]);
    assert_eq!(
        disk.traffic().1,
        before,
        "bytes were written to a read-only mount"
    );
}

fn not_ours() {
    let project = project("not-ours");
    let disk = LoopDisk::ext4();
    // Everyone may see the project; nobody but root may write to the disk.
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let run = project
        .iogate()
        .args(["run", "small::pair", "--disk"])
        .arg(disk.path())
        .under("setpriv", nobody);
    run.env("XDG_STATE_HOME", "/nonexistent")
        .run()
        .exits(1)
        .says(&[&text(disk.path()), "Permission denied"]);
    assert_eq!(disk.files(), Vec::<std::path::PathBuf>::new());
}

fn memory() {
    let project = project("memory");
    let place = tempfile::Builder::new()
        .prefix("iogate-it-")
        .tempdir_in("/dev/shm")
        .expect("a folder in memory");
    run(&project, place.path())
        .exits(1)
        .says(&["tmpfs", "memory", "--allow-memory"]);
    assert!(files_below(place.path()).is_empty());
    let allowed = project
        .iogate()
        .args(["run", "small::pair", "--allow-memory", "--disk"])
        .arg(place.path())
        .run();
    assert_ne!(allowed.code(), 1, "{}", allowed.told());
}

fn overlay() {
    let disk = LoopDisk::ext4();
    let at = |name: &str| text(disk.path().join(name));
    for name in ["lower", "upper", "work", "merged"] {
        fs::create_dir(at(name)).expect("a folder on the disk");
    }
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        at("lower"),
        at("upper"),
        at("work")
    );
    program("mount")
        .args(["-t", "overlay", "overlay", "-o", &layers, &at("merged")])
        .run()
        .success();
    let refused = run(&project("overlay"), at("merged"));
    program("umount").arg(at("merged")).run().success();
    refused.exits(1).says(&["overlay", "--allow-overlay"]);
    assert!(
        disk.files().iter().all(|f| f.starts_with(at("work"))),
        "{:?}",
        disk.files()
    );
}

fn full() {
    let disk = LoopSpec {
        mib: 64,
        ..LoopSpec::default()
    }
    .make();
    let large = SMALL_PAIR.replace("32MiB", "512MiB");
    let project = Project::bare("full", &[("suites/small.toml", &large)]);
    let before = (disk.free(), disk.traffic().1);
    run(&project, disk.path())
        .exits(1)
        .says(&["free", "needed", &text(disk.path())]);
    assert_eq!(
        (disk.free(), disk.traffic().1),
        before,
        "bytes were written although there was no room"
    );
}

fn vanished_mount() {
    let project = project("vanished");
    let disk = LoopDisk::ext4();
    run(&project, disk.path()).success();
    project
        .iogate()
        .args(["accept", "--provisional", "--allow-regime", "--disk"])
        .arg(disk.path())
        .run()
        .success();
    disk.vanish();
    // The user's own folder on the disk vanishes with its mount; one of the same name may lie below it.
    let below = disk.path().join("mine");
    fs::create_dir(&below).expect("a folder below the vanished mount");
    for target in [disk.path(), &below] {
        run(&project, target)
            .exits(1)
            .says(&["mount point", &text(disk.path())]);
    }
    fs::remove_dir(&below).expect("an empty folder");
    assert!(
        files_below(disk.path()).is_empty(),
        "files below the vanished mount"
    );
}

fn device_tree() {
    let project = project("device-tree");
    let listing = || files_of_dev();
    let before = listing();
    for target in [
        "/dev",
        "/dev/null",
        "/dev/iogate-no-such-device",
        "/dev/iogate-no-such-folder/below",
    ] {
        run(&project, target).exits(1).says(&[target]);
    }
    assert_eq!(listing(), before);
}

fn files_of_dev() -> BTreeMap<String, bool> {
    let entries = fs::read_dir("/dev").expect("a device tree").flatten();
    let ours = entries.filter(|e| {
        e.file_name().to_string_lossy().contains("iogate") && e.path() != Path::new("/dev/shm")
    });
    ours.map(|e| {
        (
            e.file_name().to_string_lossy().into_owned(),
            e.path().is_dir(),
        )
    })
    .collect()
}

fn empty() {
    let project = project("empty");
    run(&project, "").exits(1).says(&["--disk", "empty"]);
    project
        .iogate()
        .args(["run", "small::pair"])
        .env("IOGATE_DISK", "")
        .run()
        .exits(1)
        .says(&["IOGATE_DISK", "empty"]);
}

fn block_device() {
    let disk = LoopDisk::ext4();
    disk.vanish();
    let before = disk.traffic().1;
    run(&project("block-device"), disk.device())
        .exits(1)
        .says(&[disk.device(), "block device", "writes"]);
    assert_eq!(disk.traffic().1, before);
}

fn mounted_device() {
    let project = project("mounted-device");
    let disk = LoopDisk::ext4();
    let run = || {
        project
            .iogate()
            .args([
                "run",
                "small::pair",
                "--disk",
                disk.device(),
                "--destroy",
                disk.device(),
            ])
            .run()
    };
    run().exits(1).says(&["mounted", &text(disk.path())]);
    disk.vanish();
    run()
        .exits(1)
        .says(&["ext2/3/4 file system", disk.device()]);
    let other = [
        "run",
        "small::pair",
        "--disk",
        disk.device(),
        "--destroy",
        "/dev/null",
    ];
    project
        .iogate()
        .args(other)
        .run()
        .exits(1)
        .says(&["/dev/null", disk.device()]);
}

fn alignment() {
    let blocks = SMALL_PAIR.replace("\"128KiB\"", "[\"512B\", \"1KiB\", \"4KiB\"]");
    let project = Project::bare("alignment", &[("suites/small.toml", &blocks)]);
    let disk = LoopSpec {
        sector: 4096,
        ..LoopSpec::default()
    }
    .make();
    let run = |name: &str| {
        project
            .iogate()
            .args(["run", name, "--disk"])
            .arg(disk.path())
            .run()
    };
    run("small::pair::block-512B")
        .exits(1)
        .says(&["512 B", "multiple", "4 KiB"]);
    run("small::pair::block-1KiB")
        .exits(1)
        .says(&["1 KiB", "multiple", "4 KiB"]);
    run("small::pair::block-4KiB").success();
}

fn max_write() {
    let disk = LoopDisk::ext4();
    let project = project("max-write");
    let run = project
        .iogate()
        .args(["run", "small::pair", "--max-write", "1MiB", "--disk"])
        .arg(disk.path())
        .run();
    run.exits(1).says(&["max-write", "1 MiB"]);
    assert_eq!(disk.files(), Vec::<std::path::PathBuf>::new());
}
