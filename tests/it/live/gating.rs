//! Baselines and verdicts as a project lives with them: none, accepted, of another disk, worse.

use std::collections::BTreeMap;

use crate::Case;
use crate::live::support::command::{Output, Program};
use crate::live::support::disk::{LoopDisk, TestDisk};
use crate::live::support::project::{Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing(
        "gating::a_slower_read_fails_and_says_everything",
        slower_read,
        &["root", "blkio"],
    ),
    Case::needing(
        "gating::nothing_to_compare_with_fails_in_ci_and_writes_no_baseline",
        no_baseline,
        &["root"],
    ),
    Case::needing(
        "gating::a_candidate_is_accepted_and_then_passes",
        accepted,
        &["root"],
    ),
    Case::needing(
        "gating::another_disk_is_not_comparable_and_the_field_is_named",
        another_disk,
        &["root"],
    ),
    Case::needing(
        "gating::another_workload_is_not_comparable_and_the_key_is_named",
        another_workload,
        &["root"],
    ),
    Case::needing(
        "gating::only_an_explicit_command_writes_in_ci",
        explicit_only,
        &["root"],
    ),
    Case::needing(
        "gating::accept_twice_changes_nothing",
        accept_twice,
        &["root"],
    ),
    Case::needing(
        "gating::a_killed_accept_leaves_old_or_new",
        killed_accept,
        &["root"],
    ),
    Case::needing(
        "gating::a_filtered_accept_leaves_the_rest_byte_for_byte",
        filtered_accept,
        &["root"],
    ),
    Case::needing(
        "gating::a_damaged_baseline_is_named_by_path_and_key",
        damaged,
        &["root"],
    ),
];

/// A project with one small pair and a disk.
fn setting(name: &str) -> (Project, LoopDisk) {
    (
        Project::bare(name, &[("suites/small.toml", SMALL_PAIR)]),
        LoopDisk::ext4(),
    )
}

fn gate(project: &Project, disk: &LoopDisk) -> Program {
    project.gate().env("IOGATE_DISK", disk.path())
}

fn accept(project: &Project, disk: &LoopDisk) -> Program {
    project
        .iogate()
        .args(["accept", "--provisional", "--disk"])
        .arg(disk.path())
}

fn measured(project: &Project, disk: &LoopDisk) -> Output {
    gate(project, disk).run().success()
}

fn slower_read() {
    // Legs longer than the throttle's 100 ms slices, so that the rate shows.
    let suite = SMALL_PAIR.replace("leg = \"2MiB\"", "leg = \"8MiB\"");
    let project = Project::bare("gating-slower", &[("suites/small.toml", &suite)]);
    let disk = TestDisk::up("reference", "128MiB", "40", "40");
    let gate = || {
        project
            .gate()
            .env("IOGATE_DISK", disk.path())
            .env("IOGATE_UPDATE", "auto")
            .seconds(300)
            .run()
    };
    gate().success();
    project
        .iogate()
        .args(["accept", "--provisional", "--disk"])
        .arg(disk.path())
        .run()
        .success();
    // A provisional baseline fails a test only when the metric more than halved.
    disk.rate("8", "40");
    let failed = gate().exits(101).says(&[
        "small::pair",
        "ratio",
        "read fell",
        "cargo iogate accept",
        "IOGATE_UPDATE",
    ]);
    let line = failed.stderr.lines().find(|l| l.starts_with("Error: "));
    let line = line.unwrap_or_else(|| panic!("no line starts `Error: `\n{}", failed.told()));
    for word in ["small::pair", "baseline", "limit"] {
        assert!(line.contains(word), "lacks {word}: {line}");
    }
}

fn no_baseline() {
    let (project, disk) = setting("gating-none");
    let run = gate(&project, &disk).env("CI", "true").run();
    run.exits(101)
        .says(&["no baseline for", "cargo iogate accept"]);
    assert!(project.contents("baselines").is_empty());
    assert_eq!(
        project.pending().len(),
        1,
        "a candidate is left even where nothing may be accepted"
    );
    // For a person the same is a pass that says what to do.
    measured(&project, &disk).says(&["no baseline", "cargo iogate accept"]);
}

fn accepted() {
    let (project, disk) = setting("gating-accepted");
    measured(&project, &disk);
    accept(&project, &disk)
        .run()
        .success()
        .says(&["small::pair", "ratio"]);
    assert_eq!(project.contents("baselines").len(), 1);
    assert!(
        project.windows().is_empty(),
        "accepted sessions are no longer pending"
    );
    let run = measured(&project, &disk);
    assert!(
        !format!("{}{}", run.stdout, run.stderr).contains("no baseline"),
        "{}",
        run.told()
    );
}

fn another_disk() {
    let (project, first) = setting("gating-other-disk");
    measured(&project, &first);
    accept(&project, &first).run().success();
    // Same model, size and file system; another UUID.
    let second = LoopDisk::ext4();
    let run = gate(&project, &second).env("CI", "true").run();
    run.exits(101).says(&["identity"]);
    gate(&project, &second)
        .env("CI", "true")
        .env("IOGATE_MATCH", "model")
        .run()
        .success();
}

