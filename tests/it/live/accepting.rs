//! The command that writes baselines: when it does, what it leaves alone, and that nothing is ever torn or lost.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::gating::{accept, gate, measured, setting, tolerant};
use crate::Case;
use crate::live::support::disk::LoopDisk;
use crate::live::support::project::Project;

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::needing(
        "accepting::a_filter_takes_only_its_tests_and_a_missing_baseline_is_that_tests_alone",
        filtered,
        &["root"],
    ),
    Case::needing(
        "accepting::a_killed_accept_leaves_old_or_new",
        killed,
        &["root"],
    ),
    Case::needing(
        "accepting::two_at_once_lose_nothing_and_twice_changes_nothing",
        at_once,
        &["root"],
    ),
    Case::needing(
        "accepting::during_a_run_the_runs_own_session_is_not_lost",
        during_a_run,
        &["root"],
    ),
    Case::needing(
        "accepting::only_an_explicit_command_writes_in_ci",
        explicit_only,
        &["root"],
    ),
];

/// Every accepted test with the text it has in the one baseline file.
fn accepted(project: &Project) -> BTreeMap<String, String> {
    let files = project.contents("baselines");
    assert_eq!(files.len(), 1, "{:?}", files.keys());
    let value: serde_json::Value =
        serde_json::from_slice(files.values().next().expect("one file")).expect("JSON");
    let tests = value["tests"].as_object().expect("tests").iter();
    tests
        .map(|(name, test)| (name.clone(), test.to_string()))
        .collect()
}

fn filtered() {
    let three = tolerant().replace("size =", "workers = [1, 2, 3]\nsize =");
    let project = Project::bare("accepting-filtered", &[("suites/small.toml", &three)]);
    let disk = LoopDisk::ext4();
    measured(&project, &disk);
    // From nothing, with one of three left out.
    accept(&project, &disk)
        .args(["workers-1", "workers-2"])
        .run()
        .success()
        .says(&[
            "accepted pair::workers-1, pair::workers-2",
            "kept as they were: none",
            "without a baseline: pair::workers-3",
        ]);
    let before = accepted(&project);
    assert_eq!(before.len(), 2);
    assert_eq!(
        project.windows().len(),
        1,
        "the session of the third test waits"
    );

    let run = gate(&project, &disk).env("CI", "true").run().exits(101);
    let run = run.says(&[
        "2 passed; 1 failed",
        "no baseline for",
        "cargo iogate accept small::pair::workers-3",
    ]);
    let failed: Vec<_> = run
        .stderr
        .lines()
        .filter(|l| l.starts_with("Error: "))
        .collect();
    assert!(
        failed.len() == 1 && failed[0].contains("workers-3"),
        "only the test without a baseline fails: {failed:?}"
    );

    accept(&project, &disk)
        .arg("workers-3")
        .run()
        .success()
        .says(&[
            "accepted pair::workers-3",
            "kept as they were: pair::workers-1, pair::workers-2",
            "without a baseline: none",
        ]);
    let mut after = accepted(&project);
    assert!(after.remove("pair::workers-3").is_some());
    assert_eq!(after, before, "the tests that were not selected");
}

/// The candidates of a project as files, to be put back under new session names: a measurement takes ten seconds.
struct Candidates(BTreeMap<PathBuf, String>);

impl Candidates {
    fn of(project: &Project) -> Self {
        let files = project.contents("target/iogate/pending").into_iter();
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let files: BTreeMap<_, _> = files.map(|(path, bytes)| (path, text(bytes))).collect();
        assert!(!files.is_empty(), "no candidate was left");
        Self(files)
    }

    fn put_back(&self, number: usize) {
        let id = regex::Regex::new(r#""id":\s*"[^"]*""#).expect("a pattern");
        for (path, text) in &self.0 {
            let renamed = id.replace_all(text, format!("\"id\":\"{number}-00000000000000ff\""));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, renamed.as_bytes()).expect("a candidate");
        }
    }
}

fn killed() {
    let (project, disk) = setting("accepting-killed");
    measured(&project, &disk);
    let candidates = Candidates::of(&project);
    accept(&project, &disk).run().success();
    for (number, delay) in [0, 1, 2, 4, 7, 12, 20].into_iter().enumerate() {
        candidates.put_back(number);
        let old = project.contents("baselines");
        let mut running = accept(&project, &disk).start();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        running.kill();
        drop(running);
        let mut now = project.contents("baselines");
        // What a killed writer was writing lies beside it until the next one sweeps it away.
        now.retain(|path, _| path.extension().is_some_and(|e| e == "json"));
        let session = format!("{number}-00000000000000ff");
        let new = now
            .values()
            .all(|b| String::from_utf8_lossy(b).contains(&session));
        assert!(now == old || new, "after {delay} ms neither old nor new");
        accepted_parses(&now, delay);
    }
    // The lock of the killed ones is free.
    candidates.put_back(99);
    accept(&project, &disk).seconds(10).run().success();
    assert_eq!(
        project.contents("baselines").len(),
        1,
        "leftovers of the killed ones"
    );
}

fn accepted_parses(files: &BTreeMap<PathBuf, Vec<u8>>, delay: u64) {
    assert_eq!(files.len(), 1, "after {delay} ms");
    for (path, bytes) in files {
        let parsed: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
        assert!(
            parsed.is_ok(),
            "after {delay} ms {} is torn",
            path.display()
        );
    }
}

fn at_once() {
    let two = tolerant().replace("size =", "workers = [1, 2]\nsize =");
    let project = Project::bare("accepting-at-once", &[("suites/small.toml", &two)]);
    let disk = LoopDisk::ext4();
    measured(&project, &disk);
    let candidates = Candidates::of(&project);
    for number in 0..3 {
        candidates.put_back(number);
        let running: Vec<_> = (0..4).map(|_| accept(&project, &disk).start()).collect();
        for one in running {
            one.wait().success();
        }
        let session = format!("{number}-00000000000000ff");
        let tests = accepted(&project);
        assert_eq!(tests.len(), 2);
        assert!(
            tests.values().all(|t| t.contains(&session)),
            "round {number} was lost"
        );
        assert!(
            project.pending().is_empty(),
            "accepted sessions are no longer pending"
        );
    }
    let before = project.contents("baselines");
    candidates.put_back(2);
    accept(&project, &disk).run().success();
    accept(&project, &disk).run().success();
    assert_eq!(
        project.contents("baselines"),
        before,
        "the same sessions once more"
    );
}

fn during_a_run() {
    let (project, disk) = setting("accepting-during");
    measured(&project, &disk);
    let mut running = gate(&project, &disk).start();
    running.until_stderr("small::pair");
    accept(&project, &disk).run().success();
    while !running.over() {
        accept(&project, &disk).args(["--append"]).run().success();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    running.wait().success();
    accept(&project, &disk).args(["--append"]).run().success();
    let tests = accepted(&project);
    let test: serde_json::Value = serde_json::from_str(&tests["pair"]).expect("JSON");
    assert_eq!(test["sessions"].as_array().map(Vec::len), Some(2));
    assert!(project.pending().is_empty());
}

fn explicit_only() {
    let (project, disk) = setting("accepting-explicit");
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
