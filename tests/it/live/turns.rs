//! Several processes and one disk: they take turns, and a dead one leaves nothing behind.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::Case;
use crate::live::support::command::{Program, Running, within_ten_seconds};
use crate::live::support::disk::{LoopDisk, TestDisk, free, unlocked};
use crate::live::support::project::{Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing(
        "turns::two_processes_never_measure_one_disk_at_once",
        two_processes,
        &["root"],
    ),
    Case::needing(
        "turns::processes_on_two_disks_do_not_wait_for_each_other",
        two_disks,
        &["root"],
    ),
    Case::needing(
        "turns::killed_during_layout_with_psync_all_is_back",
        killed_in_layout_psync,
        &["root", "blkio"],
    ),
    Case::needing(
        "turns::killed_during_layout_with_io_uring_all_is_back",
        killed_in_layout_uring,
        &["root", "blkio"],
    ),
    Case::needing(
        "turns::killed_during_a_leg_with_psync_all_is_back",
        killed_in_leg_psync,
        &["root", "blkio"],
    ),
    Case::needing(
        "turns::killed_during_a_leg_with_io_uring_all_is_back",
        killed_in_leg_uring,
        &["root", "blkio"],
    ),
    Case::needing(
        "turns::sigterm_ends_a_test_as_interrupted",
        terminated,
        &["root", "blkio"],
    ),
    Case::needing(
        "turns::sigint_ends_the_command_with_130",
        interrupted,
        &["root", "blkio"],
    ),
];

fn two_processes() {
    let project = Project::bare("turns-two", &[("suites/small.toml", SMALL_PAIR)]);
    let disk = LoopDisk::ext4();
    let gate = || project.gate().env("IOGATE_DISK", disk.path());
    let first = gate().start();
    within_ten_seconds("the first process holds the disk", || {
        !unlocked(disk.path())
    });
    let mut second = gate().start();
    second.until_stderr("waiting for");
    second.until_stderr(&first.pid().to_string());
    first.wait().success();
    second.wait().success();
    let windows = project.windows();
    assert_eq!(windows.len(), 2, "{windows:?}");
    // Starts are whole seconds.
    assert!(windows[0][1] < windows[1][0] + 1.0, "{windows:?}");
}

fn two_disks() {
    let project = Project::bare("turns-two-disks", &[("suites/small.toml", SMALL_PAIR)]);
    let disks = [LoopDisk::ext4(), LoopDisk::ext4()];
    let gate = |disk: &LoopDisk| project.gate().env("IOGATE_DISK", disk.path()).start();
    let running = disks.each_ref().map(gate);
    within_ten_seconds("both disks are held at once", || {
        disks.iter().all(|disk| !unlocked(disk.path()))
    });
    for one in running {
        let ended = one.wait().success();
        assert!(!ended.stderr.contains("waiting for"), "{}", ended.told());
    }
}

/// A disk of 20 MB/s and a test on it that takes half a minute.
struct Slow {
    project: Project,
    disk: TestDisk,
}

impl Slow {
    fn new(name: &str, engine: &str) -> Self {
        let suite = SMALL_PAIR
            .replace("\"2MiB\"", "\"8MiB\"")
            .replace("size =", &format!("{engine}\nsize ="));
        let project = Project::bare(name, &[("suites/small.toml", &suite)]);
        Self {
            project,
            disk: TestDisk::up("reference", "128MiB", "20", "20"),
        }
    }

    fn gate(&self) -> Program {
        self.project.gate().env("IOGATE_DISK", self.disk.path())
    }

    /// Waits until the layout is under way: bytes are written, few are read.
    fn in_layout(&self, running: &mut Running) {
        self.until(running, "the layout", || self.disk.traffic().1);
    }

    /// Waits until a leg is under way: only legs read this much.
    fn in_leg(&self, running: &mut Running) {
        self.until(running, "a leg", || self.disk.traffic().0);
    }

