//! What nobody should do and everybody does: pipes in the place of files, readers that leave, disks pulled while
//! something waits for them. Each ends with a message of its own, never with a panic, a hang or a silent pass.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::Case;
use crate::live::support::command::{Output, Program, text};
use crate::live::support::disk::{LoopDisk, files_below};
use crate::live::support::project::{NULLS, Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing(
        "abuse::a_disk_pulled_while_waiting_is_not_replaced_by_its_folder",
        pulled_while_waiting,
        &["root"],
    ),
    Case::needing(
        "abuse::a_raw_device_is_read_mounted_or_not_and_never_written",
        raw_device,
        &["root"],
    ),
    Case::needing(
        "abuse::a_named_file_lies_on_the_disk_and_on_no_other",
        named_file,
        &["root"],
    ),
    Case::needing(
        "abuse::a_pipe_in_place_of_a_baseline_is_refused",
        pipe_as_baseline,
        &["root", "mkfifo"],
    ),
    Case::needing(
        "abuse::buffers_beyond_memory_are_refused",
        too_many_buffers,
        &["root"],
    ),
    Case::needing(
        "abuse::a_limit_on_file_size_is_told_and_kills_nothing",
        file_size_limit,
        &["root"],
    ),
    Case::needing(
        "abuse::a_record_that_cannot_be_written_is_still_told",
        no_place_for_records,
        &["root"],
    ),
    Case::plain(
        "abuse::a_disk_that_is_not_utf8_is_not_silently_none",
        not_utf8,
    ),
    Case::plain("abuse::a_reader_that_leaves_makes_no_panic", reader_leaves),
    Case::plain(
        "abuse::an_answer_cut_off_by_a_full_disk_is_no_pass",
        full_stdout,
    ),
    Case::plain("abuse::a_broken_suite_is_told_once", broken_suite_told_once),
];

const READ: &str = r#"
about = "One test that only reads."
[[test]]
name = "read"
rw = "read"
size = "16MiB"
leg = "2MiB"
block = "128KiB"
"#;

fn project(name: &str) -> Project {
    Project::bare(name, &[("suites/small.toml", SMALL_PAIR)])
}

/// Runs a program as part of a shell line, where `"$0" "$@"` stands for it.
fn in_shell(program: Program, line: &str) -> Output {
    let output = program.under("sh", ["-c", line]).run();
    assert!(!output.stderr.contains("panicked"), "{}", output.told());
    output
}

fn pulled_while_waiting() {
    let project = project("pulled");
    let disk = LoopDisk::ext4();
    let node = File::open(disk.device()).expect("the loop device");
    node.lock().expect("nobody else has it");
    let run = project.iogate().args(["run", "small::pair", "--disk"]);
    let mut waiting = run.arg(disk.path()).start();
    waiting.until_stderr("waiting for");
    disk.vanish();
    node.unlock().expect("it was ours");
    waiting
        .wait()
        .exits(1)
        .says(&[&text(disk.path()), "not the directory it was"]);
    assert!(files_below(disk.path()).is_empty());
}

fn raw_device() {
    let project = Project::bare("raw", &[("suites/raw.toml", READ)]);
    let disk = LoopDisk::ext4();
    let read = || {
        let run = project.iogate().args(["run", "raw::read", "--disk"]);
        run.arg(disk.device()).run().success()
    };
    read();
    disk.vanish();
    let before = fs::read(disk.image()).expect("the image");
    read();
    assert!(
        before == fs::read(disk.image()).expect("the image"),
        "the device was changed"
    );
}

fn named_file() {
    let suite = READ.replace("size = \"16MiB\"", "file = \"data\"");
    let project = Project::bare("named-file", &[("suites/named.toml", &suite)]);
    let disk = LoopDisk::ext4();
    let elsewhere = project.path("data");
    let bytes: Vec<u8> = (0..16 << 20).map(|i: u32| ((i * 31) >> 3) as u8).collect();
    fs::write(&elsewhere, &bytes).expect("a file elsewhere");
    let run = || {
        let run = project.iogate().args(["run", "named::read", "--disk"]);
        run.arg(disk.path()).run()
    };
    run()
        .exits(1)
        .says(&["data", "relative name starts at the disk"]);
    let data = disk.path().join("data");
    symlink(&elsewhere, &data).expect("a link");
    run().exits(1).says(&["another file system"]);
    fs::remove_file(&data).expect("the link");
    fs::write(&data, &bytes).expect("a file on the disk");
    run().success();
    assert!(
        fs::read(&data).expect("the file") == bytes,
        "it was changed"
    );
}

