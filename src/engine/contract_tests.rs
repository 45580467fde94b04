//! What every engine must do, run over all of them on the file system of the temporary directory.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::*;
use crate::engine::buffer::{STAMP_EVERY, stamp};
use crate::engine::runs::spaces;
use crate::engine::testing::plan;
use crate::engine::{Terms, session};
use crate::plan::{FlushPlan, LegPlan};
use crate::sample::{Counters, Fate, Layout, Witness};
use crate::suite::Rw;
use crate::units::{Bytes, KIB, Nanos};

const LONG: Nanos = Nanos(600_000_000_000);

/// A witness that knows nothing.
struct Blind;

impl Witness for Blind {
    fn counters(&self) -> Counters {
        Counters::default()
    }
    fn in_flight(&self) -> Option<u64> {
        None
    }
    fn resident(&self, _: &File) -> Option<Bytes> {
        None
    }
    fn layout(&self, _: &File) -> Option<Layout> {
        None
    }
}

fn engines() -> Vec<EngineKind> {
    let all = [EngineKind::Psync, EngineKind::IoUring];
    let (can, cannot): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| probe(*e).is_ok());
    for engine in cannot {
        eprintln!("left out: {engine:?}: {:?}", probe(engine));
    }
    can
}

/// Small plans for every engine, through and around the page cache, with several workers and random order.
fn plans(dir: &Path, rws: &[Rw]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for engine in engines() {
        for (cache, workers, depth) in [
            (Cache::Direct, 1, 1),
            (Cache::Direct, 3, 8),
            (Cache::Buffered, 1, 1),
            (Cache::Buffered, 2, 4),
        ] {
            let depth = if engine == EngineKind::Psync {
                1
            } else {
                depth
            };
            let source = Source::Scratch(dir.to_owned());
            let (block, extent) = (Bytes(8 * KIB), Bytes(512 * KIB));
            plans.push(Plan {
                engine,
                cache,
                workers,
                depth,
                source,
                block,
                extent,
                ..plan(rws)
            });
        }
    }
    plans
}

fn leg(plan: &Plan, index: usize, bytes: u64) -> LegSpec {
    let LegPlan { rw, direction, .. } = plan.legs[index];
    let space = spaces(
        plan,
        &vec![64 * KIB * u64::from(plan.workers); plan.legs.len()],
    )[index];
    LegSpec {
        rw,
        direction,
        space,
        from: 0,
        bytes,
        shuffle: 7,
        generation: 5,
        limit: LONG,
    }
}

fn laid_out(plan: &Plan) -> Real {
    let mut disk = Real::open(plan, 1).unwrap();
    for (file, size) in crate::engine::runs::file_sizes(plan)
        .into_iter()
        .enumerate()
    {
        disk.lay_out(file, 0..size, &Interrupt::new()).unwrap();
    }
    disk.refresh().unwrap();
    disk
}

#[test]
fn what_is_written_is_what_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    for rws in [[Rw::Read, Rw::Write], [Rw::RandRead, Rw::RandWrite]] {
        for plan in plans(dir.path(), &rws) {
            let mut disk = laid_out(&plan);
            let spec = leg(&plan, 1, 128 * KIB);
            disk.run(&spec, &Interrupt::new()).unwrap();
            disk.refresh().unwrap();
            let shuffle = spec.rw.is_random().then_some(7);
            let written: BTreeSet<u64> = (0..u64::from(plan.workers))
                .flat_map(|w| spec.space.offsets(w, 0, spec.bytes, plan.block.0, shuffle))
                .collect();
            assert_eq!(
                written.len() as u64,
                u64::from(plan.workers) * 128 * KIB / plan.block.0
            );
            for offset in (0..plan.extent.0 * u64::from(plan.workers)).step_by(STAMP_EVERY) {
                let mut found = [0; 8];
                disk.file(0)
                    .unwrap()
                    .read_exact_at(&mut found, offset)
                    .unwrap();
                let block = offset / plan.block.0 * plan.block.0;
                let generation = if written.contains(&block) { 5 } else { 0 };
                assert_eq!(
                    u64::from_le_bytes(found),
                    stamp(offset, generation),
                    "at {offset} of {plan:?}"
                );
            }
        }
    }
}