    /// Waits until `count` has grown by more than mounting or looking around would move it.
    fn until(&self, running: &mut Running, what: &str, count: impl Fn() -> u64) {
        let (before, start) = (count(), Instant::now());
        while count() < before + (12 << 20) {
            assert!(!running.over(), "it ended before {what} began");
            assert!(
                start.elapsed().as_secs() < 60,
                "{what} has not begun within a minute"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills `running` and holds the promise: space, lock, a waiting process and unmount, each within 10 s.
    fn killed(self, mut running: Running, before: u64) {
        let pid = running.pid();
        let mut waiting = self.gate().start();
        waiting.until_stderr("waiting for");
        waiting.until_stderr(&pid.to_string());
        running.kill();
        // The lock passes to the one that waits, which lays out in its turn; with it gone too, all is free.
        let written = self.disk.traffic().1;
        within_ten_seconds("the waiting process starts", || {
            self.disk.traffic().1 > written + (4 << 20)
        });
        drop(running);
        waiting.kill();
        drop(waiting);
        within_ten_seconds("the lock is free", || unlocked(self.disk.path()));
        within_ten_seconds("the space is back", || {
            free(self.disk.path()) + (1 << 20) > before
        });
        assert_eq!(
            crate::live::support::disk::files_below(self.disk.path()),
            Vec::<std::path::PathBuf>::new()
        );
        let down = self.disk.down().success();
        assert!(down.took.as_secs() < 11, "unmounting took {:?}", down.took);
    }
}

fn killed_in_layout(name: &str, engine: &str) {
    let slow = Slow::new(name, engine);
    let before = free(slow.disk.path());
    let mut running = slow.gate().start();
    slow.in_layout(&mut running);
    slow.killed(running, before);
}

fn killed_in_leg(name: &str, engine: &str) {
    let slow = Slow::new(name, engine);
    let before = free(slow.disk.path());
    let mut running = slow.gate().start();
    slow.in_leg(&mut running);
    slow.killed(running, before);
}

fn killed_in_layout_psync() {
    killed_in_layout("turns-layout-psync", "engine = \"psync\"");
}

fn killed_in_layout_uring() {
    killed_in_layout("turns-layout-uring", "engine = \"io_uring\"\ndepth = 32");
}

fn killed_in_leg_psync() {
    killed_in_leg("turns-leg-psync", "engine = \"psync\"");
}

fn killed_in_leg_uring() {
    killed_in_leg("turns-leg-uring", "engine = \"io_uring\"\ndepth = 32");
}

fn terminated() {
    let slow = Slow::new("turns-term", "engine = \"psync\"");
    let mut running = slow.gate().start();
    slow.in_leg(&mut running);
    running.signal(Signal::SIGTERM);
    let ended = running.wait();
    assert_ne!(ended.code(), 0, "{}", ended.told());
    ended.says(&["interrupted"]);
    let records = slow.project.contents("target/iogate/records");
    let told = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains("\"interrupted\"");
    assert!(
        records.values().any(told),
        "no record tells of it: {:?}",
        records.keys()
    );
    assert!(
        slow.project.pending().is_empty(),
        "an interrupted test is never a candidate"
    );
    assert!(crate::live::support::disk::files_below(slow.disk.path()).is_empty());
    assert!(unlocked(slow.disk.path()));
}

fn interrupted() {
    let slow = Slow::new("turns-int", "engine = \"psync\"");
    let mut running = slow
        .project
        .iogate()
        .args(["run", "--message-format", "json", "--disk"])
        .arg(slow.disk.path())
        .start();
    slow.in_leg(&mut running);
    running.signal(Signal::SIGINT);
    let ended = running.wait().exits(130);
    assert!(ended.stdout.contains("\"interrupted\""), "{}", ended.told());
    assert_eq!(slow.project.report()["summary"]["interrupted"], 1);
    assert!(crate::live::support::disk::files_below(slow.disk.path()).is_empty());
}
