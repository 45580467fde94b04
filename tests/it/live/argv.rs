//! The harness's command line: what libtest takes, what runners send, and colour.

use crate::Case;
use crate::live::support::disk::LoopDisk;
use crate::live::support::project::{NULLS, Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing("argv::exact_runs_that_one_test", exact, &["root"]),
    Case::needing("argv::several_filters_run_their_union", filters, &["root"]),
    Case::plain("argv::zero_threads_is_an_error_and_no_hang", zero_threads),
    Case::needing(
        "argv::many_threads_still_measure_one_at_a_time",
        many_threads,
        &["root"],
    ),
    Case::needing(
        "argv::other_flags_of_libtest_are_accepted",
        libtest_flags,
        &["root"],
    ),
    Case::plain("argv::an_unknown_flag_is_a_usage_error", unknown_flag),
    Case::needing(
        "argv::colour_follows_the_conventions",
        colour,
        &["root", "script"],
    ),
    Case::needing(
        "argv::json_is_not_broken_by_what_a_test_says",
        json,
        &["root"],
    ),
];

fn nulls(name: &str) -> (Project, LoopDisk) {
    (
        Project::bare(name, &[("suites/nulls.toml", NULLS)]),
        LoopDisk::ext4(),
    )
}

fn exact() {
    let (project, disk) = nulls("argv-exact");
    for name in ["nulls::seq", "nulls::rand", "nulls::other"] {
        let run = project
            .gate()
            .args(["--exact", name, "--nocapture"])
            .env("IOGATE_DISK", disk.path())
            .run();
        run.success().says(&["running 1 test", "1 passed"]);
    }
}

fn filters() {
    let (project, disk) = nulls("argv-filters");
    let run = |args: &[&str]| {
        project
            .gate()
            .args(args)
            .env("IOGATE_DISK", disk.path())
            .run()
            .success()
    };
    run(&["seq", "rand", "--no-capture"]).says(&[
        "running 2 tests",
        "nulls::seq",
        "nulls::rand",
        "2 passed",
    ]);
    run(&["nulls", "--skip", "seq"]).says(&["2 passed"]);
    run(&["nothing-like-this"]).says(&["running 0 tests"]);
}

fn zero_threads() {
    let project = Project::bare("argv-zero", &[("suites/nulls.toml", NULLS)]);
    project
        .gate()
        .arg("--test-threads=0")
        .seconds(5)
        .run()
        .exits(2)
        .says(&["--test-threads"]);
}

fn many_threads() {
    let pairs = SMALL_PAIR.replace("size =", "workers = [1, 2]\nsize =");
    let project = Project::bare("argv-threads", &[("suites/small.toml", &pairs)]);
    let disk = LoopDisk::ext4();
    project
        .gate()
        .arg("--test-threads=8")
        .env("IOGATE_DISK", disk.path())
        .run()
        .success()
        .says(&["2 passed"]);
    let windows = project.windows();
    assert_eq!(windows.len(), 2, "{windows:?}");
    // Starts are whole seconds.
    assert!(windows[0][1] < windows[1][0] + 1.0, "{windows:?}");
}

fn libtest_flags() {
    let (project, disk) = nulls("argv-libtest");
    for flags in [
        &["--nocapture"][..],
        &["--show-output"],
        &["--report-time"],
        &["--format", "pretty"],
        &["--format", "terse"],
        &["-q"],
        &["--include-ignored"],
        &["--color", "never"],
        &["-Z", "unstable-options"],
        &["--bench"],
    ] {
        let run = project
            .gate()
            .args(flags)
            .arg("nulls::seq")
            .env("IOGATE_DISK", disk.path())
            .run();
        // With --bench a gate that ignores everything would be green for nothing.
        run.success().says(&["1 passed"]);
    }
}

fn unknown_flag() {
    let project = Project::bare("argv-unknown", &[("suites/nulls.toml", NULLS)]);
    project
        .gate()
        .arg("--no-such-flag")
        .run()
        .exits(2)
        .says(&["--no-such-flag"]);
}

fn colour() {
    let (project, disk) = nulls("argv-colour");
    let gate = |args: &[&str]| {
        project
            .gate()
            .arg("nulls::seq")
            .args(args)
            .env("IOGATE_DISK", disk.path())
    };
    let escapes = |output: crate::live::support::command::Output| {
        let output = output.success();
        format!("{}{}", output.stdout, output.stderr).contains('\u{1b}')
    };
    assert!(!escapes(gate(&[]).run()), "escapes in a pipe");
    assert!(escapes(gate(&[]).env("CARGO_TERM_COLOR", "always").run()));
    assert!(escapes(
        gate(&["--color", "always"]).env("NO_COLOR", "1").run()
    ));
    let terminal = gate(&[]).env("NO_COLOR", "1").env("TERM", "xterm");
    let terminal = terminal.under("bash", ["-c", "script -qec \"'$0' $*\" /dev/null"]);
    assert!(
        !escapes(terminal.run()),
        "escapes on a terminal despite NO_COLOR"
    );
}

fn json() {
    let (project, disk) = nulls("argv-json");
    let run = project
        .gate()
        .args(["--format", "json"])
        .env("IOGATE_DISK", disk.path())
        .run()
        .success();
    assert!(run.stdout.lines().count() > 2, "{}", run.told());
    for line in run.stdout.lines() {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok(), "not JSON: {line:?}\n{}", run.told());
    }
}
