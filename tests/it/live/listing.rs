//! Listing: what a runner asks before it runs anything. It touches no disk, takes no lock and needs no configuration.

use std::collections::BTreeSet;
use std::fs::File;

use crate::Case;
use crate::live::support::disk::LoopDisk;
use crate::live::support::project::{NULLS, Project, SMALL_PAIR};

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing(
        "listing::every_line_is_a_test_and_ignored_ones_are_among_them",
        lines,
        &["root"],
    ),
    Case::plain(
        "listing::without_a_disk_every_test_is_listed_as_ignored",
        without_a_disk,
    ),
    Case::needing(
        "listing::opens_nothing_on_the_disk_even_while_it_is_locked",
        opens_nothing,
        &["root", "strace"],
    ),
    Case::needing(
        "listing::a_thousand_tests_open_nothing_on_the_disk",
        a_thousand,
        &["root", "strace"],
    ),
    Case::plain("listing::a_closed_pipe_is_no_panic", closed_pipe),
    Case::plain(
        "listing::a_broken_suite_file_is_named_with_line_and_column",
        broken_suite,
    ),
];

fn suites(name: &str) -> Project {
    let slow = SMALL_PAIR.replace("name = \"pair\"", "name = \"slow\"\nslow = true");
    Project::bare(
        name,
        &[
            ("suites/small.toml", SMALL_PAIR),
            ("suites/slow.toml", &slow),
            ("suites/nulls.toml", NULLS),
        ],
    )
}

/// The names `--list --format terse` prints, every line checked.
#[track_caller]
fn names(stdout: &str) -> BTreeSet<String> {
    let line = regex::Regex::new(r"^([A-Za-z0-9_:./-]+): test$").expect("a pattern");
    let name = |l: &str| match line.captures(l) {
        Some(found) => found[1].to_owned(),
        None => panic!("not a test: {l:?} in\n{stdout}"),
    };
    stdout.lines().map(name).collect()
}

fn lines() {
    let project = suites("list-lines");
    let disk = LoopDisk::ext4();
    let list = |more: &[&str]| {
        let list = project
            .gate()
            .args(["--list", "--format", "terse"])
            .args(more)
            .env("IOGATE_DISK", disk.path());
        names(&list.run().success().stdout)
    };
    let all = list(&[]);
    let expected = [
        "nulls::other",
        "nulls::rand",
        "nulls::seq",
        "slow::slow",
        "small::pair",
    ];
    assert_eq!(all, expected.map(str::to_owned).into());
    assert_eq!(
        list(&["--ignored"]),
        BTreeSet::from(["slow::slow".to_owned()])
    );
}

fn without_a_disk() {
    let project = suites("list-no-disk");
    let list = |more: &[&str]| {
        names(
            &project
                .gate()
                .args(["--list", "--format", "terse"])
                .args(more)
                .run()
                .success()
                .stdout,
        )
    };
    let ignored = list(&["--ignored"]);
    assert_eq!(ignored, list(&[]));
    assert!(!ignored.is_empty());
    let run = project.gate().run().success();
    assert!(
        run.stdout.contains(&format!("{} ignored", ignored.len())),
        "{}",
        run.told()
    );
    run.says(&["IOGATE_DISK", "disk = "]);
    let records = project.contents("target/iogate/records");
    let records: Vec<serde_json::Value> = records
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|e| e == "json"))
        .map(|(_, bytes)| serde_json::from_slice(bytes).expect("a record"))
        .collect();
    assert_eq!(records.len(), ignored.len(), "a record for each");
    for record in &records {
        let judgement = &record["judgement"];
        assert_eq!(judgement["verdict"], "skipped", "{record}");
        let detail = judgement["detail"].as_str().unwrap_or_default();
        assert!(detail.contains("no disk is configured"), "{record}");
    }
}

fn opens_nothing() {
    let project = suites("list-opens");
    let disk = LoopDisk::ext4();
    let held = File::open(disk.path()).expect("the mount point");
    held.lock().expect("the disk's lock");
    assert_eq!(listed_without_touching(&project, &disk).len(), 5);
}

fn a_thousand() {
    let disk = LoopDisk::ext4();
    let project = Project::bare("list-thousand", &[]);
    for number in 0..100 {
        let suite = SMALL_PAIR.replace(
            "size =",
            "depth = 1\nworkers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nsize =",
        );
        project.put(&format!("suites/s{number:02}.toml"), &suite);
    }
    let before = disk.traffic();
    assert_eq!(listed_without_touching(&project, &disk).len(), 1000);
    assert_eq!(disk.traffic(), before, "listing read or wrote the disk");
}

/// Lists under strace: no call names anything on the disk, and no lock is taken.
#[track_caller]
fn listed_without_touching(project: &Project, disk: &LoopDisk) -> BTreeSet<String> {
    let trace = project.path("trace");
    let list = project
        .gate()
        .args(["--list", "--format", "terse"])
        .env("IOGATE_DISK", disk.path());
    let traced = [
        "-f",
        "-e",
        "trace=%file,ftruncate,flock",
        "-o",
        &trace.to_string_lossy(),
    ]
    .map(str::to_owned);
    let listed = list.under("strace", traced).run().success();
    let trace = std::fs::read_to_string(trace).expect("a trace");
    assert!(
        trace.contains("suites"),
        "the trace shows how suites are read:\n{trace}"
    );
    let mount = disk.path().to_string_lossy().into_owned();
    // Starting the program names the disk in its environment, not in a call of its own.
    let touched: Vec<&str> = trace
        .lines()
        .filter(|l| l.contains("flock(") || l.contains(&mount) && !l.contains("execve("))
        .collect();
    assert!(touched.is_empty(), "{touched:?}");
    names(&listed.stdout)
}

fn closed_pipe() {
    let project = suites("list-pipe");
    let list = project
        .gate()
        .args(["--list", "--format", "terse"])
        .run()
        .success();
    assert_eq!(names(&list.stdout).len(), 5, "nothing to cut short");
    let shell = "\"$0\" --list --format terse | head -c0; exit \"${PIPESTATUS[0]}\"";
    let run = project.gate().under("bash", ["-c", shell]).run();
    assert!(
        matches!(run.code(), 0 | 141) && !run.stderr.contains("panicked"),
        "{}",
        run.told()
    );
}

fn broken_suite() {
    let project = suites("list-broken");
    project.put(
        "suites/broken.toml",
        "about = \"x\"\n\n[[test]]\nname = \"x\"\nrw = \"reed\"\n",
    );
    // Runners put names into files and patterns of their own.
    let strange = SMALL_PAIR.replace("\"pair\"", "\"a & <b>\"");
    project.put("suites/strange.toml", &strange);
    // The other suites are listed all the same, and a test stands for the file, so that no runner is green without it.
    let list = project.gate().args(["--list", "--format", "terse"]).run();
    let listed = names(&list.success().stdout);
    for name in ["small::pair", "broken::suite-file", "strange::suite-file"] {
        assert!(listed.contains(name), "lacks {name}: {listed:?}");
    }
    let run = project.gate().arg("broken").run().exits(101);
    run.says(&["Error: ", "broken.toml:5:", "rw", "reed", "read"]);
    let run = project.gate().arg("strange").run().exits(101);
    run.says(&["strange.toml:4:", "a & <b>", "letters, digits"]);
}