#[test]
fn every_byte_and_request_is_counted_once() {
    let dir = tempfile::tempdir().unwrap();
    for plan in plans(dir.path(), &[Rw::RandRead, Rw::Write]) {
        let mut disk = laid_out(&plan);
        for index in 0..2 {
            let tally = disk
                .run(&leg(&plan, index, 128 * KIB), &Interrupt::new())
                .unwrap();
            assert_eq!(
                tally.moved.0,
                u64::from(plan.workers) * 128 * KIB,
                "{plan:?}"
            );
            assert_eq!(tally.requests * plan.block.0, tally.bytes.0);
            assert_eq!(tally.latency.len(), tally.requests);
            assert!(tally.time.0 > 0 && tally.bytes <= tally.moved);
            if plan.workers == 1 {
                assert_eq!((tally.bytes, tally.tail), (tally.moved, Nanos(0)));
            }
        }
    }
}

#[test]
fn a_file_that_ends_early_is_a_short_read_with_its_offset() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short");
    std::fs::write(&path, vec![1; 64 * 1024]).unwrap();
    for mut plan in plans(dir.path(), &[Rw::Read]) {
        plan.source = Source::Existing(path.clone());
        let mut disk = Real::open(&plan, 1).unwrap();
        let result = disk.run(&leg(&plan, 0, 512 * KIB), &Interrupt::new());
        match result {
            Err(MeasureError::Short {
                op: "read",
                offset,
                got: 0,
                wanted,
            }) => {
                assert!(
                    offset >= 64 * KIB && wanted == plan.block.0,
                    "{offset} of {plan:?}"
                );
            }
            other => panic!("{other:?} from {plan:?}"),
        }
    }
}

#[test]
fn an_error_of_the_kernel_keeps_its_number_and_offset() {
    // Nothing is mapped at the bottom of the address space: the kernel answers EIO.
    for engine in engines() {
        let source = Source::Existing("/proc/self/mem".into());
        let plan = Plan {
            engine,
            source,
            cache: Cache::Buffered,
            block: Bytes(4096),
            extent: Bytes(64 * KIB),
            ..plan(&[Rw::Read])
        };
        let result = Real::open(&plan, 1)
            .unwrap()
            .run(&leg(&plan, 0, 64 * KIB), &Interrupt::new());
        match result {
            Err(MeasureError::Io {
                op: "read",
                offset: 0,
                len: 4096,
                source,
            }) => {
                assert_eq!(source.raw_os_error(), Some(nix::libc::EIO), "{engine:?}");
            }
            other => panic!("{other:?} from {engine:?}"),
        }
    }
}

#[test]
fn an_existing_file_is_never_written_even_by_a_write_leg() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![1; 64 * 1024]).unwrap();
    for mut plan in plans(dir.path(), &[Rw::Write]) {
        plan.source = Source::Existing(path.clone());
        let result = Real::open(&plan, 1)
            .unwrap()
            .run(&leg(&plan, 0, 16 * KIB), &Interrupt::new());
        assert!(
            matches!(result, Err(MeasureError::Io { op: "write", .. })),
            "{result:?}"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), vec![1; 64 * 1024]);
}

#[test]
fn a_leg_ends_at_its_limit_with_the_bytes_it_did() {
    let dir = tempfile::tempdir().unwrap();
    for plan in plans(dir.path(), &[Rw::Read]) {
        let mut disk = laid_out(&plan);
        let spec = LegSpec {
            limit: Nanos(1),
            ..leg(&plan, 0, 512 * KIB)
        };
        match disk.run(&spec, &Interrupt::new()) {
            // A worker may find the limit behind it before its first request: the leg ends with it, and what the
            // others moved counts for nothing. Alone it does not.
            Ok(tally) => assert!(
                (tally.bytes.0 > 0 || plan.workers > 1 && tally.moved.0 > 0)
                    && tally.moved.0 < 512 * KIB * u64::from(plan.workers),
                "{plan:?}"
            ),
            Err(e) => assert!(plan.workers > 1, "{e} from {plan:?}"),
        }
    }
}

#[test]
fn a_signal_ends_a_leg_of_any_engine() {
    let dir = tempfile::tempdir().unwrap();
    for plan in plans(dir.path(), &[Rw::Read]) {
        let mut disk = laid_out(&plan);
        let interrupt = Interrupt::new();
        interrupt
            .cell()
            .store(2, std::sync::atomic::Ordering::Relaxed);
        let result = disk.run(&leg(&plan, 0, 512 * KIB), &interrupt);
        assert!(
            matches!(result, Err(MeasureError::Interrupted(2))),
            "{result:?}"
        );
    }
}