fn another_workload() {
    let (project, disk) = setting("gating-other-workload");
    measured(&project, &disk);
    accept(&project, &disk).run().success();
    project.put("suites/small.toml", &SMALL_PAIR.replace("128KiB", "256KiB"));
    gate(&project, &disk)
        .run()
        .exits(101)
        .says(&["not comparable", "block", "128 KiB", "256 KiB"]);
}

fn explicit_only() {
    let (project, disk) = setting("gating-explicit");
    gate(&project, &disk)
        .env("IOGATE_UPDATE", "bogus")
        .run()
        .exits(101)
        .says(&["bogus", "auto", "new", "always", "no"]);
    gate(&project, &disk)
        .env("CI", "true")
        .env("IOGATE_UPDATE", "auto")
        .run()
        .exits(101);
    assert!(project.contents("baselines").is_empty());
    accept(&project, &disk).env("CI", "true").run().success();
    assert_eq!(project.contents("baselines").len(), 1);
}

fn accept_twice() {
    let (project, disk) = setting("gating-twice");
    measured(&project, &disk);
    accept(&project, &disk).run().success();
    let before = project.contents("baselines");
    assert_eq!(before.len(), 1);
    accept(&project, &disk).run().success();
    assert_eq!(project.contents("baselines"), before);
}

fn killed_accept() {
    let (project, disk) = setting("gating-killed");
    measured(&project, &disk);
    accept(&project, &disk).run().success();
    let old = project.contents("baselines");
    assert_eq!(old.len(), 1);
    for delay in [0, 2, 5, 10] {
        a_candidate(&project, &disk);
        let mut running = accept(&project, &disk).start();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        running.kill();
        drop(running);
        let now = project.contents("baselines");
        let json: Vec<_> = now
            .keys()
            .filter(|p| p.extension().is_some_and(|e| e == "json"))
            .collect();
        assert_eq!(json.len(), old.len(), "after {delay} ms: {json:?}");
        for path in json {
            let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&now[path]);
            assert!(
                parsed.is_ok(),
                "after {delay} ms {} is torn",
                path.display()
            );
        }
    }
    // The lock of the killed ones is free.
    accept(&project, &disk).seconds(10).run().success();
}

/// A pending candidate, measured only where the accept before was quicker than its kill.
fn a_candidate(project: &Project, disk: &LoopDisk) {
    if project.windows().is_empty() {
        measured(project, disk);
    }
}

fn filtered_accept() {
    let pairs = SMALL_PAIR.replace("size =", "workers = [1, 2]\nsize =");
    let project = Project::bare("gating-filtered", &[("suites/small.toml", &pairs)]);
    let disk = LoopDisk::ext4();
    measured(&project, &disk);
    accept(&project, &disk).run().success();
    let kept = |contents: BTreeMap<_, Vec<u8>>| -> Vec<String> {
        let text = contents
            .into_values()
            .map(|bytes| String::from_utf8(bytes).expect("text"))
            .collect::<String>();
        let value: serde_json::Value = serde_json::from_str(&text).expect("one baseline file");
        value["tests"]
            .as_object()
            .expect("tests")
            .iter()
            .map(|(k, v)| format!("{k} {v}"))
            .collect()
    };
    let before = kept(project.contents("baselines"));
    gate(&project, &disk).arg("workers-2").run().success();
    accept(&project, &disk).run().success();
    let after = kept(project.contents("baselines"));
    assert_eq!(before.len(), 2);
    assert_eq!(before[0], after[0], "the test that did not run");
    assert_ne!(before[1], after[1], "the test that did");
}

fn damaged() {
    let (project, disk) = setting("gating-damaged");
    measured(&project, &disk);
    accept(&project, &disk).run().success();
    let (path, good) = project
        .contents("baselines")
        .pop_first()
        .expect("a baseline");
    let good = String::from_utf8(good).expect("text");
    let name = path
        .file_name()
        .expect("a file")
        .to_string_lossy()
        .into_owned();
    let value = regex::Regex::new(r#""value":\s*[0-9.e+]+"#).expect("a pattern");
    let schema = regex::Regex::new(r#""schema":\s*1"#).expect("a pattern");
    for (damage, text) in [
        (
            "conflict marker",
            format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> other\n"),
        ),
        ("value", value.replace(&good, "\"value\":-1").into_owned()),
        ("value", value.replace(&good, "\"value\":0").into_owned()),
        ("value", value.replace(&good, "\"value\":NaN").into_owned()),
        (
            "schema",
            schema.replacen(&good, 1, "\"schema\":99").into_owned(),
        ),
        ("sessions", good.replacen("\"sessions\"", "\"sezzions\"", 1)),
    ] {
        assert_ne!(
            text, good,
            "the fixture for {damage} did not change the file"
        );
        std::fs::write(&path, &text).expect("a damaged baseline");
        let run = gate(&project, &disk).run();
        assert_ne!(run.code(), 0, "{damage}: {}", run.told());
        run.says(&[&name, damage]);
        assert_eq!(
            std::fs::read_to_string(&path).expect("still there"),
            text,
            "a damaged baseline is not overwritten"
        );
    }
}
