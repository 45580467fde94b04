//! The gate of somebody else's project under cargo test and under nextest, without any configuration of the runner.

use std::collections::BTreeSet;

use crate::Case;
use crate::live::support::disk::{LoopDisk, LoopSpec};
use crate::live::support::project::{Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing(
        "runners::cargo_test_and_nextest_list_the_same_names",
        same_names,
        &["root", "cargo-nextest"],
    ),
    Case::needing(
        "runners::nextest_measures_one_test_at_a_time",
        one_at_a_time,
        &["root", "cargo-nextest"],
    ),
    Case::needing(
        "runners::a_failure_reaches_cargo_test_and_the_junit_file",
        failure,
        &["root", "cargo-nextest"],
    ),
    Case::needing(
        "runners::without_a_disk_tests_are_skipped_and_never_passed",
        skipped,
        &["cargo-nextest"],
    ),
    Case::needing(
        "runners::the_command_runs_the_projects_own_targets",
        own_targets,
        &["root"],
    ),
];

/// Two tests, so that a runner may try both at once.
fn two() -> String {
    SMALL_PAIR.replace("size =", "workers = [1, 2]\nsize =")
}

const CI_PROFILE: &str = "[profile.ci]\nfail-fast = false\n[profile.ci.junit]\npath = \"junit.xml\"\nreport-skipped = \"ignored\"\n";

fn same_names() {
    let disk = LoopDisk::ext4();
    let project = Project::package("runners-names", &[("suites/small.toml", &two())]);
    let list = ["-q", "--test", "gate", "--", "--list", "--format", "terse"];
    let cargo = project
        .cargo("test")
        .args(list)
        .env("IOGATE_DISK", disk.path())
        .run()
        .success();
    let expected: BTreeSet<&str> = ["small::pair::workers-1", "small::pair::workers-2"].into();
    let names = |text: &str, end: &str| -> BTreeSet<String> {
        text.lines()
            .map(|l| {
                l.trim()
                    .trim_end_matches(end)
                    .rsplit(' ')
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    };
    let found = names(&cargo.stdout, ": test");
    assert_eq!(
        found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        expected,
        "{}",
        cargo.told()
    );
    let next = project
        .cargo("nextest")
        .args(["list", "--message-format", "oneline"])
        .env("IOGATE_DISK", disk.path());
    let next = next.run().success();
    assert_eq!(names(&next.stdout, ""), found, "{}", next.told());
}

fn one_at_a_time() {
    let disk = LoopDisk::ext4();
    let project = Project::package("runners-turns", &[("suites/small.toml", &two())]);
    project
        .cargo("nextest")
        .args(["run", "--test-threads", "4"])
        .env("IOGATE_DISK", disk.path())
        .run()
        .success();
    let windows = project.windows();
    assert_eq!(windows.len(), 2, "{windows:?}");
    // Starts are whole seconds.
    assert!(windows[0][1] < windows[1][0] + 1.0, "{windows:?}");
}

fn failure() {
    // Its path stands in messages, JSON and the JUnit file.
    let disk = LoopSpec {
        folder: "a & <b>",
        ..LoopSpec::default()
    }
    .make();
    let hopeless = format!("{SMALL_PAIR}\n[gate]\nratio = {{ min = 1e6 }}\n");
    let files = [
        ("suites/small.toml", hopeless.as_str()),
        (".config/nextest.toml", CI_PROFILE),
    ];
    let project = Project::package("runners-failure", &files);
    let cargo = project
        .cargo("test")
        .args(["--test", "gate"])
        .env("IOGATE_DISK", disk.path())
        .run();
    cargo.exits(101).says(&[
        "small::pair",
        "ratio",
        "floor",
        "IOGATE_UPDATE",
        "cargo iogate accept",
    ]);
    let next = project
        .cargo("nextest")
        .args(["run", "-P", "ci"])
        .env("IOGATE_DISK", disk.path())
        .run();
    next.exits(100);
    let junit = junit(&project);
    assert!(junit.contains("<failure message=\"Error: "), "{junit}");
    assert!(junit.contains("regressed"), "{junit}");
    assert!(
        junit.contains("a &amp; &lt;b") && !junit.contains("a & <b>"),
        "the disk's path stands escaped:\n{junit}"
    );
}

fn junit(project: &Project) -> String {
    let path = project.path("target/nextest/ci/junit.xml");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn skipped() {
    let files = [
        ("suites/small.toml", SMALL_PAIR),
        (".config/nextest.toml", CI_PROFILE),
    ];
    let project = Project::package("runners-skipped", &files);
    let next = project
        .cargo("nextest")
        .args(["run", "-P", "ci", "--no-tests", "pass"])
        .run()
        .success();
    assert!(!next.stderr.contains("PASS"), "{}", next.told());
    let junit = junit(&project);
    assert!(junit.contains("<skipped"), "{junit}");
    let all = project
        .cargo("nextest")
        .args(["run", "--run-ignored", "all"])
        .run();
    all.exits(100).says(&["IOGATE_DISK"]);
}

fn own_targets() {
    let disk = LoopDisk::ext4();
    let project = Project::package("runners-own", &[("suites/small.toml", SMALL_PAIR)]);
    let run = project
        .iogate()
        .args(["run", "--profile", "dev", "--disk"])
        .arg(disk.path())
        .seconds(600)
        .run();
    run.success().says(&["small::pair", "decided 0 of 1"]);
    assert_eq!(project.windows().len(), 1);
    let report = project.report();
    assert_eq!(report["verdicts"][0]["verdict"], "no-baseline", "{report}");
    assert!(project.path("target/iogate/report.json").is_file());
}
