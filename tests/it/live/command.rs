//! `cargo iogate` as a person and a pipeline call it: usage, exit codes, JSON, colour.

use super::gating::tolerant;
use crate::Case;
use crate::live::support::cargo_iogate;
use crate::live::support::command::{Output, program};
use crate::live::support::disk::{LoopDisk, TestDisk};
use crate::live::support::project::{Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::plain(
        "command::help_and_version_are_the_same_however_it_is_called",
        usage,
    ),
    Case::plain("command::a_wrong_flag_is_a_usage_error", wrong_flag),
    Case::plain(
        "command::a_broken_configuration_is_named_with_line_and_column",
        broken_config,
    ),
    Case::needing(
        "command::exit_codes_tell_what_happened_and_json_and_report_with_them",
        exit_codes,
        &["root"],
    ),
    Case::needing(
        "command::a_foreign_writer_leaves_a_strict_run_undecided",
        foreign_writer,
        &["root", "blkio"],
    ),
    Case::needing(
        "command::without_a_disk_in_ci_nothing_is_compared",
        no_disk_in_ci,
        &["root"],
    ),
    Case::plain("command::colour_follows_the_conventions", colour),
    Case::plain(
        "command::a_filter_that_selects_nothing_measures_nothing",
        selects_nothing,
    ),
];

/// A pair whose floor no disk reaches: `regressed` without a baseline.
fn hopeless() -> String {
    format!("{SMALL_PAIR}\n[gate]\nratio = {{ min = 1e6 }}\n")
}

/// A pair gated by a floor alone, which every disk reaches: `pass`.
fn certain() -> String {
    let none = "ratio = false\nread = false\nwrite = false\n";
    format!("{SMALL_PAIR}\n[gate]\n{none}read_iops = {{ min = 1e-6 }}\n")
}

fn usage() {
    let line = |args: &[&str]| {
        let help = cargo_iogate().args(args).run().success();
        let line = help
            .stdout
            .lines()
            .find(|l| l.to_lowercase().contains("usage"));
        line.unwrap_or_else(|| panic!("no usage line\n{}", help.told()))
            .to_owned()
    };
    let as_cargo = line(&["iogate", "--help"]);
    assert!(as_cargo.contains("cargo iogate"), "{as_cargo}");
    assert_eq!(line(&["--help"]), as_cargo);
    // As cargo finds it, by name on the path.
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_cargo-iogate"));
    let folder = binary.parent().expect("a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    for args in [&["iogate", "--help"][..], &["help", "iogate"]] {
        let cargo = program(option_env!("CARGO").unwrap_or("cargo"));
        let help = cargo.args(args).env("PATH", &path).run().success();
        assert!(help.stdout.contains(&as_cargo), "{}", help.told());
    }
    for args in [&["-V"][..], &["iogate", "-V"], &["--version"]] {
        let version = cargo_iogate().args(args).run().success().stdout;
        assert!(
            version.contains("iogate") && version.contains(env!("CARGO_PKG_VERSION")),
            "{version}"
        );
    }
}

fn wrong_flag() {
    let project = Project::bare("command-flag", &[]);
    project
        .iogate()
        .args(["run", "--no-such-flag"])
        .run()
        .exits(2)
        .says(&["--no-such-flag"]);
    project.iogate().arg("no-such-command").run().exits(2);
}

fn broken_config() {
    let project = Project::bare("command-config", &[("suites/small.toml", SMALL_PAIR)]);
    for (text, words) in [
        (
            "strict = true\ngap = 30\n",
            &["iogate.toml:2:", "gap", "30"][..],
        ),
        ("strikt = true\n", &["iogate.toml:1:1", "strikt", "strict"]),
        ("strict = \n", &["iogate.toml:1:"]),
    ] {
        project.put(".config/iogate.toml", text);
        let run = project
            .iogate()
            .args(["run", "--message-format", "json"])
            .run()
            .exits(1)
            .says(words);
        assert_json(&run);
    }
}

/// Every line of stdout is one object with `type` and `schema`; returns the summary.
#[track_caller]
fn assert_json(run: &Output) -> Option<serde_json::Value> {
    let mut summary = None;
    for line in run.stdout.lines() {
        let object: serde_json::Value = serde_json::from_str(line)
            .unwrap_or_else(|e| panic!("not JSON ({e}): {line}\n{}", run.told()));
        assert!(
            object["type"].is_string() && object["schema"].is_u64(),
            "{line}"
        );
        if object["type"] == "summary" {
            assert_eq!(
                object["exit_code"].as_i64(),
                Some(i64::from(run.code())),
                "{line}"
            );
            summary = Some(object);
        }
    }
    summary
}