fn pipe_as_baseline() {
    let project = project("pipe");
    let disk = LoopDisk::ext4();
    let folder = project.path("baselines/any");
    fs::create_dir_all(&folder).expect("a folder");
    let pipe = text(folder.join("small.json"));
    crate::live::support::command::program("mkfifo")
        .arg(&pipe)
        .run()
        .success();
    let run = project.iogate().args(["run", "small::pair", "--disk"]);
    run.arg(disk.path())
        .run()
        .exits(1)
        .says(&[&pipe, "expected a regular file"]);
}

fn too_many_buffers() {
    let suite = READ
        .replace("leg = \"2MiB\"\n", "")
        .replace("block = \"128KiB\"", "block = \"8MiB\"\ndepth = 32768");
    let project = Project::bare("buffers", &[("suites/deep.toml", &suite)]);
    let disk = LoopDisk::ext4();
    let run = project.iogate().args(["run", "deep::read", "--disk"]);
    run.arg(disk.path()).run().exits(1).says(&[
        "refused",
        "256 GiB needed",
        "lower `workers`, `depth` or `block`",
    ]);
}

fn file_size_limit() {
    let disk = LoopDisk::ext4();
    let project = project("fsize");
    let run = project.iogate().args(["run", "small::pair", "--disk"]);
    in_shell(run.arg(disk.path()), "ulimit -f 2048; exec \"$0\" \"$@\"")
        .exits(1)
        .says(&["refused: small::pair", "ulimit -f"]);
}

fn no_place_for_records() {
    let project = project("no-records");
    let run = project.iogate().args(["run", "small::pair", "--disk", "/"]);
    let output = run.env("XDG_STATE_HOME", "/proc/nowhere").run().exits(1);
    assert!(
        !output.stderr.contains("left no record"),
        "{}",
        output.told()
    );
}

fn not_utf8() {
    let project = project("not-utf8");
    let run = project.iogate().args(["run", "small::pair"]);
    run.env("IOGATE_DISK", OsStr::from_bytes(b"/nonexistent/\xff"))
        .run()
        .exits(1)
        .says(&["/nonexistent/", "does not exist"]);
}

fn reader_leaves() {
    let project = Project::bare("reader", &[("suites/nulls.toml", NULLS)]);
    for line in [
        "\"$0\" \"$@\" | true",
        "\"$0\" \"$@\" 2>&1 >/dev/null | true",
    ] {
        let gate = project.gate().env("IOGATE_DISK", "/nonexistent");
        in_shell(gate, line);
        in_shell(
            project.iogate().args(["run", "--disk", "/nonexistent"]),
            line,
        );
    }
}

fn full_stdout() {
    let project = project("full-stdout");
    let line = "exec \"$0\" \"$@\" >/dev/full";
    in_shell(project.iogate().arg("list"), line)
        .exits(1)
        .says(&["stdout"]);
    let json = ["run", "--message-format", "json", "--disk", "/nonexistent"];
    in_shell(project.iogate().args(json), line)
        .exits(1)
        .says(&["stdout"]);
}

fn broken_suite_told_once() {
    let project = Project::bare("broken", &[("suites/broken.toml", "[[test]\n")]);
    for filter in ["broken", "broken::pair", "brokenly"] {
        let run = project.iogate().args(["run", "--disk", "/nonexistent"]);
        let output = run.arg(filter).run().exits(1).says(&["broken.toml:1:8"]);
        assert!(
            !output.stderr.contains("left no record"),
            "{}",
            output.told()
        );
    }
    let gate = project.gate().args(["--exact", "broken::pair"]);
    gate.env("IOGATE_DISK", "/nonexistent")
        .run()
        .exits(101)
        .says(&["broken.toml:1:8"]);
}