#[test]
fn files_and_rings_close_on_exec() {
    let dir = tempfile::tempdir().unwrap();
    let _disks: Vec<Real> = plans(dir.path(), &[Rw::Read])
        .iter()
        .map(laid_out)
        .collect();
    let ours = |target: &Path| {
        target.starts_with(dir.path()) || target.to_string_lossy().contains("io_uring")
    };
    let mut seen = 0;
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        if !std::fs::read_link(entry.path()).is_ok_and(|target| ours(&target)) {
            continue;
        }
        let info = Path::new("/proc/self/fdinfo").join(entry.file_name());
        let Ok(info) = std::fs::read_to_string(info) else {
            continue;
        };
        let flags = info
            .lines()
            .find_map(|l| l.strip_prefix("flags:"))
            .unwrap()
            .trim();
        assert!(
            u32::from_str_radix(flags, 8).unwrap() & 0o2_000_000 != 0,
            "{entry:?} stays open"
        );
        seen += 1;
    }
    assert!(seen >= 8, "{seen} descriptors found");
}

#[test]
fn a_whole_session_runs_on_every_engine_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for rws in [vec![Rw::Read, Rw::Write], vec![Rw::RandWrite]] {
        for mut plan in plans(dir.path(), &rws) {
            plan.keep = 4;
            plan.legs
                .iter_mut()
                .for_each(|l| l.bytes = Some(Bytes(64 * KIB * 6)));
            let terms = Terms {
                settle: Nanos(0),
                ..Terms::first(&plan)
            };
            let mut disk = open(&plan, 1).unwrap();
            let session = session(&plan, disk.as_mut(), &Blind, &Interrupt::new(), &terms).unwrap();
            let kept = session.rounds.iter().filter(|r| r.fate == Fate::Kept);
            assert_eq!(kept.count(), 4);
            assert!(
                session
                    .rounds
                    .iter()
                    .flat_map(|r| &r.legs)
                    .all(|l| l.bytes.0 > 0 && l.own.is_none())
            );
            assert!(session.flush_cost.is_some());
            assert!(
                session
                    .notes
                    .iter()
                    .any(|n| n.contains("no device counters")),
                "{:?}",
                session.notes
            );
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn the_null_engine_opens_nothing_and_counts_what_it_did_not_do() {
    let plan = Plan {
        engine: EngineKind::Null,
        source: Source::Nowhere,
        workers: 2,
        ..plan(&[Rw::Read, Rw::Write])
    };
    let mut disk = open(&plan, 1).unwrap();
    assert_eq!(disk.files(), 0);
    let tally = disk
        .run(&leg(&plan, 1, 64 * MIB), &Interrupt::new())
        .unwrap();
    assert_eq!(tally.moved, Bytes(128 * MIB));
    assert!(
        disk.notes()
            .iter()
            .any(|n| n.contains("no disk was involved"))
    );
}

#[test]
fn a_full_file_system_is_an_error_that_says_so() {
    let Some(full) = TinyDisk::mount() else {
        return;
    };
    let plan = Plan {
        extent: Bytes(64 * MIB),
        source: Source::Scratch(full.0.path().join("mnt")),
        ..plan(&[Rw::Write])
    };
    let mut disk = Real::open(&plan, 1).unwrap();
    let error = disk
        .lay_out(0, 0..64 * MIB, &Interrupt::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("reserve 64 MiB") && error.contains("No space left"),
        "{error}"
    );
}

/// A file system of 16 MiB on a loop device, gone when dropped; `None` without the right to mount.
struct TinyDisk(tempfile::TempDir);

impl TinyDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let (image, mnt) = (dir.path().join("image"), dir.path().join("mnt"));
        std::fs::create_dir(&mnt).unwrap();
        File::create(&image).unwrap().set_len(16 * MIB).unwrap();
        let run = |program: &str, args: &[&std::ffi::OsStr]| {
            std::process::Command::new(program)
                .args(args)
                .output()
                .is_ok_and(|o| o.status.success())
        };
        let made = run("mkfs.ext4", &["-q".as_ref(), image.as_ref()])
            && run(
                "mount",
                &["-o".as_ref(), "loop".as_ref(), image.as_ref(), mnt.as_ref()],
            );
        if !made {
            eprintln!("left out: a loop device cannot be mounted here");
            return None;
        }
        Some(Self(dir))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg(self.0.path().join("mnt"))
            .status();
    }
}

#[test]
fn zeros_and_flush_none_are_kept_to() {
    let dir = tempfile::tempdir().unwrap();
    for mut plan in plans(dir.path(), &[Rw::Write]) {
        (plan.data, plan.flush) = (DataPlan::Zero, FlushPlan::None);
        let mut disk = laid_out(&plan);
        disk.run(&leg(&plan, 0, 512 * KIB), &Interrupt::new())
            .unwrap();
        let mut all = vec![1; 512 * 1024];
        disk.file(0).unwrap().read_exact_at(&mut all, 0).unwrap();
        assert!(all.iter().all(|b| *b == 0), "{plan:?}");
    }
}