fn exit_codes() {
    let disk = LoopDisk::ext4();
    let project = Project::bare("command-codes", &[("suites/small.toml", &tolerant())]);
    let run = |args: &[&str], ci: bool| {
        let run = project
            .iogate()
            .args(["run", "--message-format", "json", "--disk"])
            .arg(disk.path())
            .args(args);
        if ci {
            run.env("CI", "true").run()
        } else {
            run.run()
        }
    };
    let summary = |run: Output| {
        let summary = assert_json(&run).unwrap_or_else(|| panic!("no summary\n{}", run.told()));
        assert_eq!(project.report()["summary"], summary);
        summary
    };

    let first = summary(run(&[], false).exits(0));
    assert_eq!(
        (first["no-baseline"].as_u64(), first["compared"].as_u64()),
        (Some(1), Some(0)),
        "{first}"
    );
    summary(run(&[], true).exits(4));
    summary(run(&["nothing-like-this"], false).exits(4));
    project
        .iogate()
        .args(["accept", "--provisional", "--allow-regime", "--disk"])
        .arg(disk.path())
        .run()
        .success();
    // Whatever a noisy machine lets it decide, there is something to compare with now.
    let accepted = summary(run(&[], true).exits(0));
    assert_eq!(accepted["no-baseline"].as_u64(), Some(0), "{accepted}");
    project.put("suites/small.toml", &certain());
    let compared = summary(run(&[], true).exits(0).says(&["decided 1 of 1"]));
    assert_eq!(
        (compared["pass"].as_u64(), compared["compared"].as_u64()),
        (Some(1), Some(1)),
        "{compared}"
    );
    project.put("suites/small.toml", &hopeless());
    let regressed = run(&[], false)
        .exits(3)
        .says(&["Error: ", "decided 1 of 1"]);
    assert_eq!(summary(regressed)["regressed"].as_u64(), Some(1));
}

fn foreign_writer() {
    // A leg takes 0.7 s at this rate, longer than from one burst of the writer to the next: each write leg sees some
    // of its bytes. The pause is longer than the disk must be still, so that the legs themselves begin.
    let suite = tolerant().replace("\"2MiB\"", "\"8MiB\"");
    let project = Project::bare("command-foreign", &[("suites/small.toml", &suite)]);
    let disk = TestDisk::up("reference", "128MiB", "12", "12");
    let run = |strict: &[&str]| {
        let run = project.iogate().args(["run", "--message-format", "json"]);
        run.args(strict).arg("--disk").arg(disk.path()).run()
    };
    // Without a baseline the verdict would be that there is none.
    run(&[]).exits(0);
    project
        .iogate()
        .args(["accept", "--provisional", "--allow-regime", "--disk"])
        .arg(disk.path())
        .run()
        .success();
    let writes = "while :; do dd if=/dev/zero of=\"$0/foreign\" bs=2M count=1 oflag=direct conv=notrunc; sleep 0.4; done";
    let writer = program("bash")
        .args(["-c", writes])
        .arg(disk.path())
        .seconds(180)
        .start();
    let run = run(&["--strict"]).exits(5);
    drop(writer);
    let summary = assert_json(&run).unwrap_or_else(|| panic!("no summary\n{}", run.told()));
    assert_eq!(summary["inconclusive"], 1, "{}", run.told());
    let report = project.report();
    assert_eq!(report["verdicts"][0]["reason"], "disturbed", "{report}");
    run.says(&["disturbed", "decided 0 of 1"]);
}

fn no_disk_in_ci() {
    let project = Project::bare("command-no-disk", &[("suites/small.toml", SMALL_PAIR)]);
    let run = project
        .iogate()
        .args(["run", "--message-format", "json"])
        .env("CI", "true")
        .run();
    run.exits(4).says(&["--disk"]);
}

fn selects_nothing() {
    let project = Project::bare("command-nothing", &[("suites/small.toml", SMALL_PAIR)]);
    let run = project
        .iogate()
        .args(["run", "no-such-test", "--message-format", "json"])
        .run()
        .exits(4);
    run.says(&["no-such-test"]);
}

fn colour() {
    let project = Project::bare("command-colour", &[("suites/small.toml", SMALL_PAIR)]);
    let escapes = |run: Output| format!("{}{}", run.stdout, run.stderr).contains('\u{1b}');
    let help = || project.iogate().arg("--help");
    assert!(!escapes(help().run()), "escapes in a pipe");
    assert!(escapes(help().env("CARGO_TERM_COLOR", "always").run()));
    assert!(escapes(
        project
            .iogate()
            .args(["--color", "always", "run", "--help"])
            .env("NO_COLOR", "1")
            .run()
    ));
    assert!(!escapes(
        help()
            .env("NO_COLOR", "1")
            .env("CARGO_TERM_COLOR", "auto")
            .run()
    ));
}
