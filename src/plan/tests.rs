use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::facts::*;
use crate::suite::*;
use crate::units::{Fraction, GIB, KIB, MIB};

fn facts() -> Facts {
    Facts {
        target: PathBuf::from("/mnt/disk"),
        kind: TargetKind::Directory,
        identity: Identity {
            name: "disk".into(),
            model: "disk".into(),
            size: Bytes(100 * GIB),
            filesystem: "ext4".into(),
            by: "serial".into(),
            salt: "00".into(),
            hash: "00".into(),
        },
        filesystem: Some(FileSystem {
            kind: "ext4".into(),
            source: "/dev/sdx1".into(),
            mount_point: PathBuf::from("/mnt/disk"),
            dev: "8:1".into(),
            options: "rw".into(),
            uuid: None,
            label: None,
            copy_on_write: false,
        }),
        stack: vec![],
        alignment: Alignment {
            offset: 4096,
            memory: 512,
            source: "statx".into(),
            direct: true,
        },
        free: Bytes(50 * GIB),
        settings: Settings::new(),
        host: Host::default(),
    }
}

fn test() -> Test {
    Test {
        suite: "sequential".into(),
        name: "direct".into(),
        workload: Workload {
            legs: Legs::Pair(Rw::Read, Rw::Write),
            size: None,
            leg: None,
            time: None,
            block: Block::Bytes(Bytes(MIB)),
            engine: EngineKind::Psync,
            cache: Cache::Direct,
            depth: 1,
            workers: 1,
            data: Data::Random,
            write: WriteMode::Overwrite,
            flush: Flush::End,
            file: None,
            scratch: None,
            files: None,
            on: On::File,
            zone: None,
            disks: 1,
            proof: Proof::Required,
        },
        gates: std::collections::BTreeMap::new(),
        slow: false,
        advisory: false,
        budget: None,
        text: String::new(),
        gated_metrics: 3,
    }
}

fn ask() -> Ask {
    Ask {
        trial: false,
        fixed: None,
        seed: 7,
        max_write: Bytes(64 * GIB),
        existing: None,
    }
}

fn fixed(bytes: u64) -> FixedLeg {
    FixedLeg {
        bytes: Bytes(bytes),
        took: None,
    }
}

fn runs(test: &Test, facts: &Facts, ask: &Ask) -> Plan {
    match plan(test, facts, ask) {
        Planned::Run(plan) => *plan,
        other => panic!("no plan: {other:?}"),
    }
}

