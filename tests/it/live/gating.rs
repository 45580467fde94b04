//! Baselines and verdicts as a project lives with them: none, accepted, of another disk, worse.

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
        "gating::a_changed_setting_is_a_suspect_and_a_changed_workload_is_not_comparable",
        what_changed,
        &["root"],
    ),
    Case::needing(
        "gating::a_damaged_baseline_is_named_by_path_and_key",
        damaged,
        &["root"],
    ),
];

/// The small pair with tolerances that no neighbour of the test can exceed.
pub(super) fn tolerant() -> String {
    let gate = |metric| format!("{metric} = {{ tolerance = \"95%\" }}\n");
    format!(
        "{SMALL_PAIR}\n[gate]\n{}{}{}",
        gate("ratio"),
        gate("read"),
        gate("write")
    )
}

/// A project with one small pair and a disk.
pub(super) fn setting(name: &str) -> (Project, LoopDisk) {
    (
        Project::bare(name, &[("suites/small.toml", &tolerant())]),
        LoopDisk::ext4(),
    )
}

pub(super) fn gate(project: &Project, disk: &LoopDisk) -> Program {
    project.gate().env("IOGATE_DISK", disk.path())
}

pub(super) fn accept(project: &Project, disk: &LoopDisk) -> Program {
    project
        .iogate()
        .args([
            "accept",
            "--provisional",
            "--allow-regime",
            "--reason",
            "a test",
            "--disk",
        ])
        .arg(disk.path())
}

pub(super) fn measured(project: &Project, disk: &LoopDisk) -> Output {
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
    // A blocking baseline from one measurement: three sessions alike.
    let (path, bytes) = project
        .contents("target/iogate/pending")
        .pop_first()
        .expect("a candidate");
    let mut candidate: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let sessions = candidate["sessions"].as_array_mut().expect("sessions");
    for number in 1..=2 {
        let mut twin = sessions[0].clone();
        twin["session"]["id"] = format!("{number}-00000000000000ff").into();
        sessions.push(twin);
    }
    std::fs::write(&path, candidate.to_string()).expect("a candidate of three sessions");
    project
        .iogate()
        .args(["accept", "--allow-regime", "--disk"])
        .arg(disk.path())
        .run()
        .success();
    disk.rate("8", "40");
    let failed = gate().exits(101).says(&[
        "small::pair",
        "ratio",
        "read fell",
        "changed: ",
        "disk: memory-128mib-ext4",
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

fn what_changed() {
    let (project, disk) = setting("gating-changed");
    measured(&project, &disk);
    accept(&project, &disk).run().success();
    let run = || {
        let run = project
            .iogate()
            .args(["run", "--message-format", "json", "--disk"]);
        run.arg(disk.path()).run()
    };
    let verdict = |run: &Output| -> serde_json::Value {
        let lines = run
            .stdout
            .lines()
            .map(|l| serde_json::from_str(l).expect("JSON"));
        let mut verdicts = lines.filter(|l: &serde_json::Value| l["type"] == "verdict");
        verdicts
            .next()
            .unwrap_or_else(|| panic!("no verdict\n{}", run.told()))
    };

    let scheduler = format!(
        "/sys/block/{}/queue/scheduler",
        disk.device().trim_start_matches("/dev/")
    );
    let offered = std::fs::read_to_string(&scheduler).expect("the queue's schedulers");
    let mut words = offered.split_whitespace();
    let other = words
        .find(|w| !w.starts_with('['))
        .expect("more than one scheduler");
    let active = offered
        .split(['[', ']'])
        .nth(1)
        .expect("an active scheduler");
    std::fs::write(&scheduler, other).expect("another scheduler");
    disk.remount("remount,lazytime");
    let settings = run();
    // A loop device keeps its queue's settings for whoever gets it next.
    std::fs::write(&scheduler, active).expect("the scheduler it had");
    let told = verdict(&settings);
    let suspects = told["suspects"].to_string();
    assert!(
        suspects.contains("scheduler") && suspects.contains(other) && suspects.contains("mount"),
        "{}",
        settings.told()
    );
    assert_ne!(told["verdict"], "not-comparable", "{}", settings.told());

    let suite = tolerant()
        .replace("\"128KiB\"", "\"256KiB\"\ndepth = 2\nengine = \"io_uring\"")
        .replace("\"32MiB\"", "\"16MiB\"");
    project.put("suites/small.toml", &suite);
    let workload = run().exits(4);
    assert_eq!(
        verdict(&workload)["verdict"],
        "not-comparable",
        "{}",
        workload.told()
    );
    workload.says(&[
        "block", "128", "256", "depth", "engine", "psync", "io_uring", "size",
    ]);
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