fn refusal(test: &Test, facts: &Facts, ask: &Ask) -> String {
    match plan(test, facts, ask) {
        Planned::Refuse(why) => why,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_buffered_leg_that_would_meet_its_own_bytes_in_memory_is_refused_with_the_size_it_needs() {
    let mut test = test();
    test.workload.cache = Cache::Buffered;
    test.workload.size = Some(Bytes(512 * MIB));
    test.workload.leg = Some(LegLength::Bytes(Bytes(512 * MIB)));
    let why = refusal(&test, &facts(), &ask());
    assert!(why.contains("raise `size` to 1 GiB"), "{why}");
    test.workload.leg = Some(LegLength::Bytes(Bytes(256 * MIB)));
    assert_eq!(runs(&test, &facts(), &ask()).once(), 256 * MIB);
    test.workload.cache = Cache::Direct;
    test.workload.leg = Some(LegLength::Bytes(Bytes(512 * MIB)));
    runs(&test, &facts(), &ask());
}

#[test]
fn a_pair_gets_its_defaults() {
    let plan = runs(&test(), &facts(), &ask());
    assert_eq!(plan.test, "sequential::direct");
    assert_eq!(plan.extent, Bytes(5 * GIB));
    assert_eq!((plan.warm_up, plan.keep, plan.seed), (2, 20, 7));
    assert_eq!(plan.source, Source::Scratch(PathBuf::from("/mnt/disk")));
    let legs: Vec<_> = plan
        .legs
        .iter()
        .map(|l| (l.direction, l.bytes, l.aim))
        .collect();
    let aim = Nanos(1_000_000_000);
    assert_eq!(
        legs,
        [(Direction::Read, None, aim), (Direction::Write, None, aim)]
    );
    assert_eq!(plan.budget, Nanos(60_000_000_000));
    assert!(!plan.two_files && !plan.budget_given);
    assert!(plan.needs > Bytes(5 * GIB) && plan.needs < Bytes(6 * GIB));
}

#[test]
fn a_trial_is_small_and_short() {
    let plan = runs(
        &test(),
        &facts(),
        &Ask {
            trial: true,
            ..ask()
        },
    );
    assert_eq!((plan.extent, plan.keep), (Bytes(256 * MIB), 8));
    assert_eq!(plan.writes, Bytes(16 * GIB));
    assert!(plan.expected.unwrap() < Nanos(40_000_000_000));
}

#[test]
fn a_trial_on_a_throttled_disk_stays_within_a_minute() {
    let mut facts = facts();
    facts
        .settings
        .insert("cgroup.read_bps".into(), "1000000".into());
    let trial = Ask {
        trial: true,
        ..ask()
    };
    let plan = runs(&test(), &facts, &trial);
    assert_eq!(plan.budget, Nanos(40_000_000_000));
    assert!(plan.budget_given, "it must not be stretched");
    assert_eq!(plan.legs[0].aim, Nanos(1_000_000_000));
}

#[test]
fn a_limit_of_memory_is_no_throttle() {
    let mut facts = facts();
    facts
        .settings
        .insert("cgroup.memory".into(), "1073741824".into());
    assert_eq!(
        runs(&test(), &facts, &ask()).legs[0].aim,
        Nanos(1_000_000_000)
    );
}

#[test]
fn a_default_size_is_raised_so_that_caches_below_forget() {
    let extent = |change: &dyn Fn(&mut Test, &mut Facts)| {
        let (mut test, mut facts) = (test(), facts());
        facts.free = Bytes(100 * GIB);
        change(&mut test, &mut facts);
        let plan = runs(&test, &facts, &ask());
        (plan.extent.0 / GIB, plan.reread_after.0 / GIB)
    };
    let raid = |f: &mut Facts| {
        let behind = ("behind".to_owned(), "raid controller".to_owned());
        f.host.notes.extend([behind]);
    };
    assert_eq!(extent(&|_, _| ()), (5, 4));
    assert_eq!(
        extent(&|t, _| t.workload.legs = Legs::Single(Rw::Read)),
        (4, 4)
    );
    assert_eq!(extent(&|t, _| t.workload.workers = 4), (4, 4));
    assert_eq!(
        extent(&|t, f| {
            raid(f);
            t.workload.workers = 4
        }),
        (10, 32)
    );
    assert_eq!(extent(&|_, f| raid(f)), (40, 32));
    assert_eq!(
        extent(&|_, f| f.filesystem.as_mut().unwrap().copy_on_write = true),
        (8, 4),
        "two files of half the extent"
    );
    assert_eq!(
        extent(&|t, f| {
            raid(f);
            t.workload.size = Some(Bytes(GIB))
        }),
        (1, 32),
        "a written size stands"
    );
}

#[test]
fn a_stripe_is_believed_only_when_it_can_be_one() {
    let stripe = |optimal_io_size| {
        let mut facts = facts();
        facts.stack = vec![Layer {
            name: "md0".into(),
            dev: "9:0".into(),
            kind: LayerKind::Md,
            depth: 0,
            leaf: true,
            model: None,
            serial: None,
            size: Bytes(100 * GIB),
            queue: Some(Queue {
                scheduler: "none".into(),
                read_ahead_kb: 128,
                nr_requests: 64,
                max_sectors_kb: 1280,
                max_hw_sectors_kb: 1280,
                rotational: false,
                write_cache: "write back".into(),
                nomerges: 0,
                iostats: true,
                logical_block_size: 512,
                physical_block_size: 4096,
                optimal_io_size,
            }),
            backing_file: None,
        }];
        runs(&test(), &facts, &ask()).stripe.0
    };
    assert_eq!(stripe(3 * 512 * KIB), 3 * 512 * KIB);
    assert_eq!(stripe(0), 0);
    assert_eq!(stripe(65535 * 512), 0, "as USB bridges report");
    assert_eq!(stripe(1 << 32), 0);
}

#[test]
fn no_time_is_told_where_none_is_known() {
    let mut test = test();
    test.workload.leg = Some(LegLength::Bytes(Bytes(100 * MIB)));
    assert_eq!(runs(&test, &facts(), &ask()).expected, None);

    let mut throttled = facts();
    for (key, rate) in [
        ("cgroup.read_bps", "10485760"),
        ("cgroup.write_bps", "5242880"),
    ] {
        throttled.settings.insert(key.into(), rate.into());
    }
    let expected = runs(&test, &throttled, &ask()).expected.unwrap();
    // 22 rounds of 10 s and 20 s, and the layout of 5 GiB.
    assert!((670.0..700.0).contains(&expected.seconds()), "{expected}");

    let took = |seconds: u64| FixedLeg {
        bytes: Bytes(100 * MIB),
        took: Some(Nanos(seconds * 1_000_000_000)),
    };
    let known = Ask {
        fixed: Some(vec![took(1), took(2)]),
        ..ask()
    };
    let expected = runs(&test, &facts(), &known).expected.unwrap();
    assert!((80.0..100.0).contains(&expected.seconds()), "{expected}");
}

#[test]
fn a_throttled_disk_gets_legs_of_three_seconds_and_the_budget_they_need() {
    let mut facts = facts();
    facts
        .settings
        .insert("cgroup.read_bps".into(), "200000000".into());
    let plan = runs(&test(), &facts, &ask());
    assert!(plan.legs.iter().all(|l| l.aim == Nanos(3_000_000_000)));
    assert!(plan.budget > Nanos(22 * 6_000_000_000), "{:?}", plan.budget);
}

#[test]
fn a_written_leg_length_and_budget_are_used_as_they_are() {
    let mut test = test();
    test.workload.leg = Some(LegLength::Time(Duration::from_millis(300)));
    test.budget = Some(Duration::from_secs(5));
    let plan = runs(&test, &facts(), &ask());
    assert_eq!(plan.legs[0].aim, Nanos(300_000_000));
    assert_eq!(
        (plan.budget, plan.budget_given),
        (Nanos(5_000_000_000), true)
    );
    assert_eq!(plan.key["leg"], "0.3 s");
}

#[test]
fn the_bytes_of_a_baseline_win_over_the_suite() {
    let mut test = test();
    test.workload.leg = Some(LegLength::Bytes(Bytes(5 * MIB)));
    let known = Ask {
        fixed: Some(vec![fixed(200 * MIB), fixed(100 * MIB)]),
        ..ask()
    };
    let bytes = |plan: Plan| plan.legs.iter().map(|l| l.bytes).collect::<Vec<_>>();
    assert_eq!(
        bytes(runs(&test, &facts(), &ask())),
        [Some(Bytes(5 * MIB)); 2]
    );
    assert_eq!(
        bytes(runs(&test, &facts(), &known)),
        [Some(Bytes(200 * MIB)), Some(Bytes(100 * MIB))]
    );
    let wrong = Ask {
        fixed: Some(vec![fixed(1)]),
        ..ask()
    };
    assert!(refusal(&test, &facts(), &wrong).contains("another number of legs"));
}

#[test]
fn a_block_the_device_cannot_take_is_refused_with_the_multiple() {
    let mut test = test();
    for (block, hint) in [(512, "4 KiB"), (6 * KIB, "8 KiB"), (0, "4 KiB")] {
        test.workload.block = Block::Bytes(Bytes(block));
        let why = refusal(&test, &facts(), &ask());
        assert!(
            why.contains("multiple of 4 KiB") && why.contains("statx"),
            "{why}"
        );
        assert!(
            why.ends_with(&format!("write `block = \"{hint}\"`")),
            "{why}"
        );
    }
    test.workload.block = Block::Bytes(Bytes(2 * GIB));
    assert!(refusal(&test, &facts(), &ask()).contains("largest request is 1 GiB"));
}

#[test]
fn the_smallest_block_is_what_the_device_takes() {
    let mut test = test();
    test.workload.block = Block::Min;
    assert_eq!(runs(&test, &facts(), &ask()).block, Bytes(4096));
    let mut facts = facts();
    facts.alignment.offset = 512;
    assert_eq!(runs(&test, &facts, &ask()).block, Bytes(512));
}

#[test]
fn direct_never_falls_back_to_the_page_cache() {
    let mut facts = facts();
    facts.alignment.direct = false;
    assert!(refusal(&test(), &facts, &ask()).contains("ext4 at /mnt/disk takes no direct I/O"));
    let mut test = test();
    test.workload.cache = Cache::Buffered;
    test.workload.block = Block::Bytes(Bytes(1000));
    assert_eq!(runs(&test, &facts, &ask()).alignment, 1);
}

#[test]
fn too_little_space_and_too_many_writes_name_both_numbers() {
    let mut facts = facts();
    facts.free = Bytes(GIB);
    let why = refusal(&test(), &facts, &ask());
    assert!(
        why.contains("5.1 GiB needed") && why.contains("1 GiB free"),
        "{why}"
    );

    let mut test = test();
    test.workload.leg = Some(LegLength::Bytes(Bytes(4 * GIB)));
    let why = refusal(&test, &self::facts(), &ask());
    assert!(
        why.contains("writes 117 GiB") && why.contains("max-write 64 GiB"),
        "{why}"
    );
}

#[test]
fn an_open_write_leg_may_write_what_is_allowed_and_no_more() {
    assert_eq!(runs(&test(), &facts(), &ask()).writes, Bytes(64 * GIB));
    let little = Ask {
        max_write: Bytes(3 * GIB),
        ..ask()
    };
    assert!(refusal(&test(), &facts(), &little).contains("layout 5 GiB"));
}

#[test]
fn a_read_only_test_writes_its_layout_alone() {
    let mut test = test();
    test.workload.legs = Legs::Single(Rw::RandRead);
    assert_eq!(runs(&test, &facts(), &ask()).writes, Bytes(4 * GIB));
}

#[test]
fn an_existing_file_is_only_read() {
    let mut test = test();
    test.workload.file = Some(PathBuf::from("/data/big"));
    let ask = Ask {
        existing: Some(Bytes(10 * MIB + 5)),
        ..ask()
    };
    assert!(refusal(&test, &facts(), &ask).contains("drop `file` or the write leg"));
    test.workload.legs = Legs::Single(Rw::Read);
    let plan = runs(&test, &facts(), &ask);
    assert_eq!(plan.source, Source::Existing(PathBuf::from("/data/big")));
    assert_eq!(
        (plan.extent, plan.writes, plan.needs),
        (Bytes(10 * MIB), Bytes(0), Bytes(0))
    );
    test.workload.size = Some(Bytes(GIB));
    assert!(refusal(&test, &facts(), &ask).contains("holds 10485765 B"));
}

#[test]
fn a_block_device_is_only_read() {
    let mut facts = facts();
    facts.kind = TargetKind::BlockDevice;
    facts.filesystem = None;
    facts.target = PathBuf::from("/dev/sdx");
    let ask = Ask {
        existing: Some(Bytes(GIB)),
        ..ask()
    };
    assert!(refusal(&test(), &facts, &ask).contains("/dev/sdx is a block device"));
    let mut test = test();
    test.workload.legs = Legs::Single(Rw::Read);
    assert_eq!(
        runs(&test, &facts, &ask).source,
        Source::Existing(PathBuf::from("/dev/sdx"))
    );
}

#[test]
fn copy_on_write_takes_two_files_for_a_pair() {
    let mut facts = facts();
    if let Some(fs) = facts.filesystem.as_mut() {
        fs.copy_on_write = true;
    }
    assert!(runs(&test(), &facts, &ask()).two_files);
    let mut single = test();
    single.workload.legs = Legs::Single(Rw::Write);
    assert!(!runs(&single, &facts, &ask()).two_files);
}

#[test]
fn what_is_not_measured_yet_is_skipped_with_that_reason() {
    type Change = fn(&mut Workload);
    let later: [Change; 7] = [
        |w| w.engine = EngineKind::Mmap,
        |w| w.legs = Legs::Single(Rw::RandRw),
        |w| w.legs = Legs::Together(vec![]),
        |w| w.write = WriteMode::Append,
        |w| w.flush = Flush::Each,
        |w| w.disks = 2,
        |w| w.zone = Some((Fraction(0.0), Fraction(0.05))),
    ];
    for change in later {
        let mut test = test();
        change(&mut test.workload);
        match plan(&test, &facts(), &ask()) {
            Planned::Skip(why) => assert!(why.starts_with(NOT_YET), "{why}"),
            other => panic!("planned all the same: {other:?}"),
        }
    }
}

#[test]
fn an_extent_too_small_for_the_legs_is_refused() {
    let mut test = test();
    test.workload.size = Some(Bytes(MIB));
    assert!(refusal(&test, &facts(), &ask()).contains("at least 2 MiB"));
    test.workload.size = Some(Bytes(2 * MIB + 1));
    assert_eq!(runs(&test, &facts(), &ask()).extent, Bytes(2 * MIB));
}

#[test]
fn the_key_tells_every_size_apart() {
    let mut test = test();
    test.workload.size = Some(Bytes(GIB));
    test.workload.data = Data::Compressible(Fraction(0.5));
    let plan = runs(&test, &facts(), &ask());
    let words: Vec<String> = plan.key.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(
        words.join("; "),
        "block=1 MiB; cache=direct; data=2048 of 4 KiB zeros; depth=1; engine=psync; flush=end; leg=1 s; \
         legs=read, write; size=1 GiB; source=scratch; workers=1"
    );
    assert_eq!(plan.data, DataPlan::ZeroTail(2048));
    test.workload.size = Some(Bytes(GIB + MIB));
    assert_eq!(runs(&test, &facts(), &ask()).key["size"], "1025 MiB");
}

#[test]
fn a_depth_the_engine_cannot_keep_is_refused() {
    let mut test = test();
    for (engine, depth, word) in [
        (EngineKind::Psync, 8, "write `engine = \"io_uring\"`"),
        (EngineKind::IoUring, 40_000, "at most 32768"),
        (EngineKind::IoUring, 0, "at least 1"),
    ] {
        (test.workload.engine, test.workload.depth) = (engine, depth);
        let why = refusal(&test, &facts(), &ask());
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn a_leg_of_too_many_requests_is_refused() {
    let mut test = test();
    test.workload.leg = Some(LegLength::Bytes(Bytes(1 << 40)));
    test.workload.block = Block::Bytes(Bytes(4096));
    assert!(refusal(&test, &facts(), &ask()).contains("more than 16777216 requests"));
}
